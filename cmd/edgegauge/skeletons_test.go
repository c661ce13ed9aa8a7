package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
	"edgegauge.example/edgegauge/stacks/skeletons"
)

// Each skeleton passes the whole kit as it is written. Python's does in
// testdata/script/stacks_new.txtar.
func TestSkeletonsPass(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range skeletons.Languages() {
		if lang == "python" {
			continue
		}
		t.Run(lang, func(t *testing.T) {
			t.Parallel() // the kit waits more than it works
			dir := filepath.Join(t.TempDir(), "mine")
			if _, err := writeSkeleton(dir, "mine", lang); err != nil {
				t.Fatal(err)
			}
			d := readStack(t, dir)
			if _, err := d.Make(t.Context(), os.Stderr); err != nil {
				t.Fatal(err)
			}
			kit, err := newKit(exe, t.TempDir(), spares(t), d)
			if err != nil {
				t.Fatal(err)
			}
			var passed atomic.Int32
			conform.Run(t.Context(), d, kit, func(check string, err error) {
				if err != nil {
					t.Errorf("%s: %v", check, err)
				}
				passed.Add(1)
			})
			if passed.Load() < 37 {
				t.Errorf("%d checks; 37 are for a stack with two services", passed.Load())
			}
		})
	}
}

// Nothing that a build makes is committed: with its mark, products of another commit passed for up to date.
func TestSkeletonsKeepProductsOutOfGit(t *testing.T) {
	for _, lang := range skeletons.Languages() {
		dir := filepath.Join(t.TempDir(), "mine")
		files, err := writeSkeleton(dir, "mine", lang)
		ok(t, err)
		d := readStack(t, dir)
		var made []string
		for _, p := range d.Build.Product {
			if filepath.Ext(p) == "" && filepath.Base(p) == "build" { // a folder
				p = filepath.Join(p, "Stack.class")
			}
			made = append(made, filepath.Join(dir, p))
		}
		if len(made) > 0 {
			made = append(made, filepath.Join(dir, filepath.Dir(d.Build.Product[0]), ".edgegauge-built"))
		}
		for _, f := range made {
			ok(t, os.MkdirAll(filepath.Dir(f), 0o755))
			ok(t, os.WriteFile(f, nil, 0o644))
		}
		ok(t, exec.Command("git", "-C", dir, "init", "-q").Run())
		out, err := exec.Command("git", "-C", dir, "ls-files", "--others", "--exclude-standard").Output()
		ok(t, err)
		if got := strings.Fields(string(out)); len(got) != len(files) {
			t.Errorf("%s: git add -A would take %q; want the %d files of stacks new", lang, got, len(files))
		}
	}
}

// makeStack reads a stack and builds it, lightly.
func makeStack(t *testing.T, dir string) stack.Description {
	t.Helper()
	d := lightly(readStack(t, dir))
	if _, err := d.Make(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	return d
}

// lightly has the compiler of a skeleton take less time: what its programs say is judged, not how fast they are.
func lightly(d stack.Description) stack.Description {
	switch command := d.Build.Command; {
	case len(command) == 0:
	case command[0] == "cc":
		d.Build.Command = append(slices.Clone(command), "-O0")
	default:
		d.Build.Command = append([]string{"env", "CARGO_PROFILE_RELEASE_OPT_LEVEL=0", quickly,
			"GOFLAGS=" + os.Getenv("GOFLAGS") + " -ldflags=-w"}, command...)
	}
	return d
}

// readStack reads a stack. One whose language is not here is passed over, but not in CI.
func readStack(t *testing.T, dir string) stack.Description {
	t.Helper()
	d, err := stack.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	missing := d.Missing(t.Context())
	needs(t, len(missing) == 0, fmt.Sprint(missing))
	return d
}
