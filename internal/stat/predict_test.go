package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func drawn(r *rand.Rand, n int, mean, spread float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = mean * math.Exp(spread*r.NormFloat64())
	}
	return out
}

func geometric(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(xs)))
}

// 95 % intervals hold what is measured there afterwards in about 95 of 100 cases,
// whatever the scatter of the parts.
func TestPredictionsCover(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		calibration, run   int
		here, there, again float64 // spreads
	}{
		{10, 10, 0.05, 0.05, 0.05},
		{5, 3, 0.02, 0.2, 0.02},  // a restless board
		{20, 3, 0.01, 0.01, 0.3}, // a restless run of three trials
		{8, 10, 0.3, 0.02, 0.02}, // a restless calibration of the emulation
		{10, 50, 0.1, 0.1, 0.1},
	} {
		const studies = 4000
		held := 0
		for range studies {
			run := drawn(r, x.run, 7*0.4, x.again)
			c, err := Predict(run, drawn(r, x.calibration, 7, x.here), drawn(r, x.calibration, 2, x.there), 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if later := geometric(drawn(r, x.run, 2*0.4, x.there)); c.Lo <= later && later <= c.Hi {
				held++
			}
		}
		if share := float64(held) / studies; share < 0.93 || share > 0.985 {
			t.Errorf("%+v: intervals held %.1f %% of the later figures, want about 95", x, 100*share)
		} else {
			t.Logf("%+v: %.1f %%", x, 100*share)
		}
	}
}

// Without any scatter the prediction is the arithmetic, and too few trials give none.
func TestPredictionOfFewOrEqual(t *testing.T) {
	same := []float64{4, 4, 4, 4, 4}
	c, err := Predict([]float64{8, 8, 8}, same, []float64{1, 1, 1, 1, 1}, 0.95)
	if err != nil || math.Abs(c.Estimate-2) > 1e-12 || c.Lo != c.Estimate || c.Hi != c.Estimate {
		t.Errorf("got %+v, %v; want 2 exactly", c, err)
	}
	for _, x := range [][3][]float64{{{8, 8}, same, same}, {{8, 8, 8}, same[:4], same}, {{8, 8, 8}, same, nil}} {
		if _, err := Predict(x[0], x[1], x[2], 0.95); !errors.Is(err, ErrTooFew) {
			t.Errorf("%v: got %v, want a refusal", x, err)
		}
	}
	if _, err := Predict([]float64{0, 1, 1}, same, same, 0.95); err == nil {
		t.Error("a zero has no logarithm")
	}
}
