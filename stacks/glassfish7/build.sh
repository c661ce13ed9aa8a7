#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

jaxws="../jaxws-rt/src/edgegauge/jaxws/Clock.java ../jaxws-rt/src/edgegauge/jaxws/TimedCodec.java ../jaxws-rt/src/edgegauge/jaxws/ServerSide.java
  ../jaxws-rt/src/edgegauge/jaxws/Implementation.java ../jaxws-rt/src/edgegauge/jaxws/Port.java"
jersey="../jersey/src/edgegauge/jersey/Entity.java ../jersey/src/edgegauge/jersey/Refusal.java ../jersey/src/edgegauge/jersey/Resource.java
  ../jersey/src/edgegauge/jersey/ServerProtobuf.java"
sources="src ../java-common/src ../java-common/protobuf"
inputs="$jaxws $jersey war/metro.xml ../contract/services.proto $(find ../java-common/jaxb -name '*.java')"
release=17

# What the other stacks have for javax, for jakarta.
generate() {
  chmod +x build/tools/protoc-*.exe
  build/tools/protoc-*.exe --java_out=build/generated --proto_path=../contract ../contract/services.proto
  cp -r ../java-common/jaxb/edgegauge build/generated/
  mkdir -p build/generated/edgegauge/jaxws build/generated/edgegauge/jersey
  cp $jaxws build/generated/edgegauge/jaxws/
  cp $jersey build/generated/edgegauge/jersey/
  find build/generated -name '*.java' | xargs sed -i -E 's/javax\.(ws\.rs|xml\.ws|xml\.bind|xml\.soap|jws)/jakarta.\1/g'
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
