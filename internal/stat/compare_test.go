package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestComparisonsAgreeWithScipy(t *testing.T) {
	methods := map[string]func(a, b []float64, confidence float64) (Comparison, error){
		"welch false": DifferenceWelch, "welch true": RatioWelch,
		"paired false": DifferencePaired, "paired true": RatioPaired,
	}
	for _, r := range oracle(t, "compare.csv") {
		words := r["words"] + ", " + r["method"] + ", log " + r["log"] + ", " + r["confidence"]
		c, err := methods[r["method"]+" "+r["log"]](r.fs(t, "a"), r.fs(t, "b"), r.f(t, "confidence"))
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		for figure, got := range map[string]float64{"estimate": c.Estimate, "lo": c.Lo, "hi": c.Hi, "p": c.P, "df": c.DF} {
			check(t, words, figure, got, r.f(t, figure))
		}
		e, err := c.Equivalent(r.f(t, "bound_lo"), r.f(t, "bound_hi"))
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		check(t, words, "TOST p", e.P, r.f(t, "tost_p"))
		if e.Equivalent != (r.f(t, "tost_p") < 1-c.Confidence) {
			t.Errorf("%s: equivalent %v at p %v", words, e.Equivalent, e.P)
		}
	}
}

func TestRatioOfPublishedMeansAgreesWithScipy(t *testing.T) {
	for _, r := range oracle(t, "moments.csv") {
		conf := r.f(t, "confidence")
		a := must[Moments](t)(FromHalfWidth(r.n(t, "n1"), r.f(t, "mean1"), r.f(t, "half1"), conf))
		b := must[Moments](t)(FromHalfWidth(r.n(t, "n2"), r.f(t, "mean2"), r.f(t, "half2"), conf))
		c := must[Comparison](t)(RatioOfMoments(a, b, conf))
		for figure, got := range map[string]float64{"ratio": c.Estimate, "lo": c.Lo, "hi": c.Hi, "p": c.P} {
			check(t, r["words"], figure, got, r.f(t, figure))
		}
	}
}

func TestHolmAgreesWithStatsmodels(t *testing.T) {
	for _, r := range oracle(t, "holm.csv") {
		got, want := Holm(r.fs(t, "p")), r.fs(t, "adjusted")
		for i := range want {
			check(t, r["p"], "adjusted", got[i], want[i])
		}
	}
	got := Holm([]float64{0.04, math.NaN(), 0.01})
	if !near(got[0], 0.04) || !math.IsNaN(got[1]) || !near(got[2], 0.02) {
		t.Errorf("with one that is no test: got %v, want 0.04 NaN 0.02", got)
	}
}

// The properties no golden number shows: swapping sides, shift, scale, order.
func TestComparisonProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		a, b := make([]float64, 4+random.IntN(9)), make([]float64, 4+random.IntN(9))
		for _, s := range [][]float64{a, b} {
			for i := range s {
				s[i] = math.Exp(random.NormFloat64())
			}
		}
		d, turned := must[Comparison](t)(DifferenceWelch(a, b, 0.95)), must[Comparison](t)(DifferenceWelch(b, a, 0.95))
		check(t, "difference, sides swapped", "lo", turned.Lo, -d.Hi)
		check(t, "difference, sides swapped", "p", turned.P, d.P)
		r, over := must[Comparison](t)(RatioWelch(a, b, 0.95)), must[Comparison](t)(RatioWelch(b, a, 0.95))
		check(t, "ratio, sides swapped", "lo", over.Lo, 1/r.Hi)
		check(t, "ratio, sides swapped", "p", over.P, r.P)
		scaled := must[Comparison](t)(RatioWelch(each(a, func(x float64) float64 { return 1e-6 * x }),
			each(b, func(x float64) float64 { return 1e-6 * x }), 0.95))
		check(t, "ratio, another unit", "hi", scaled.Hi, r.Hi)
		shifted := must[Comparison](t)(DifferenceWelch(each(a, func(x float64) float64 { return x + 5 }),
			each(b, func(x float64) float64 { return x + 5 }), 0.95))
		check(t, "difference, both shifted", "p", shifted.P, d.P)
		double := must[Comparison](t)(RatioWelch(each(a, func(x float64) float64 { return 2 * x }), b, 0.95))
		check(t, "ratio, first side doubled", "estimate", double.Estimate, 2*r.Estimate)
		n := min(len(a), len(b))
		p := must[Comparison](t)(RatioPaired(a[:n], b[:n], 0.95))
		slices.Reverse(a[:n])
		slices.Reverse(b[:n])
		q := must[Comparison](t)(RatioPaired(a[:n], b[:n], 0.95))
		check(t, "paired, blocks in another order", "lo", q.Lo, p.Lo)
		wide := q.At(0.99)
		direct := must[Comparison](t)(RatioPaired(a[:n], b[:n], 0.99))
		check(t, "another confidence", "lo", wide.Lo, direct.Lo)
	}
}

