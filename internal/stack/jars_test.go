package stack

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const javaLike = `title: t
version: "1"
language: Java
needs: [{file: jar/own.jar, brought: true, install: bring it}]
build: {command: [sh, build.sh], product: [build/lib], inputs: [build.sh, jars.sha256]}
serve: {command: [sh]}
call: {command: [sh]}
serves:
  - {services: [monitor], encodings: [json], security: [none], transports: [http], sides: [server, client], connections: [keep-alive]}
`

// A jar that the stack's list does not name is on its class path: the stack is not
// built while it is there, a build removes it, and one that makes it fails. What
// the user brought stays.
func TestJarsThatAreNotListed(t *testing.T) {
	dir := folder(t, javaLike)
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("jar/own.jar", "own")
	put("jars.sha256", strings.Repeat("0", 64)+"  build/lib/a.jar\n")
	put("build.sh", "mkdir -p build/lib; echo a >build/lib/a.jar; cp jar/own.jar build/lib/\n")
	d, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	build := func() (bool, error) { return d.Make(t.Context(), new(bytes.Buffer)) }
	if did, err := build(); !did || err != nil || !d.Built() {
		t.Fatalf("got %t, %v, built %t", did, err, d.Built())
	}
	put("build/lib/extra.jar", "extra")
	if d.Built() {
		t.Error("built, with a jar more on the class path")
	}
	if sums, err := d.Checksums(); err != nil || sums["build/lib/extra.jar"] == "" || len(sums) != 3 {
		t.Errorf("the checksums are %v, %v", sums, err)
	}
	if _, err := build(); err != nil || !d.Built() {
		t.Errorf("got %v, built %t", err, d.Built())
	}
	if _, err := os.Stat(filepath.Join(dir, "build/lib/extra.jar")); err == nil {
		t.Error("the jar is still there")
	}
	put("build.sh", "mkdir -p build/lib; echo a >build/lib/a.jar; echo b >build/lib/b.jar\n")
	if _, err := build(); err == nil || !strings.Contains(err.Error(),
		"produced build/lib/b.jar, which jars.sha256 does not list") {
		t.Errorf("got %v", err)
	}
}
