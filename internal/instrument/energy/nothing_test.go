package energy

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A trial that used exactly nothing has an idle that moved, by joules and not by shares of nothing.
func TestDoubtsOfNoNetEnergy(t *testing.T) {
	before, after := Idle{Power: 1, N: 100}, Idle{Power: 1.5, N: 100}
	all := drift([]Idle{before, after}, TrialEnergy{Window: Window{0, 2 * time.Second}})
	if len(all) != 1 || !strings.Contains(all[0].Error(), "by 0.5 W around the trial, which is 1 J over its length") {
		t.Errorf("got %v", all)
	}
	var v []float64
	for i := range 40 {
		v = append(v, float64(1-2*(i%2)))
	}
	r, err := OfTrial(NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, v...)),
		Window{100 * ms, 300 * ms})
	if err != nil || r.Gross != 0 {
		t.Fatal(r.Gross, err)
	}
	for _, d := range append(all, r.Doubts...) {
		var of Doubt
		if text := d.Error(); strings.Contains(text, "Inf") || strings.Contains(text, "NaN") || !errors.As(d, &of) {
			t.Errorf("a doubt says %q", text)
		}
	}
}
