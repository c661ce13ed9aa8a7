#!/bin/sh
# Needs jar/jcoap.jar, which only the user can bring (README.md). With --stub it compiles against stub/ instead: that shows that the
# adapter fits the names and signatures it was written for, and makes nothing that runs.
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src ../java-common/protobuf"
inputs="../contract/services.proto jar"

generate() {
  chmod +x build/tools/protoc-*.exe
  build/tools/protoc-*.exe --java_out=build/generated --proto_path=../contract ../contract/services.proto
  cp jar/jcoap.jar build/lib/
}

if [ "${1:-}" = --stub ]; then
  mkdir -p "$2"
  $javac -nowarn --release 8 -encoding UTF-8 -Xlint:-options -d "$2" -cp "$3" $(find $sources stub -name '*.java') 2>&1
  exit
fi
build "$@"
