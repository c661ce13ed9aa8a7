#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../axis2/src ../java-common/src"
inputs="../contract/services.wsdl ../contract/services.xsd"

# Axis2's own way from a WSDL to Java: beans of its data binding (ADB) and the receiver that binds them.
generate() {
  java -cp "build/tools/*" org.apache.axis2.wsdl.WSDL2Java -uri ../contract/services.wsdl -ss -d adb -p edgegauge.axis2.adb \
    -ns2p urn:edgegauge:services:1=edgegauge.axis2.adb -S . -R build/wsdl2java -o build/generated >build/wsdl2java.log 2>&1 ||
    { cat build/wsdl2java.log >&2; exit 1; }
}

build "$@"