func TestComparisonWithoutSpread(t *testing.T) {
	bytes := []float64{512, 512, 512, 512}
	half := []float64{256, 256, 256, 256}
	for words, f := range map[string]func() (Comparison, error){
		"Welch":  func() (Comparison, error) { return RatioWelch(bytes, half, 0.95) },
		"paired": func() (Comparison, error) { return RatioPaired(bytes, half, 0.95) },
		"same ratio, values vary": func() (Comparison, error) {
			return RatioPaired([]float64{0.2, 0.6, 1.4, 2.2}, []float64{0.1, 0.3, 0.7, 1.1}, 0.95)
		},
	} {
		c := must[Comparison](t)(f())
		if !near(c.Estimate, 2) || c.Lo != c.Hi || !math.IsNaN(c.P) || len(c.Warnings) == 0 ||
			!errors.Is(c.Warnings[0], ErrNoSpread) {
			t.Errorf("%s: got %+v", words, c)
		}
		if _, err := c.Equivalent(0.9, 1.1); !errors.Is(err, ErrNoSpread) {
			t.Errorf("%s: equivalence: %v", words, err)
		}
		if wide := c.At(0.99); wide.Lo != c.Lo || wide.Confidence != 0.99 {
			t.Errorf("%s at 99 %%: got %+v", words, wide)
		}
	}
}

func TestComparisonRefuses(t *testing.T) {
	ok := []float64{1, 2, 3}
	for _, c := range []struct {
		words string
		do    func() (Comparison, error)
		want  error
	}{
		{"no values", func() (Comparison, error) { return DifferenceWelch(ok, nil, 0.95) }, ErrNoData},
		{"one value", func() (Comparison, error) { return DifferenceWelch(ok, ok[:1], 0.95) }, ErrTooFew},
		{"pairs of unequal number", func() (Comparison, error) { return DifferencePaired(ok, ok[:2], 0.95) }, ErrTooFew},
		{"ratio of zero", func() (Comparison, error) { return RatioWelch(ok, []float64{0, 1}, 0.95) }, ErrSign},
		{"ratio of a negative", func() (Comparison, error) { return RatioPaired([]float64{-1, 1, 2}, ok, 0.95) }, ErrSign},
		{"NaN", func() (Comparison, error) { return RatioPaired([]float64{math.NaN(), 1, 2}, ok, 0.95) }, ErrNotFinite},
		{"moments of one", func() (Comparison,
			error) {
			return RatioOfMoments(Moments{1, 2, 3}, Moments{5, 2, 3}, 0.95)
		}, ErrTooFew},
		{"moments of a negative mean", func() (Comparison,
			error) {
			return RatioOfMoments(Moments{5, -2, 3}, Moments{5, 2, 3}, 0.95)
		}, ErrSign},
	} {
		if got, err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: got %+v, %v; want %v", c.words, got, err, c.want)
		}
	}
	c := must[Comparison](t)(RatioWelch(ok, []float64{2, 3, 4}, 0.95))
	for _, bounds := range [][2]float64{{0, 2}, {2, 1}, {-1, 1}} {
		if e, err := c.Equivalent(bounds[0], bounds[1]); err == nil {
			t.Errorf("ratio bounds %v: got %+v", bounds, e)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		lo, hi, bound float64
		want          Verdict
	}{{2.1, 2.3, 2, Confirmed}, {1.9, 2.3, 2, Undecided}, {1.5, 1.9, 2, Contradicted},
		{math.NaN(), math.NaN(), 2, Undecided}} {
		if got := (Comparison{Lo: c.lo, Hi: c.hi}).Above(c.bound); got != c.want {
			t.Errorf("%v to %v above %v: got %s, want %s", c.lo, c.hi, c.bound, got, c.want)
		}
	}
}

