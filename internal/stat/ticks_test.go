package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The step of a clock is no larger than what all values are multiples of.
func TestStepOf(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{43e-9, 42e-9}, 1e-9}, {[]float64{0.01, 0.02}, 0.01}, {[]float64{0.02, 0.05, 0.05}, 0.01},
		{[]float64{1e-3, 1e-3}, 1e-3}, {[]float64{0, 0.01}, 0.01}, {[]float64{130e-9, 43e-9}, 1e-9},
		{[]float64{0.3, 0.1}, 0.1}, {[]float64{4.5e-8, 4.3e-8}, 1e-9}, {[]float64{0, 0}, 0}} {
		if got := StepOf(tt.values); math.Abs(got-tt.want) > 1e-6*tt.want {
			t.Errorf("%v: got %g, want %g", tt.values, got, tt.want)
		}
	}
}

// What a clock shows in steps is of equals now and then the one step in all trials of one side and the next in all of
// the other, where the truth lies between two. That is a difference in no more studies than the level allows; what is
// three steps apart is one, and so is a bound that is far.
func TestSimulatedTicks(t *testing.T) {
	const studies = 4000
	r := rand.New(rand.NewPCG(29, 19))
	drawn := func(truth float64, n int) []float64 { // steps of 1, trials vary by a twentieth
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Floor(truth + 0.05*r.NormFloat64())
		}
		return out
	}
	for _, n := range []int{2, 3, 4, 5, 10} {
		for _, paired := range []bool{false, true} {
			compare := RatioWelch
			if paired {
				compare = RatioPaired
			}
			before, wrong, found, bound := 0, 0, 0, 0
			for range studies {
				a, b := drawn(40, n), drawn(40, n)
				c, err := compare(a, b, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if above, below := c.Beyond(1); min(above, below) < 0.05 {
					before++
				}
				c = c.OfTicks(a, b)
				if above, below := c.Beyond(1); min(above, below) < 0.05 {
					wrong++
				}
				if (c.Lo > 1 || c.Hi < 1) != (c.P < 0.05) {
					t.Fatalf("%d trials, paired %v: %g to %g, p %g", n, paired, c.Lo, c.Hi, c.P)
				}
				a, b = drawn(43.5, n), drawn(40.5, n)
				if c, err = compare(a, b, 0.95); err != nil {
					t.Fatal(err)
				}
				if c = c.OfTicks(a, b); c.P < 0.05 && c.Lo > 1 {
					found++
				}
				if above, _ := c.Beyond(1.01); above < 0.05 {
					bound++
				}
			}
			t.Logf("%d trials a side, paired %v: equals differ in %.1f %%, by the values in %.1f %%", n, paired,
				100*float64(wrong)/studies, 100*float64(before)/studies)
			if float64(wrong) > 0.055*studies || found < studies || bound < studies {
				t.Errorf("%d trials a side, paired %v: equals differ in %d of %d studies, what is three steps apart in %d, by "+
					"1 %% in %d", n, paired, wrong, studies, found, bound)
			}
		}
	}
}

// Of all pairs at once likewise, and of one sample beside a bound.
func TestTicksOfAllPairsAndOfABound(t *testing.T) {
	rows := [][]float64{{42, 42, 42}, {43, 43, 43}, {80, 80, 80}}
	p, err := NewAllPairs(rows, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, measured := range []bool{false, true} {
		p.Measured = measured
		near, err := p.Compare(1, 0)
		far, err2 := p.Compare(2, 0)
		if err != nil || err2 != nil || (near.Lo > 1) == measured || !(far.Lo > 1) || far.Hi != far.Lo {
			t.Errorf("measured %v: one step apart %g to %g, many %g to %g: %v, %v", measured, near.Lo, near.Hi, far.Lo, far.Hi,
				err, err2)
		}
	}
	for _, tt := range []struct {
		bound float64
		n     int
		want  Verdict
	}{{0.015, 2, Undecided}, {0.015, 5, Undecided}, {0.015, 6, Confirmed}, {0.1, 2, Confirmed}, {0.001, 6, Contradicted},
		{0.01, 6, Undecided}} {
		xs := make([]float64, tt.n)
		for i := range xs {
			xs[i] = 0.01
		}
		c, err := DifferenceOfRun(xs, tt.bound, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		got := Judge([]Claim{{Contrast: c.OfTicks(xs, nil), Below: true}}, 0.05)[0]
		if got != tt.want {
			t.Errorf("%d of 0.01 below %g: got %s, want %s", tt.n, tt.bound, got, tt.want)
		}
		if exact := Judge([]Claim{{Contrast: c, Below: true}}, 0.05)[0]; tt.bound != 0.01 && exact == Undecided {
			t.Errorf("%d counted: %s", tt.n, exact)
		}
	}
}
