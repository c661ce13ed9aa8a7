#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src ../java-common/jaxb ../java-common/cxf ../jaxws-rt/src/edgegauge/jaxws/Port.java"
inputs=

build "$@"
