#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src ../java-common/jaxb ../java-common/jackson ../java-common/jaxrs ../java-common/cxf"
inputs=
release=11 # java.net.http's, and CXF 3.6's own

build "$@"
