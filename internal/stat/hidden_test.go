package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Values that may all be off by the same decide nothing that this may explain: of equal sides, each off by its own
// error, hardly any study finds a difference, while one that is farther apart than that is found; and the interval
// holds.
func TestErrorsCommonToAllValuesAreNoDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	const n, studies, hidden, noise = 6, 1000, 0.5, 0.05
	for _, log := range []bool{false, true} {
		wrong, blind, held, found := 0, 0, 0, 0
		for range studies {
			draw := func(truth float64) []float64 {
				out, off := make([]float64, n), hidden*(2*rng.Float64()-1)
				for i := range out {
					out[i] = truth + off + noise*rng.NormFloat64()
				}
				return out
			}
			test := DifferenceWelch
			if log {
				test = RatioWelch
			}
			a, b, far := draw(10), draw(10), draw(13)
			c, err := test(a, b, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			x := c.Hiding(a, b, hidden, hidden)
			if c.P < 0.05 {
				blind++
			}
			if x.P < 0.05 {
				wrong++
			}
			if x.Lo <= x.Even() && x.Even() <= x.Hi {
				held++
			}
			if y, _ := test(far, b, 0.95); y.Hiding(far, b, hidden, hidden).P < 0.05 {
				found++
			}
		}
		t.Logf("log %v: of equal sides %d of %d differ, before %d; %d intervals hold; %d of 3 apart are found", log, wrong,
			studies, blind, held, found)
		if wrong > studies*5/100 || held < studies*95/100 || found < studies*99/100 || blind < studies/2 {
			t.Errorf("log %v: of equal sides %d of %d differ, before %d; %d intervals hold; %d of 3 apart are found", log,
				wrong, studies, blind, held, found)
		}
	}
}

// Where values have no spread at all, what they hide decides alone; what may be nothing has no ratio.
func TestHiddenErrorsOfValuesWithoutSpread(t *testing.T) {
	zero, ten := make([]float64, 20), make([]float64, 20)
	for i := range ten {
		ten[i] = 10
	}
	over := func(xs []float64, bound, hidden float64) Comparison {
		c, err := DifferenceOfRun(xs, bound, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return c.OfTicks(xs, nil).Hiding(xs, nil, hidden, 0)
	}
	for _, c := range []struct {
		what   string
		c      Comparison
		hides  bool
		decide bool
	}{
		{"0 against 1, hiding 2", over(zero, 1, 2), true, false},
		{"0 against 3, hiding 2", over(zero, 3, 2), false, true},
		{"0 against 0", over(zero, 0, 2), true, false},
		{"10 against 9, hiding 2", over(ten, 9, 2), true, false},
	} {
		v := Judge([]Claim{{Contrast: c.c, Bound: 0}}, 0.05)[0]
		if c.c.Hides(0) != c.hides || (v != Undecided) != c.decide || c.c.Lo > 0 && c.hides {
			t.Errorf("%s: %v, hides %v, from %g to %g", c.what, v, c.c.Hides(0), c.c.Lo, c.c.Hi)
		}
	}
	p, err := NewAllPairs([][]float64{{1, 1.1, 0.9}, {5, 5.2, 4.9}}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	p.Hide([]float64{0.5, 0.5})
	if c, err := p.Compare(1, 0); err != nil || !p.Log || !(c.P < 0.05) || !(c.Lo > 1.5 && c.Lo < 3.2) {
		t.Errorf("5 against 1, hiding 0.5: %+v, %v", c, err)
	}
	p.Hide([]float64{1, 0.5})
	if c, err := p.Compare(1, 0); err != nil || p.Log || !(c.P < 0.05) || math.IsInf(c.Hi, 0) {
		t.Errorf("1 hides 1 and has a ratio: %+v, %v", c, err)
	}
	p.Hide([]float64{3, 3})
	if c, err := p.Compare(1, 0); err != nil || c.P < 0.05 || c.Lo > 0 {
		t.Errorf("5 against 1, hiding 3: %+v, %v", c, err)
	}
	if s, err := Mean(zero, 0.95); err != nil || s.Hiding(2).Lo != -2 || s.Hiding(2).Hi != 2 || s.Hiding(0).Hi != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
