# Read by the build.sh of the two GlassFish stacks, after ../java-common/build.sh: makes the wars of what it compiled.

war() { # NAME CLASS...
  rm -rf "build/$1" && mkdir -p "build/$1/WEB-INF/classes" build/wars
  name=$1; shift
  for class in "$@"; do
    mkdir -p "build/$name/WEB-INF/classes/$(dirname "$class")"
    cp build/classes/"$class"*.class "build/$name/WEB-INF/classes/$(dirname "$class")/"
  done
  case $name in soap*) mkdir -p "build/$name/WEB-INF/classes/META-INF" && cp war/metro.xml "build/$name/WEB-INF/classes/META-INF/" ;; esac
  jar --create --file "build/wars/$name.war" --date=2000-01-01T00:00:00Z -C "build/$name" .
}

axis2_made() { # STACK: builds it, one at a time, as edgegauge does
  flock "../$1" "../$1/build.sh"
}

# The war of ../axis2, with all of its classes and jars inside; from the program it has Gate and what that needs.
# edits is what sed does to its Java.
axis2_war() { # STACK TAIL JARS: made before; whose generated beans, and what is not the same in every Axis2
  rm -rf build/axis2 build/axis2-src && mkdir -p build/axis2/WEB-INF/lib build/axis2/WEB-INF/classes build/axis2-src build/wars
  stack=$1 tail=$2; shift 2
  cp "$@" build/axis2/WEB-INF/lib/
  cp ../glassfish7/war/axis2/WEB-INF/*.xml build/axis2/WEB-INF/
  cp -r "../$stack/build/generated/edgegauge" ../glassfish7/war/axis2/edgegauge build/axis2-src/
  for class in Beans Binding Faults Hooks Receiver ServerHook Skeleton; do cp "../axis2/src/edgegauge/axis2/$class.java" build/axis2-src/edgegauge/axis2/; done
  cp "$tail" build/axis2-src/edgegauge/axis2/
  find build/axis2-src -name '*.java' >build/files-axis2
  xargs sed -i -z -E "$edits" <build/files-axis2
  $javac -g -nowarn --release $release -encoding UTF-8 -Xlint:-options -d build/axis2/WEB-INF/classes -cp "build/axis2/WEB-INF/lib/*:build/lib/*:build/classes" \
    @build/files-axis2 2>build/javac-axis2.log || { cat build/javac-axis2.log >&2; exit 1; }
  jar --create --file build/wars/axis2.war --date=2000-01-01T00:00:00Z -C build/axis2 .
}
