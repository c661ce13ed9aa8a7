#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

shared="../cxf/src ../java-common/jaxb ../java-common/jackson ../java-common/jaxrs ../java-common/cxf"
sources="../java-common/src"
inputs="$(find $shared -name '*.java')"
release=17

# What ../cxf has for javax, for jakarta.
generate() {
  for folder in $shared; do cp -r $folder/. build/generated/; done
  find build/generated -name '*.java' | xargs sed -i -E 's/javax\.(ws\.rs|xml\.bind)/jakarta.\1/g; s/jackson\.jaxrs\.json/jackson.jakarta.rs.json/'
}

build "$@"
