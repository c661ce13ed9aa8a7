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
*download*) for p; do :; done
  grep -qsxF "$p" "$ARCHIVE/read" || { echo "Unable to locate package $p"; exit 100; }
  echo "$p" >"$(echo "$p" | tr = _)_arm64.deb" ;;
esac
`

// Lists of packages are read when a package is not where the last ones say, and for the newest of all. What is fetched
// takes no archive.
func TestListsAreReadWhenTheyAreMissed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ARCHIVE", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for _, program := range []string{"apt-get", "apt-cache"} {
		kerneltest.WriteProgram(t, filepath.Join(dir, program), archive)
	}
	defer func(was string) { pinned = was }(pinned)
	pinned = ""
	for _, name := range []string{"a", "b", "c"} {
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
		for _, name := range names {
			if _, file, err := from.fetch(t.Context(), name); err != nil || !exists(file) {
				t.Fatalf("%s: %q, %v", name, file, err)
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
	u.Newest = true
	fetch("update", "a", "b")
	u.Newest = false
	t.Setenv("PATH", t.TempDir())
	fetch("", "a", "b", "c")
	_, _, err := u.archive(Board{Debian: "arm64"}).fetch(t.Context(), "d")
	if err == nil || !strings.Contains(err.Error(), "no version of d for arm64 is pinned") {
		t.Errorf("what is not pinned: %v", err)
	}
}
