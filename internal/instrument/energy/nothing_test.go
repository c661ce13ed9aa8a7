package energy

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// A trial that used exactly nothing has an idle that moved, by joules and not by shares of nothing.
func TestDoubtsOfNoNetEnergy(t *testing.T) {
	before, after := Idle{Power: 1, N: 100}, Idle{Power: 1.5, N: 100}
	var v []float64
	for range 300 {
		v = append(v, 1.25)
	}
	r, err := OfTrial(NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, v...)),
		Window{500 * ms, 2500 * ms}, before, after)
	all := r.Doubts
	if err != nil || math.Abs(r.Net) > 1e-12 || !slices.ContainsFunc(all, func(err error) bool {
		return strings.Contains(err.Error(), "by 0.5 W from before the trial to behind it, 1 J over its length")
	}) {
		t.Errorf("%g J: %v, %v", r.Net, all, err)
	}
	v = nil
	for i := range 40 {
		v = append(v, float64(1-2*(i%2)))
	}
	r, err = OfTrial(NewTrace(Facts{Kind: Mean, Interval: 10 * ms}, samples(Power, 10*ms, v...)),
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
