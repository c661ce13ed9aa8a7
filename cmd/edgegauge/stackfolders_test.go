package main

import (
	"os"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack/conform"
)

// Libraries that make folders where their program runs have other places for them: a stack's own folder stays as it is.
func TestServersLeaveTheirFolderAsItIs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts virtual machines")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bed := localBed(t, "../../stacks")
	for _, name := range []string{"dpws-sdcri", "glassfish3", "glassfish7"} {
		d, ok := bed.FindStack(name)
		if !ok {
			t.Fatalf("there is no stack %s", name)
		}
		if bed.StackState(t.Context(), d) != "" {
			continue // whether all are built is for the gate's conformance to say
		}
		kit, err := newKit(exe, t.TempDir(), spares(t), d)
		if err != nil {
			t.Fatal(err)
		}
		kit.Only = "listens on its host only"
		before, checks, began := entries(t, d.Dir), 0, time.Now()
		conform.Run(t.Context(), d, kit, func(check string, err error) {
			if checks++; err != nil {
				t.Errorf("%s: %s: %v", name, check, err)
			}
		})
		if after := entries(t, d.Dir); checks == 0 || !slices.Equal(after, before) {
			t.Errorf("%s: after %d checks, %q are in its folder, and before %q", name, checks, after, before)
		}
		t.Logf("%s: %d checks in %v", name, checks, time.Since(began))
	}
}

// entries are the names in a folder.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
