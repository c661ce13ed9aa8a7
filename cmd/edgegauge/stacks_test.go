package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What stacks check --all passes over: a stack whose file only the user can
// bring is called otherwise than one that could be installed, since the
// project's gate takes none of the latter.
func TestStacksPassedOver(t *testing.T) {
	dir := t.TempDir()
	const installable = `{program: no-such-runtime, install: apt-get install ghost-runtime}`
	const own = `{file: jar/own.jar, brought: true, install: put the jar there}`
	for name, needs := range map[string]string{"ghost": installable, "own": own, "both": own + ", " + installable,
		"whole": `{file: stack.yaml, install: "-"}`} {
		text := fmt.Sprintf(`title: %s
version: "1"
language: Java
needs: [%s]
serve: {command: [own, serve]}
serves: [{services: [monitor], encodings: [xml], security: [none], transports: [http], sides: [server], connections: [keep-alive]}]
`, name, needs)
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "stack.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names, left := whole(t.Context(), localBed(t, dir))
	for _, want := range []string{
		"left out: ghost: no-such-runtime is missing; run: apt-get install ghost-runtime",
		"left out: both: no-such-runtime is missing; run: apt-get install ghost-runtime",
		"not brought: own: " + filepath.Join(dir, "own/jar/own.jar") +
			" is missing, and only you can supply it: put the jar there",
	} {
		if !slices.Contains(left, want) {
			t.Errorf("got %s, want %q among them", strings.Join(left, "\n"), want)
		}
	}
	if !slices.Contains(names, "whole") || slices.Contains(names, "own") {
		t.Errorf("got %v, want whole and not own", names)
	}
}
