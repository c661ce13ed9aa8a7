package fleetbench

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/fleet/hub"
)

// TestMain lets the test's program be the hub's.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == hubName {
		os.Exit(hub.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// The benchmark in small: each bench gets its order, once, and not before it is written.
func TestSmallCrowd(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), hubName)
	if err := os.Symlink(exe, program); err != nil {
		t.Fatal(err)
	}
	const benches = 12
	f, err := Crowd(t.Context(), program, t.TempDir(), benches)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Written) != benches || len(f.Reached) != benches || f.Reached[0] <= 0 || f.Written[0] <= 0 ||
		f.All < f.Written[0] || f.Memory < 1<<20 || f.Stored < 1<<20 || f.Peak < f.Memory {
		t.Errorf("got %+v", f)
	}
	rows := table(f, Gap{Alone: []time.Duration{1}, Shared: []time.Duration{2}, Overhead: time.Second,
		Block: 60 * time.Second})
	if last := rows[len(rows)-1]; last.Wanted != "≤ 600" || last.Verdict != "not met" {
		t.Errorf("a second between blocks of a minute: got %+v", last)
	}
}
