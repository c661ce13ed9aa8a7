#!/bin/sh
# Needs jar/jmeds.jar, which only the user can bring (README.md). With --stub FOLDER it compiles into FOLDER against stub/ instead: that shows
# that the adapter fits the names and signatures it was written for, and makes nothing that runs.
set -eu
cd "$(dirname "$0")"

compile() { # FOLDER CLASSPATH SOURCES…
  out=$1 path=$2
  shift 2
  mkdir -p "$out"
  javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -g -nowarn --release 8 -encoding UTF-8 -Xlint:-options -d "$out" -cp "$path" $(find "$@" ../java-common/src -name '*.java')
}

if [ "${1:-}" = --stub ]; then
  compile "$2" . src stub
  exit
fi
rm -rf build
mkdir -p build/lib
cp jar/jmeds.jar build/lib/
compile build/classes build/lib/jmeds.jar src
jar --create --file build/app.jar --date=2000-01-01T00:00:00Z -C build/classes .
