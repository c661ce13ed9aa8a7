# Read by each stack's build.sh, in the stack's folder. Makes build/lib (the jars of pom.xml, checked against jars.sha256), build/tools (compilers the
# stack's own "generate" wants) and build/app.jar (the stack with what it shares). Does nothing if nothing changed; needs no network after the first time.
# Maven is asked for jars if pom.xml changed, or if they are not those of jars.sha256: build/fetched says of which pom.xml they are.
#
#   sources="src ../java-common/src"     what to compile; build/generated is added
#   inputs="../contract/services.proto"  what else the product depends on
#   generate() { …; }                    writes Java into build/generated
#   finish() { …; }                      changes what stands in build/classes before it is packed
#   release=8                            the Java that the stack's framework needs; all that is shared is Java 8

set -eu
plugin=org.apache.maven.plugins:maven-dependency-plugin:3.6.1
# Maven and javac end after seconds: virtual machines that compile at once and lightly take half the CPU time.
export MAVEN_OPTS="${MAVEN_OPTS:--XX:TieredStopAtLevel=1 -XX:+UseSerialGC}"
javac="javac -J-XX:TieredStopAtLevel=1 -J-XX:+UseSerialGC"

generate() { :; }
finish() { :; }
release=8

fetch() { # FOLDER SCOPE: the jars of a Maven profile's dependencies
  rm -rf "$1"
  mvn -q -B -P"$2" $plugin:copy-dependencies -DoutputDirectory="$1" -DincludeScope=runtime >build/mvn.log 2>&1 ||
    { cat build/mvn.log >&2; echo "build.sh: Maven could not fetch the jars of $PWD/pom.xml" >&2; exit 1; }
}

sums() { find build/lib build/tools -type f 2>/dev/null | LC_ALL=C sort | xargs sha256sum; } # of the jars at hand

build() {
  mkdir -p build
  wanted=$(find $sources $inputs pom.xml build.sh jars.sha256 ../java-common/build.sh -type f 2>/dev/null | LC_ALL=C sort | xargs sha256sum | sha256sum)
  if [ -f build/app.jar ] && [ -d build/lib ] && [ "$(cat build/stamp 2>/dev/null)" = "$wanted" ]; then return; fi
  rm -f build/stamp
  if [ "$(cat build/fetched 2>/dev/null)" != "$(sha256sum <pom.xml)" ] || [ "$(sums)" != "$(cat jars.sha256)" ]; then
    fetch build/lib run
    if grep -q '<id>tools</id>' pom.xml; then fetch build/tools tools; fi
    sha256sum <pom.xml >build/fetched
  fi
  if [ "${1:-}" = --pin ]; then sums >jars.sha256; fi
  sha256sum --quiet -c jars.sha256 >&2 || { echo "build.sh: jars differ from jars.sha256; if that is meant, run ./build.sh --pin" >&2; exit 1; }
  rm -rf build/generated build/classes
  mkdir -p build/generated build/classes
  generate
  find $sources build/generated -name '*.java' >build/files
  $javac -g -nowarn --release $release -encoding UTF-8 -Xlint:-options -d build/classes -cp "build/lib/*" @build/files 2>build/javac.log || { cat build/javac.log >&2; exit 1; }
  finish
  jar --create --file build/app.jar --date=2000-01-01T00:00:00Z -C build/classes .
  # The stamp is taken again: --pin has changed jars.sha256.
  find $sources $inputs pom.xml build.sh jars.sha256 ../java-common/build.sh -type f | LC_ALL=C sort | xargs sha256sum | sha256sum >build/stamp
}
