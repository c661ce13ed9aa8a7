#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh && . ./war.sh

jaxws="../jaxws-rt/src/edgegauge/jaxws/Clock.java ../jaxws-rt/src/edgegauge/jaxws/TimedCodec.java ../jaxws-rt/src/edgegauge/jaxws/ServerSide.java
  ../jaxws-rt/src/edgegauge/jaxws/Implementation.java ../jaxws-rt/src/edgegauge/jaxws/Port.java"
jersey="../jersey/src/edgegauge/jersey/Entity.java ../jersey/src/edgegauge/jersey/Refusal.java ../jersey/src/edgegauge/jersey/Resource.java
  ../jersey/src/edgegauge/jersey/ServerProtobuf.java"
sources="src ../java-common/src ../java-common/protobuf"
axis2="../axis2/src/edgegauge/axis2 ../axis2-18/src ../axis2-18/pom.xml"
inputs="$jaxws $jersey war war.sh $axis2 ../contract/services.proto $(find ../java-common/jaxb -name '*.java')"
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

build "$@"
if [ ! -f build/wars/stamp ] || ! cmp -s build/stamp build/wars/stamp; then
  war soap11 edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/Soap11 edgegauge/jaxws/Port
  war soap12 edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/Soap12 edgegauge/jaxws/Port
  war text edgegauge/glassfish/Gate edgegauge/glassfish/MemoryStream edgegauge/glassfish/PlainServlet
  war protobuf edgegauge/jersey/ProtobufApplication edgegauge/jersey/Resource
  # WSDL2Java of 2.0.0 is not on Maven Central, so 1.8.2's beans are told that Axiom 2 has Blobs. GlassFish has Jakarta's own jars.
  u=org.apache.axiom.util
  edits="s/javax\.activation/jakarta.activation/g
    s/(XMLStreamWriterUtils\.write)DataHandler\(([^,]*), ([^,]*)/\1Blob(\2, $u.activation.DataHandlerUtils.toBlob(\3)/g
    s/$u\.stax\.XMLStreamReaderUtils\.getDataHandlerFromElement\(reader\)/$u.activation.DataHandlerUtils.toDataHandler($u.stax.XMLStreamReaderUtils.getBlobFromElement(reader))/g"
  axis2_made axis2-18
  axis2_war axis2-18 ../axis2-18/src/edgegauge/axis2/Tail.java \
    $(find build/tools -name '*.jar' ! -name 'jakarta.*' ! -name 'junit-*' ! -name 'hamcrest-*')
  cp build/stamp build/wars/stamp
fi
