#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src"
inputs="$(find ../java-common/jaxb -name '*.java')"

# Restlet 2.6 is Jakarta's; its JAXB extension finds the beans of a package by an index.
generate() {
  cp -r ../java-common/jaxb/edgegauge build/generated/
  find build/generated -name '*.java' | xargs sed -i 's/javax\.xml\.bind/jakarta.xml.bind/'
  mkdir -p build/classes/edgegauge/jaxb
  grep -l @XmlRootElement build/generated/edgegauge/jaxb/*.java | sed 's#.*/##; s#\.java$##' >build/classes/edgegauge/jaxb/jaxb.index
}

build "$@"
