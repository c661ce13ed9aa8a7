package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// A comparison knows of results to which trials were added that the first ones may have called for, as of those of
// versions, and widens its intervals; a precision asks for no difference, and is none.
func TestCompareKnowsThePilotOfResults(t *testing.T) {
	t.Parallel()
	of := func(name, stacks, design string, more ...string) string {
		path := filepath.Join(t.TempDir(), name)
		text := fmt.Appendf(nil, "study: s\nservice: echo\nn: 5\nfactors: {stack: [%s]}\nrequests: 20\n"+
			"design: {replications: 5, seed: 1%s}\nresponses: [rtt]\n", stacks, design)
		kept, plan, err := fabricated.Create(path, text)
		ok(t, err)
		for _, trial := range plan.Trials {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
		if len(more) == 0 {
			return path
		}
		done := len(plan.Trials)
		kept, plan, err = fabricated.Resume(path, text, more...)
		ok(t, err)
		for _, trial := range plan.Trials[done:] {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
		return path
	}
	plain, grew := of("plain", "a, b", ""), of("grew", "a, b", "", "design.replications=12")
	precise := of("precise", "a, b", ", precision: 50%, budget: 3", "design.replications=12", "design.precision=50%")
	versions := of("versions", "s@base, s", "")
	longer := of("longer", "s@base, s", "", "design.replications=12")
	for path, want := range map[string]int{plain: 0, grew: 5, precise: 0, versions: 5, longer: 5} {
		r, err := soundReport(path)
		ok(t, err)
		if r.Pilot != want {
			t.Errorf("%s: a pilot of %d blocks, want %d", filepath.Base(path), r.Pilot, want)
		}
	}
	for _, x := range []struct {
		old, new string
		pilot    int
	}{{plain, plain, 0}, {plain, grew, 5}, {grew, plain, 5}, {versions, "", 5}, {longer, "", 5}} {
		f := compareFlags{margin: equalWithin, confidence: 0.95}
		var c, strict report.Compared
		var err error
		if x.new == "" {
			c, err = compareWithin(x.old, f)
			ok(t, err)
			f.confidence, f.allowed = 1-0.05/3, true
			strict, err = compareWithin(x.old, f)
		} else {
			c, err = compare(x.old, x.new, f)
			ok(t, err)
			f.confidence = 1 - 0.05/3
			strict, err = compare(x.old, x.new, f)
		}
		ok(t, err)
		var text strings.Builder
		ok(t, c.Text(&text))
		said := strings.Contains(strings.Join(strings.Fields(text.String()), " "), "allow for a pilot of 5 blocks")
		if c.Pilot != x.pilot || said != (x.pilot > 0) || c.Confidence != 0.95 {
			t.Errorf("%+v: got %d, confidence %v: %s", x, c.Pilot, c.Confidence, text.String())
		}
		got, want := c.Contrasts[0].Ratio.Confidence, 1-stat.AfterPilot(0.05, x.pilot)
		if got != want {
			t.Errorf("%+v: intervals of %v, want %v", x, got, want)
		}
		if x.new == "" && strict.Contrasts[0].Ratio.Lo != c.Contrasts[0].Ratio.Lo {
			t.Errorf("%+v: from %v, want %v", x, c.Contrasts[0].Ratio.Lo, strict.Contrasts[0].Ratio.Lo)
		}
	}
}
