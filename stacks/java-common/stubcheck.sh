#!/bin/sh
# stubcheck.sh STACK: compares the stubs of a stack whose jar you brought with that jar. Each class and each public or protected member of a
# stub must be in the real class, or in one above it, with the same name, parameters and result. Says what is not so, and then ends with 1.
set -eu
cd "$(dirname "$0")/../$1"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
javac -nowarn --release 8 -Xlint:-options -d "$out" $(find stub -name '*.java')
names() { grep '\.class$' | grep -v '\$[0-9]' | sed 's,^\./,,; s,\.class$,,' | tr / .; }
(cd "$out" && find . -name '*.class') | names | xargs javap -protected -cp "$out" >"$out/stubs"
jar --list --file "jar/$1.jar" | names | xargs javap -protected -cp "jar/$1.jar" >"$out/real"
awk '
  function has(class, member,   n, i, above) {
    if ((class, member) in member_of) return 1
    n = split(super[class], above, " ")
    for (i = 1; i <= n; i++) if (has(above[i], member)) return 1
    return 0
  }
  FNR == 1 { file++ }
  /^[^ ].*(class|interface) .*\{$/ {
    line = $0
    gsub(/<[^<>]*>/, "", line); gsub(/<[^<>]*>/, "", line); sub(/ *\{$/, "", line)
    sub(/^.*(class|interface) /, "", line); gsub(/ (extends|implements) |,/, " ", line)
    class = line; sub(/ .*/, "", class); sub(/^[^ ]* */, "", line)
    if (file == 1) { real[class] = 1; super[class] = line }
    else if (!(class in real)) { print class ": the jar has no such class"; bad = 1 }
    next
  }
  /^  / {
    member = $0
    sub(/ throws .*/, ";", member); sub(/ = .*/, ";", member); sub(/^ */, "", member)
    gsub(/(synchronized|abstract|final|native|default|transient|volatile) /, "", member); gsub(/<[^<>]*>/, "", member)
    if (file == 1) member_of[class, member] = 1
    else if (member != "public " class "();" && (class in real)) { seen++; if (!has(class, member)) { print class ": the jar has no " member; bad = 1 } }
  }
  END { if (!seen) { print "no stub was compared"; bad = 1 } else if (!bad) print seen " members of stubs are in the jar"; exit bad }
' "$out/real" "$out/stubs"
