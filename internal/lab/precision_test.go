package lab

import (
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// Blocks are added of the treatments that lack the precision, and of no others, until none
// does or the budget is used; benches get whole blocks.
func TestBlocksOfTreatmentsThatLackThePrecision(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, x := range []struct {
		what   string
		budget study.Budget
		wide   [][]int // at each look
		added  []int   // treatments of the trials added
		unmet  string
	}{
		{"reached at once", study.Budget{Blocks: 9}, [][]int{nil}, nil, ""},
		{"one reaches it later", study.Budget{Blocks: 9}, [][]int{{0, 1}, {1}, {1}, nil}, []int{0, 1, 1, 1}, ""},
		{"the budget of blocks ends", study.Budget{Blocks: 2}, [][]int{{0, 1}, {1}, {1}}, []int{0, 1, 1},
			"the requested precision of 2 % was not reached within the budget of 2 more blocks: rtt of b"},
		{"the budget of time ends", study.Budget{Time: time.Nanosecond}, [][]int{{1}}, nil,
			"the requested precision of 2 % was not reached within the budget of 1ns: rtt of b"},
	} {
		l, _ := fakeLab(t, soundStack(), 3)
		s, err := study.Parse("s.yaml", []byte("study: a\nservice: monitor\nstack: rest-json\nfactors: {size: [1kB, 2kB]}\n"+
			"design: {replications: 3, precision: 2%}\n"), study.Vocabulary{})
		if err == nil {
			s.Design.Budget = x.budget
			l.Plan, err = study.Expand(s)
		}
		if err != nil {
			t.Fatal(err)
		}
		planned, looks := len(l.Plan.Trials), 0
		l.Wide = func() ([]int, string, error) {
			looks++
			return x.wide[looks-1], "rtt of b", nil
		}
		c := conductor{Lab: l, began: time.Now().Add(-time.Second), trials: map[int]study.Trial{}}
		for done := false; !done; {
			if done, err = c.enough(); err != nil {
				t.Fatal(x.what, err)
			}
		}
		var added []int
		for _, trial := range c.Plan.Trials[planned:] {
			added = append(added, trial.Cell)
		}
		if slices.Sort(added); !slices.Equal(added, x.added) || c.outcome.Unmet != x.unmet {
			t.Errorf("%s: added trials of %v, %q; want %v, %q", x.what, added, c.outcome.Unmet, x.added, x.unmet)
		}
		if csv, err := l.Store.Plan(); err != nil || strings.Count(string(csv), "\n") != 4+len(x.added) {
			t.Errorf("%s: the ledger's plan is %q, %v", x.what, csv, err)
		}
		l.Store.Close()
	}
}

// Benches are compared by whole blocks, so those are what they get, within the budget.
func TestBenchesGetWholeBlocks(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	l, _ := fakeLab(t, soundStack(), 3)
	defer l.Store.Close()
	s, err := study.Parse("s.yaml", []byte("study: a\nservice: monitor\nstack: rest-json\nfactors: {size: [1kB, 2kB]}\n"+
		"design: {replications: 3, precision: 2%, budget: 5}\n"), study.Vocabulary{})
	if err == nil {
		l.Plan, err = study.Expand(s)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Wide = func() ([]int, string, error) { return []int{1}, "rtt of b", nil }
	for _, want := range []int{4, 1, 0} {
		added, unmet, err := l.MoreBlocks(4, time.Now())
		if err != nil || added != want || (unmet != "") != (want == 0) {
			t.Errorf("got %d more blocks, %q, %v; want %d", added, unmet, err, want)
		}
		ending, err := l.Store.Ending()
		ended := ending != nil && !ending.At.IsZero()
		if err != nil || ended != (want == 0) || ended && ending.Unmet != unmet {
			t.Errorf("after %d more blocks the ledger has the end %+v, %v", added, ending, err)
		}
	}
	if n := len(l.Plan.Trials); n != 2*8 {
		t.Errorf("the plan has %d trials, want 16", n)
	}
}
