package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// recovering are results of devices that recover in the first blocks only; early: as an earlier version kept them, with
// no row where they did not.
func recovering(t *testing.T, seconds float64, blocks int, early bool) *Report {
	t.Helper()
	w := exactly(func(map[string]string, int) float64 { return 1 })
	rtt := w.exact
	w.exact = func(at map[string]string, block int) []store.Result {
		out := rtt(at, block)
		x := out[0]
		x.Response, x.N, x.Mean = "recovery_time", 1, seconds*wobble(block)
		if at["stack"] == "a" {
			x.Mean = 60 * wobble(block+1)
		} else if block > blocks {
			x.Mean = math.NaN()
		}
		x.Median = x.Mean
		if early && math.IsNaN(x.Mean) {
			return out
		}
		return append(out, x)
	}
	return reportOf(t, w.write(t, oneTreatment))
}

// Devices that recover in one trial of six, soon, are not better than those that do in all.
func TestTrialsWithoutRecoveryAreNotLeftOut(t *testing.T) {
	old := recovering(t, 30, 6, false)
	for _, early := range []bool{false, true} {
		new := recovering(t, 10, 1, early)
		cell, ok := new.Cell(1, measure.Client, "recovery_time")
		if !ok || !slices.ContainsFunc(cell.Warnings, func(w string) bool {
			return strings.HasPrefix(w, "5 of 6 valid trials have no value")
		}) {
			t.Errorf("early %v: no warning of the 5 trials without recovery: %+v", early, cell)
		}
		c, err := Compare(old, new, Terms{Confidence: 0.95, Margin: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Says(); got != "worse: devices recover in fewer trials (treatments: 1)" {
			t.Errorf("early %v: got %q", early, got)
		}
		for _, x := range c.Contrasts {
			if x.Treatment == "b" && x.Response == "recovery_time" && (x.Change != advise.Unknown || x.Doubt == "") {
				t.Errorf("early %v: the lucky trials are compared: %+v", early, x)
			}
		}
		if e := effectsOf(t, new, "recovery_time"); len(e.Levels) > 0 || !strings.Contains(strings.Join(e.Warnings, ""),
			"of b, 5 of 6 trials ended before") {
			t.Errorf("early %v: got levels %+v, warnings %q", early, e.Levels, e.Warnings)
		}
		for _, f := range PastOf(new, nil).Figures {
			if f.Treatment == "b" && f.Response == "recovery_time" && f.Why == "" {
				t.Errorf("early %v: history takes the lucky trials", early)
			}
		}
	}
	// In two of six, where they did in six: chance may explain it.
	c, err := Compare(old, recovering(t, 10, 2, false), Terms{Confidence: 0.95, Margin: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	var text, junit strings.Builder
	if c.Text(&text) != nil || c.JUnit(&junit) != nil {
		t.Fatal("cannot be written")
	}
	const open = "undecided: devices recovered in fewer trials, but chance may explain it; more trials would decide"
	if got := c.Says(); got != open || !strings.Contains(text.String(), "edgegauge: undecided: lost trials: b: devices") ||
		!strings.Contains(junit.String(), `skipped="2"`) { // the loss, and the time that is not compared
		t.Errorf("got %q, %s, %s", got, text.String(), junit.String())
	}
	if c, err := Compare(old, recovering(t, 10, 0, false), Terms{Confidence: 0.95, Margin: 0.05}); err != nil ||
		len(c.Lost) != 1 {
		t.Errorf("no trial recovers any more: got %v, %v", c.Lost, err)
	}
}
