package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
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

// A build that is stopped has failed at nothing: what was being built is named, and what was not tried.
func TestBuildOfAllThatIsStopped(t *testing.T) {
	dir := t.TempDir()
	begun := filepath.Join(dir, "begun")
	all := map[string]stack.Description{}
	for name, command := range map[string]string{"broken": "exit 1", "ready": "true", "second": "touch " + begun +
		"; sleep 600", "third": "true"} {
		all[name] = stack.Description{Name: name, Dir: filepath.Join(dir, name),
			Build: stack.Build{Command: []string{"sh", "-c", command}}}
		err := os.Mkdir(filepath.Join(dir, name), 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name, "stack.yaml"), []byte("title: "+name+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if exists(begun) {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var told strings.Builder
	rows, err := build(ctx, &told, all, []string{"broken", "ready", "second", "third", "nothing"}, true)
	states := map[string]string{}
	for _, r := range rows {
		states[r.Name] = r.State
	}
	want := map[string]string{"broken": "failed", "ready": "built", "second": "stopped", "third": "not tried",
		"nothing": "nothing to build"}
	if !maps.Equal(states, want) {
		t.Errorf("got %v, want %v", states, want)
	}
	if err == nil || !strings.HasSuffix(err.Error(), "\nstopped while second was built\nstopped; not tried: third") ||
		strings.Contains(told.String(), "failed") {
		t.Errorf("got %v, and was told %s", err, told.String())
	}
}

// What a stopped search for missing programs did not find is not called missing.
func TestNothingIsMissingThatWasNotLookedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if names, left := whole(ctx, localBed(t, t.TempDir())); len(names)+len(left) > 0 {
		t.Errorf("got %q, and left %q out", names, left)
	}
}
