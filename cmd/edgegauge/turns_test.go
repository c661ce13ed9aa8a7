package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/calibration"
	"edgegauge.example/edgegauge/internal/fleet/admit"
	"edgegauge.example/edgegauge/internal/kernel"
)

// duringTurn begins what changes files of a folder while another does, and lets it go on when that is done.
func duringTurn(t *testing.T, dir string, change func(context.Context) error, other func()) {
	t.Helper()
	turn, err := kernel.LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- change(t.Context()) }()
	select {
	case err := <-ended:
		t.Fatalf("it did not wait for its turn: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	other()
	turn.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if turn, err = kernel.LockFolder(dir); err != nil { // it gave its turn back, and nobody does now
		t.Fatal(err)
	}
	defer turn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := change(ctx); !errors.Is(err, kernel.ErrLocked) || exitCode(err) != exitUnmeasured {
		t.Errorf("of a turn that nobody gives back: %v", err)
	}
}

// Benches that are added at the same time, or removed, lose no other's key.
func TestKeysAreChangedInTurns(t *testing.T) {
	dir := t.TempDir()
	write := func(names ...string) {
		t.Helper()
		k := admit.Keys{Coordinator: "c", Benches: map[string]string{}}
		for _, n := range names {
			k.Benches[n] = "key of " + n
		}
		if err := writeSecret(filepath.Join(dir, keysFile), k); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want ...string) {
		t.Helper()
		k, err := readKeys(dir)
		if got := slices.Sorted(maps.Keys(k.Benches)); err != nil || !slices.Equal(got, want) {
			t.Errorf("got keys of %q, %v, want %q", got, err, want)
		}
	}
	write("one")
	duringTurn(t, dir, func(ctx context.Context) error {
		return addBench(ctx, io.Discard, dir, "mine", "nats://127.0.0.1:4222", "")
	}, func() { write("one", "two") })
	has("mine", "one", "two")
	duringTurn(t, dir, func(ctx context.Context) error {
		_, _, err := inProcess(ctx, "benches", "remove", "one", "--fleet", dir)
		return err
	}, func() { write("one", "two", "three") })
	has("three", "two")
}

// Calibrations that end at the same time are two versions.
func TestCalibrationsAreKeptInTurns(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "a.yaml")
	made := func(version int) calibration.File {
		return calibration.File{Format: calibration.Format, Version: version, Device: "machine",
			Entries: []calibration.Entry{{Points: []calibration.Point{{Size: 1}}}}}
	}
	keep := func(ctx context.Context) error {
		_, _, err := keepCalibration(ctx, made(1), out)
		return err
	}
	duringTurn(t, dir, keep, func() {
		text, err := made(7).Write()
		if err == nil {
			err = os.WriteFile(out, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	for name, version := range map[string]int{"a.yaml": 8, "a.7.yaml": 7} {
		if f, err := readCalibration(filepath.Join(dir, name)); err != nil || f.Version != version {
			t.Errorf("%s: got version %d, %v", name, f.Version, err)
		}
	}
}

// A calibration is there whatever happens: where the new one cannot be written, the old one keeps its name.
func TestACalibrationIsNeverMissing(t *testing.T) {
	// A name so long that the file which is to replace it can have none.
	out := filepath.Join(t.TempDir(), strings.Repeat("a", 248)+".yaml")
	f := calibration.File{Format: calibration.Format, Version: 1, Device: "machine",
		Entries: []calibration.Entry{{Points: []calibration.Point{{Size: 1}}}}}
	text, err := f.Write()
	if err == nil {
		err = os.WriteFile(out, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = keepCalibration(t.Context(), f, out); err == nil {
		t.Fatal("a file of that name was written")
	}
	if kept, err := readCalibration(out); err != nil || kept.Version != 1 {
		t.Errorf("got version %d, %v", kept.Version, err)
	}
}