func TestClaimsAreJudgedAsAFamily(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	sample := func(median float64) []float64 { return lognormal(random, 8, median, 0.1) }
	// Alone, a claim is judged by its interval.
	for range 200 {
		c := must[Comparison](t)(RatioWelch(sample(1.1), sample(1), 0.95))
		if got := Judge([]Claim{{c, 1.02, false}}, 0.05)[0]; got != c.Above(1.02) {
			t.Errorf("%v to %v above 1.02: got %s, want %s", c.Lo, c.Hi, got, c.Above(1.02))
		}
		check(t, "Against 1", "p", c.Against(1), c.P)
		d := must[Comparison](t)(DifferenceWelch(sample(1.1), sample(1), 0.95))
		check(t, "Against 0", "p", d.Against(0), d.P)
	}
	a, b := []float64{1.2, 1.25, 1.3, 1.22}, []float64{1, 1.05, 1.1, 1.18}
	near := must[Comparison](t)(RatioWelch(a, b, 0.95)) // p is between 0.05/3 and 0.05
	if near.P < 0.05/3 || near.P > 0.05 {
		t.Fatalf("p %v does not serve", near.P)
	}
	far := must[Comparison](t)(RatioWelch(each(a, func(x float64) float64 { return 5 * x }), b, 0.95))
	same := must[Comparison](t)(RatioWelch([]float64{512, 512}, []float64{256, 256}, 0.95))
	for n := range 40 { // whatever the last digit of the logarithms
		x, y := float64(3*n+3), float64(n+1)
		c := must[Comparison](t)(RatioPaired([]float64{x, x}, []float64{y, y}, 0.95))
		if v := Judge([]Claim{{c, 3, false}}, 0.05)[0]; v != Undecided || c.Above(3) != Undecided {
			t.Errorf("%v over %v above 3: got %s, %s", x, y, v, c.Above(3))
		}
	}
	for _, c := range []struct {
		words  string
		claims []Claim
		want   []Verdict
	}{
		{"one alone", []Claim{{near, 1, false}}, []Verdict{Confirmed}},
		{"three such", []Claim{{near, 1, false}, {near, 1, false}, {near, 1, false}},
			[]Verdict{Undecided, Undecided, Undecided}},
		{"the other way", []Claim{{far, 2, true}, {far, 2, false}, {far, 100, true}},
			[]Verdict{Contradicted, Confirmed, Confirmed}},
		{"constant bytes", []Claim{{same, 1.5, false}, {same, 1.5, true}, {same, 2, false}},
			[]Verdict{Confirmed, Contradicted, Undecided}},
		{"nothing measured", []Claim{{Comparison{}, 1, false}}, []Verdict{Undecided}},
	} {
		if got := Judge(c.claims, 0.05); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.words, got, c.want)
		}
	}
}

func TestGeometricAndArithmeticRatioApart(t *testing.T) {
	a := []float64{1, 1.01, 0.99, 1, 1.02, 40}
	b := []float64{1, 1.01, 0.99, 1, 1.02, 0.98}
	if c := must[Comparison](t)(RatioWelch(a, b, 0.5)); len(c.Warnings) != 1 {
		t.Errorf("one trial of 40: got %+v, want a warning", c)
	}
}

