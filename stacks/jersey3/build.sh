#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

jersey="../jersey/src/edgegauge/jersey/Entity.java ../jersey/src/edgegauge/jersey/Refusal.java ../jersey/src/edgegauge/jersey/Resource.java
  ../jersey/src/edgegauge/jersey/ServerProtobuf.java ../jersey/src/edgegauge/jersey/ClientProtobuf.java"
sources="src ../java-common/src ../java-common/protobuf ../java-common/compact ../java-common/jackson"
inputs="$jersey ../contract/services.proto ../contract/services.xsd ../contract/envelope12.xsd $(find ../java-common/jaxb ../java-common/jaxrs -name '*.java')"
release=11

# What the other stacks have for javax, for jakarta.
generate() {
  chmod +x build/tools/protoc-*.exe
  build/tools/protoc-*.exe --java_out=build/generated --proto_path=../contract ../contract/services.proto
  cp -r ../java-common/jaxb/edgegauge ../java-common/jaxrs/edgegauge build/generated/
  mkdir -p build/generated/edgegauge/jersey
  cp $jersey build/generated/edgegauge/jersey/
  find build/generated -name '*.java' | xargs sed -i -E 's/javax\.(ws\.rs|xml\.bind)/jakarta.\1/g'
}

# The schemas that EXI is informed by.
finish() {
  mkdir build/classes/contract
  cp ../contract/services.xsd ../contract/envelope12.xsd build/classes/contract/
}

build "$@"
