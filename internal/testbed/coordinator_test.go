package testbed

import (
	"path/filepath"
	"testing"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/store"
)

// A study that benches share ends with its own blocks, though the ledger has more, of when it was longer; and it has
// ended where trials are given up, also for who runs it again.
func TestASharedStudyEnds(t *testing.T) {
	text := []byte("study: s\nservice: echo\nn: 4\nfactors: {stack: [reference/floor-tcp, reference/rest-json]}\n" +
		"requests: 5\nretries: 0\ndesign: {replications: 3, precision: 5%}\nresponses: [rtt]\n")
	kept, plan, err := fabricated.Create(filepath.Join(t.TempDir(), "out"), text)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for _, x := range plan.Trials {
		a, err := kept.BeginOn(x.ID, store.Bench{Name: "a", Boot: "1"})
		if err == nil {
			err = a.Invalidate("it failed", "", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	plan.Trials = plan.Trials[:4]
	e := &Experiment{Lab: &lab.Lab{Plan: plan, Store: kept}, assembly: &assembly{bed: bed(t)}}
	c, err := e.Coordinator()
	if err != nil || c.Blocks != 2 {
		t.Errorf("got %d blocks, %v; want those of the plan", c.Blocks, err)
	}
	if n, err := c.More(1); n != 0 || err != nil {
		t.Errorf("got %d more blocks, %v", n, err)
	}
	if ending, err := kept.Ending(); err != nil || ending == nil || ending.At.IsZero() {
		t.Errorf("the ledger has the end %+v, %v", ending, err)
	}
}
