#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src ../java-common/protobuf ../java-common/compact"
inputs="../contract/services.proto ../contract/services.xsd ../contract/envelope12.xsd"
release=11 # Fast Infoset's

generate() {
  chmod +x build/tools/protoc-*.exe
  build/tools/protoc-*.exe --java_out=build/generated --proto_path=../contract ../contract/services.proto
}

# The schemas that EXI is informed by.
finish() {
  mkdir build/classes/contract
  cp ../contract/services.xsd ../contract/envelope12.xsd build/classes/contract/
}

build "$@"
