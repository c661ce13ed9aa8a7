#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src ../java-common/jaxb ../java-common/cxf ../java-common/compact ../jaxws-rt/src/edgegauge/jaxws/Port.java"
inputs="../contract/services.xsd ../contract/envelope12.xsd"
release=11 # Fast Infoset's

# The schemas that EXI is informed by.
finish() {
  mkdir build/classes/contract
  cp ../contract/services.xsd ../contract/envelope12.xsd build/classes/contract/
}

build "$@"
