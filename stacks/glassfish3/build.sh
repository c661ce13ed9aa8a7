#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh && . ../glassfish7/war.sh

glassfish="$(find ../glassfish7/src -name '*.java' ! -name MemoryStream.java)"
jaxws="../jaxws-rt/src/edgegauge/jaxws/Clock.java ../jaxws-rt/src/edgegauge/jaxws/TimedCodec.java ../jaxws-rt/src/edgegauge/jaxws/ServerSide.java
  ../jaxws-rt/src/edgegauge/jaxws/Implementation.java ../jaxws-rt/src/edgegauge/jaxws/Port.java"
jersey="../jersey/src/edgegauge/jersey/Entity.java ../jersey/src/edgegauge/jersey/Refusal.java ../jersey/src/edgegauge/jersey/Resource.java
  ../jersey/src/edgegauge/jersey/ServerProtobuf.java"
sources="src ../java-common/src ../java-common/protobuf ../java-common/jaxb $jaxws $jersey"
axis2="../axis2/src/edgegauge/axis2 ../axis2/src16 ../axis2/pom.xml"
inputs="$glassfish war ../glassfish7/war.sh ../glassfish7/war/axis2 $axis2 ../contract/services.proto"

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

build "$@"
if [ ! -f build/wars/stamp ] || ! cmp -s build/stamp build/wars/stamp; then
  war soap11 edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/Soap11 edgegauge/jaxws/Port
  war soap12 edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/Soap12 edgegauge/jaxws/Port
  war text edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/PlainServlet
  war protobuf edgegauge/jersey/ProtobufApplication edgegauge/jersey/Resource
  edits='s/jakarta\.servlet/javax.servlet/g'
  axis2_made axis2
  axis2_war axis2 ../axis2/src16/edgegauge/axis2/Tail.java $(find ../axis2/build/lib -name '*.jar' ! -name 'servlet-api-*')
  cp build/stamp build/wars/stamp
fi
