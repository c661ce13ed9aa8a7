#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src ../java-common/jaxb ../java-common/jaxrs ../java-common/cxf"
inputs=

build "$@"
