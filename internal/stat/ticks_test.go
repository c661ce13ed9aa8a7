package stat

import (
	"math"
	"math/rand/v2"
	"slices"
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

// Steps hide as much of the truth where trials vary by less than one: that a ratio lies within bounds, or beyond one,
// is wrong in at most 5 % of studies, wherever between two steps the sides lie, and so is that a run lies below a
// bound.
func TestSimulatedTicksWithASpread(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const studies = 200
	r := rand.New(rand.NewPCG(29, 38))
	drawn := func(truth, noise float64, n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Floor(truth + noise*r.NormFloat64())
		}
		return out
	}
	for _, of := range []string{"pairs", "unpaired", "a bound"} {
		for _, steps := range []float64{10, 30, 100} {
			var most [2]float64
			right := 0
			for _, n := range []int{3, 6, 10, 30} {
				for _, noise := range []float64{0.05, 0.1, 0.3, 0.5, 1} {
					for phase := 0.0; phase < 1; phase += 0.1 {
						var wrong [2]int
						for range studies {
							x, far := steps+phase, 1.0001/0.95
							a, b := drawn(x, noise, n), drawn(x*far, noise, n)
							for i, ticks := range []bool{false, true} {
								var c Comparison
								var err error
								switch of {
								case "pairs":
									c, err = RatioPaired(a, b, 0.95)
								case "unpaired":
									c, err = RatioWelch(a, b, 0.95)
								default:
									c, err = DifferenceOfRun(b, x*far*0.999, 0.95)
								}
								if err != nil {
									t.Fatal(err)
								}
								if c.se == 0 {
									continue // TestSimulatedTicks
								}
								if ticks && of == "a bound" {
									c = c.OfTicks(b, nil)
								} else if ticks {
									c = c.OfTicks(a, b)
								}
								if of == "a bound" {
									if _, below := c.Beyond(0); below < 0.05 {
										wrong[i]++
									}
									continue
								}
								if in, _, err := c.Between(0.95, 1/0.95); err == nil && in < 0.05 {
									wrong[i]++
								} else if _, below := c.Beyond(0.95 / 1.001); err == nil && below < 0.05 {
									wrong[i]++
								}
								if (c.Lo > 1 || c.Hi < 1) != (c.P < 0.05) || c.P != c.Against(1) {
									t.Fatalf("%g to %g, p %g and %g", c.Lo, c.Hi, c.P, c.Against(1))
								}
								if gap := c.Gap(0.95); ticks && (gap == 0) != (c.Against(0.95) == 1) {
									t.Fatalf("%g from 0.95, p %g", gap, c.Against(0.95))
								}
								if above, _ := c.Beyond(0.5); ticks && steps == 100 && above < 0.05 {
									right++
								}
							}
						}
						for i := range most {
							most[i] = max(most[i], float64(wrong[i])/studies)
						}
					}
				}
			}
			t.Logf("%s of %g steps: wrong in at most %.1f %%, now %.1f %%", of, steps, 100*most[0], 100*most[1])
			if most[1] > 0.05+4*math.Sqrt(0.05*0.95/studies) || most[0] < 0.2 || of != "a bound" && steps == 100 && right == 0 {
				t.Errorf("%s of %g steps: wrong in %g of studies, by the values in %g; half as much found %d times", of, steps,
					most[1], most[0], right)
			}
		}
	}
}

// Steps count at either bound: what lies within by less than a step of each side is not shown to.
func TestStepsCountAtEitherBound(t *testing.T) {
	a, b := make([]float64, 30), make([]float64, 30)
	for i := range a {
		a[i], b[i] = 100+float64(i%2), 100
	}
	c, err := DifferencePaired(a, b, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		lo, hi float64
		holds  bool
	}{{-2, 3, true}, {-2, 2, false}, {-1, 3, false}} {
		exact, err := c.Equivalent(tt.lo, tt.hi)
		got, err2 := c.OfTicks(a, b).Equivalent(tt.lo, tt.hi)
		if err != nil || err2 != nil || !exact.Equivalent || got.Equivalent != tt.holds {
			t.Errorf("0.5 steps within %g and %g: %+v, counted %+v: %v, %v", tt.lo, tt.hi, got, exact, err, err2)
		}
	}
}

// Values without steps show none, in whatever order and unit; multiples show theirs.
func TestStepOfValuesWithoutSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 11))
	for range 20_000 {
		xs := make([]float64, 3+r.IntN(20))
		for i := range xs {
			xs[i] = math.Exp(r.NormFloat64()) * math.Pow(10, float64(r.IntN(7)-3))
		}
		if got, largest := StepOf(xs), slices.Max(xs); got > 1e-4*largest {
			t.Fatalf("%v have steps of %g", xs, got)
		}
		step := math.Exp(r.NormFloat64())
		for i := range xs {
			xs[i] = step * float64(1+r.IntN(1000))
		}
		xs[0], xs[1] = 7*step, 8*step
		r.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
		if got := StepOf(xs); math.Abs(got-step) > 1e-6*step {
			t.Fatalf("%v have steps of %g, want %g", xs, got, step)
		}
	}
}
