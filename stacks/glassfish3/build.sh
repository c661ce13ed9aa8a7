#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

glassfish="$(find ../glassfish7/src -name '*.java' ! -name MemoryStream.java)"
jaxws="../jaxws-rt/src/edgegauge/jaxws/Clock.java ../jaxws-rt/src/edgegauge/jaxws/TimedCodec.java ../jaxws-rt/src/edgegauge/jaxws/ServerSide.java
  ../jaxws-rt/src/edgegauge/jaxws/Implementation.java ../jaxws-rt/src/edgegauge/jaxws/Port.java"
jersey="../jersey/src/edgegauge/jersey/Entity.java ../jersey/src/edgegauge/jersey/Refusal.java ../jersey/src/edgegauge/jersey/Resource.java
  ../jersey/src/edgegauge/jersey/ServerProtobuf.java"
sources="src ../java-common/src ../java-common/protobuf ../java-common/jaxb $jaxws $jersey"
inputs="$glassfish war/metro.xml ../contract/services.proto"

# What ../glassfish7 has for jakarta, for javax.
generate() {
  chmod +x build/tools/protoc-*.exe
  build/tools/protoc-*.exe --java_out=build/generated --proto_path=../contract ../contract/services.proto
  for f in $glassfish; do
    to=build/generated/${f#../glassfish7/src/}
    mkdir -p "$(dirname "$to")"
    sed 's/jakarta\./javax./g' "$f" >"$to"
  done
}

war() { # NAME CLASS...
  rm -rf "build/$1" && mkdir -p "build/$1/WEB-INF/classes" build/wars
  name=$1; shift
  for class in "$@"; do
    mkdir -p "build/$name/WEB-INF/classes/$(dirname "$class")"
    cp build/classes/"$class"*.class "build/$name/WEB-INF/classes/$(dirname "$class")/"
  done
  case $name in soap*) mkdir -p "build/$name/WEB-INF/classes/META-INF" && cp war/metro.xml "build/$name/WEB-INF/classes/META-INF/" ;; esac
  jar --create --file "build/wars/$name.war" --date=2000-01-01T00:00:00Z -C "build/$name" .
}

build "$@"
if [ ! -f build/wars/stamp ] || ! cmp -s build/stamp build/wars/stamp; then
  war soap11 edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/Soap11 edgegauge/jaxws/Port
  war soap12 edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/Soap12 edgegauge/jaxws/Port
  war text edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/PlainServlet
  war protobuf edgegauge/jersey/ProtobufApplication edgegauge/jersey/Resource
  cp build/stamp build/wars/stamp
fi