// In another unit the same values have the same ratio and the same p, and no spread where they have none: values near 1
// have logarithms near 0, of which rounding is a large part.
func TestRatiosInAnyUnit(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, spread := range []float64{0, 1e-3} {
		var a, b []float64
		for i := range 8 {
			v := 1 + 1e-4*float64(i)
			b, a = append(b, v), append(a, v*(1+1./1024)*(1+spread*r.NormFloat64()))
		}
		in := func(k float64) (x, y []float64) {
			for i := range a {
				x, y = append(x, k*a[i]), append(y, k*b[i])
			}
			return x, y
		}
		want := must[Comparison](t)(RatioPaired(a, b, 0.95))
		if (spread == 0) != math.IsNaN(want.P) {
			t.Errorf("spread %g: p %v", spread, want.P)
		}
		for _, k := range []float64{1, 1e-6, 1e-3, 1e3, 1e9} {
			x, y := in(k)
			pairs, err := NewAllPairs([][]float64{x, y}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []Comparison{must[Comparison](t)(RatioPaired(x, y, 0.95)),
				must[Comparison](t)(pairs.Compare(0, 1))} {
				if math.IsNaN(c.P) != math.IsNaN(want.P) || math.Abs(c.P-want.P) > 1e-9 || (c.Lo == c.Hi) != (spread == 0) ||
					math.Abs(c.Estimate-want.Estimate) > 1e-12 {
					t.Errorf("times %g: got %+v, want %+v", k, c, want)
				}
			}
		}
	}
}

// What more trials are planned by is the same whichever side is named first, and however many values each has.
func TestSDOfUnequalSides(t *testing.T) {
	a, b := []float64{1, 1.1, 0.9, 1.05, 0.97, 1.02, 1.08, 0.93, 1, 1.01}, []float64{2, 2.3, 1.9}
	there, back := must[Comparison](t)(RatioWelch(a, b, 0.95)), must[Comparison](t)(RatioWelch(b, a, 0.95))
	x := must[[]float64](t)(logs(a))
	y := must[[]float64](t)(logs(b))
	if want := math.Hypot(SD(x), SD(y)); !near(there.SD(), want) || !near(back.SD(), want) {
		t.Errorf("got %v and %v, want %v", there.SD(), back.SD(), want)
	}
}

// The limit of a pair only grows with the number of treatments: whoever adds one that is far worse does not by that
// decide what was undecided.
func TestLimitsGrowWithTreatments(t *testing.T) {
	for df := 1.0; df < 12; df++ {
		last := 0.0
		for k := 2; k < 12; k++ {
			p := &AllPairs{Confidence: 0.95, values: make([][]float64, k)}
			limit := p.critical(df)
			if limit < last*(1-1e-9) {
				t.Errorf("df %g: %d treatments have the limit %g, one less %g", df, k, limit, last)
			}
			if got := p.upper(limit, df); math.Abs(got-0.05) > 1e-6 {
				t.Errorf("df %g, %d treatments: p %g at the limit", df, k, got)
			}
			last = limit
		}
	}
}

// The interval of the ratio of arithmetic means holds as often as it says where blocks differ by far more than trials
// do within them, and is as narrow as trials are: what is common to a block cancels.
func TestRatioOfPairedMeansHolds(t *testing.T) {
	const studies, blocks, truth = 4000, 20, 1.1
	r := rand.New(rand.NewPCG(29, 22))
	held, width := 0, 0.0
	for range studies {
		var a, b []float64
		for range blocks {
			block := math.Exp(0.5 * r.NormFloat64())
			a = append(a, truth*block*math.Exp(0.03*r.NormFloat64()))
			b = append(b, block*math.Exp(0.03*r.NormFloat64()))
		}
		c, err := RatioOfPairedMeans(a, b, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if c.Lo <= truth && truth <= c.Hi {
			held++
		}
		width += (c.Hi - c.Lo) / 2 / c.Estimate / studies
	}
	t.Logf("held in %.1f %%, half-width %.1f %%", 100*float64(held)/studies, 100*width)
	// 3 % times the root of 2/20, and of 1.28, since blocks weigh unequally, times 2.09 of t.
	if AtLeast(studies-held, studies, 0.07) < 1e-4 || width > 0.03 {
		t.Errorf("the interval holds in %.1f %%, and is ±%.1f %% wide", 100*float64(held)/studies, 100*width)
	}
	for _, x := range [][2][]float64{{{1, 2}, {1, 2, 3}}, {{1}, {1}}, {{1, -2}, {1, 2}}, {{1, math.NaN()}, {1, 2}}} {
		if c, err := RatioOfPairedMeans(x[0], x[1], 0.95); err == nil {
			t.Errorf("%v: got %+v", x, c)
		}
	}
	if c, err := RatioOfPairedMeans([]float64{2, 4, 6}, []float64{1, 2, 3}, 0.95); err != nil || c.Lo != c.Hi ||
		math.Abs(c.Estimate-2) > 1e-12 {
		t.Errorf("twice as much in each block: got %+v, %v", c, err)
	}
}
