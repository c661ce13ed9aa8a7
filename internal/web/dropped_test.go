package web

import (
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
)

// Trials that a study which was resumed with fewer replications does not ask for are not missing, in the list and now.
func TestFewerReplicationsAreWhole(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "run/001")
	kept, plan, err := fabricated.Create(at, fabricated.Study(2, 5, 20))
	ok(t, err)
	for _, trial := range plan.Trials[:4] {
		ok(t, fabricated.Trial(kept, trial, 20, nil))
	}
	ok(t, kept.Close())
	kept, _, err = fabricated.Resume(at, fabricated.Study(2, 5, 20), "design.replications=2")
	ok(t, err)
	ok(t, kept.End(""))
	ok(t, kept.Close())
	s := served(t, Options{Folders: []string{dir}})
	p, err := s.find(id(t, s, "run/001"))
	ok(t, err)
	if e := s.index.of([]place{p})[0]; e.Valid != 4 || e.Trials != 4 || e.Fault != "" {
		t.Errorf("in the list %d of %d trials are valid, want 4 of 4 (%s)", e.Valid, e.Trials, e.Fault)
	}
	if r := readRunning(p); r.Valid != 4 || r.Total != 4 || r.Fault != "" {
		t.Errorf("now %d of %d trials are valid, want 4 of 4 (%s)", r.Valid, r.Total, r.Fault)
	}
}
