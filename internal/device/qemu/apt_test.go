package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/kernel/kerneltest"
)

// An archive whose lists say what it has: apt-get update copies what is there now, and download takes from the copy.
const archive = `#!/bin/sh
echo "$@" >>"$ARCHIVE/said"
case "$*" in
indextargets*) echo "Debian|Packages|http://archive.invalid|stable|main" ;;
*update) cp "$ARCHIVE/now" "$ARCHIVE/read" ;;
show*) echo "Version: 1" ;;
*download*) shift 2
  for p; do grep -qsxF "$p" "$ARCHIVE/read" || { echo "Unable to locate package $p"; exit 100; }; done
  for p; do echo "$p" >"$(echo "$p" | tr = _)_arm64.deb"; done ;;
esac
`

// Lists of packages are read when a package is not where the last ones say, and for the newest of all. What is fetched
// takes no archive, and what is missing is fetched by one program.
func TestListsAreReadWhenTheyAreMissed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ARCHIVE", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, program := range []string{"apt-get", "apt-cache"} {
		kerneltest.WriteProgram(t, filepath.Join(dir, program), archive)
	}
	defer func(was string) { pinned = was }(pinned)
	pinned = ""
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		pinned += "arm64 " + name + " 1 " + sum([]byte(name+"=1\n")) + "\n"
	}
	u := Builder{Cache: t.TempDir(), Tell: func(string) {}}
	has := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "now"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fetch := func(want string, names ...string) {
		t.Helper()
		said := filepath.Join(dir, "said")
		if err := os.Remove(said); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		from := u.archive(Board{Debian: "arm64"})
		packages, files, err := from.fetchAll(t.Context(), names...)
		if err != nil || len(packages) != len(names) || len(files) != len(names) {
			t.Fatalf("%v: %v, %q, %v", names, packages, files, err)
		}
		for i, name := range names {
			if packages[i].Name != name || !strings.Contains(files[i], "/"+name+"_1_") || !exists(files[i]) {
				t.Errorf("%s: %v, %q", name, packages[i], files[i])
			}
		}
		var got []string
		b, _ := os.ReadFile(said)
		for line := range strings.Lines(string(b)) {
			if word := strings.Fields(line)[1]; word == "update" || word == "download" {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("for %v it ran %v, want %s", names, got, want)
		}
	}
	has("a=1\nb=1\n")
	fetch("download update download", "a")
	fetch("download", "a", "b")
	has("c=1\n")
	fetch("download update download", "c")
	has("d=1\ne=1\n")
	fetch("download update download", "d", "a", "e")
	u.Newest = true
	fetch("update", "a", "b")
	u.Newest = false
	t.Setenv("PATH", t.TempDir())
	fetch("", "a", "b", "c", "d", "e")
	_, _, err := u.archive(Board{Debian: "arm64"}).fetch(t.Context(), "g")
	if err == nil || !strings.Contains(err.Error(), "no version of g for arm64 is pinned") {
		t.Errorf("what is not pinned: %v", err)
	}
}
