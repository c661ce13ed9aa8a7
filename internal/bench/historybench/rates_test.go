package historybench

import (
	"math/rand/v2"
	"testing"
)

// The small form of `edgegauge bench history`: what the table of doc/method.md promises,
// within four standard errors of fewer histories.
func TestRatesOfHistories(t *testing.T) {
	t.Parallel()
	quiet := Many(t.Context(), 40, 1, func(r *rand.Rand) Counts { return Quiet(Usual, 60, r) })
	if quiet.False > 1 { // 0.1 are expected
		t.Errorf("%d false alarms after confirmation in %d quiet runs", quiet.False, quiet.Runs)
	}
	if per := float64(quiet.Suspected) / float64(quiet.Runs); per > 0.09 || per < 0.01 {
		t.Errorf("%d suspects in %d quiet runs", quiet.Suspected, quiet.Runs)
	}
	if quiet.Before < quiet.Histories-2 {
		t.Errorf("\"5 %% over the run before\" alarms in %d of %d histories only: the noise is not the usual", quiet.Before,
			quiet.Histories)
	}
	step := Many(t.Context(), 100, 2, func(r *rand.Rand) Counts { return Step(Usual, 30, 4, 0.05, r) })
	if step.Found < 80 || step.Confirmed < 70 {
		t.Errorf("of 100 steps of 5 %%, %d were suspected within 4 runs and %d confirmed", step.Found, step.Confirmed)
	}
	none := Many(t.Context(), 100, 3, func(r *rand.Rand) Counts { return Step(Usual, 30, 4, 0, r) })
	if none.Found > 40 || none.Confirmed > 1 {
		t.Errorf("of 100 histories without a step, %d were suspected and %d confirmed", none.Found, none.Confirmed)
	}
}
