#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src"
inputs="tools/Rewrite.java"

# What stands for the phone's own code is counted: the MIDlet with its strings and numbers, and kXML2. app.jar comes before kXML2's own on the class path.
finish() {
  (cd build/classes && jar xf ../lib/kxml2-*.jar org)
  mkdir -p build/rewriter
  javac -nowarn -d build/rewriter -cp "build/tools/*" tools/Rewrite.java
  java -cp "build/rewriter:build/tools/*" Rewrite build/classes/lab build/classes/org
}

build "$@"
