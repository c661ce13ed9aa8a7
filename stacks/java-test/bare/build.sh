#!/bin/sh
# build.sh STACK OUT: compiles, into the folder OUT, the least program of STACK's framework that serves something, against the jars that the stack
# itself has (build it before). It prints its URL when it serves, and ends with its stdin: what `edgegauge bench java` sets beside the adapter's start.
set -eu
cd "$(dirname "$0")"
stack=$1 out=$2 source=$1 release=17 other='s/^//'
case $stack in
  axis2) release=8 ;; # 1.6.1 reads class files itself, and knows no later ones
  axis2-18) source=axis2 ;;
  cxf4) source=cxf other='s/javax\.(ws\.rs|xml\.bind)/jakarta.\1/' ;;
  glassfish7) source=glassfish other='s/javax\.jws/jakarta.jws/' ;;
  glassfish3) source=glassfish release=8 ;;
esac
mkdir -p "$out/src"
for f in "$source"/*.java; do sed -E "$other" "$f" >"$out/src/${f##*/}"; done
javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC -nowarn -Xlint:-options --release $release -encoding UTF-8 -d "$out" -cp "../../$stack/build/lib/*" "$out"/src/*.java
if [ $source = glassfish ]; then
  mkdir -p "$out/war/WEB-INF/classes"
  mv "$out/Echo.class" "$out/war/WEB-INF/classes/"
  jar --create --file "$out/bare.war" -C "$out/war" .
fi
