package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Comparison sets two sides against each other: a difference of means, or a
// ratio. Lo and Hi bound it with the given confidence. P is the two-sided
// probability of a gap this large between equal sides (difference 0, ratio 1);
// NaN where the values have no spread to judge by.
type Comparison struct {
	N                            [2]int // values of each side; when paired, pairs
	Estimate, Lo, Hi, Confidence float64
	P                            float64
	DF                           float64 // degrees of freedom of the t
	Method                       string
	Warnings                     []error

	center, se float64 // on the scale of the test
	sd         float64 // likewise, see SD; 0: se says it
	log        bool    // that scale is the logarithm
	wider      float64 // factor by which se was raised since blocks follow each other; 0: it was not
	paired     bool
	ticks      *ticks  // what stands for spread; nil: there is some, or values without any are exact
	off        float64 // by how much the steps of a clock may have shifted center, whatever the spread shows
	offEven    bool    // also from where both sides are equal, since one of them has no steps, or each has its own error
	hidden     float64 // the part of off by which also the interval is wider
}

// DifferencePaired is the mean of a[i]-b[i], t interval. a[i] and b[i] were
// measured in one block.
func DifferencePaired(a, b []float64, confidence float64) (Comparison, error) {
	return paired(a, b, confidence, false)
}

// DifferenceWelch is mean(a)-mean(b) of unpaired samples, whose variances may
// differ (Welch 1947).
func DifferenceWelch(a, b []float64, confidence float64) (Comparison, error) {
	return welch(a, b, confidence, false)
}

// RatioPaired is the geometric mean of a[i]/b[i], t interval on logarithms.
// All values must be positive.
func RatioPaired(a, b []float64, confidence float64) (Comparison, error) {
	return paired(a, b, confidence, true)
}

// RatioOfBlocks is RatioPaired of blocks in the order in which they were measured. Where their ratios follow each
// other, as when each side drifts by itself, so many blocks tell less, and the interval is wider.
func RatioOfBlocks(a, b []float64, confidence float64) (Comparison, error) {
	return ratioInOrder(fewestInOrder, a, b, confidence)
}

// RatioOfManyBlocks is RatioOfBlocks that looks from 16 blocks on, as AllPairs does.
func RatioOfManyBlocks(a, b []float64, confidence float64) (Comparison, error) {
	return ratioInOrder(fewestOfRuns, a, b, confidence)
}

func ratioInOrder(fewest int, a, b []float64, confidence float64) (Comparison, error) {
	c, err := RatioPaired(a, b, confidence)
	if err != nil {
		return c, err
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = math.Log(a[i]) - math.Log(b[i])
	}
	return c.inOrderFrom(fewest, d), nil
}

// RatioWelch is the ratio of the geometric means of unpaired samples, Welch's
// interval on logarithms. All values must be positive.
func RatioWelch(a, b []float64, confidence float64) (Comparison, error) {
	return welch(a, b, confidence, true)
}

func paired(a, b []float64, confidence float64, log bool) (Comparison, error) {
	if len(a) != len(b) {
		return Comparison{}, fmt.Errorf("%w: %d values cannot be paired with %d; pair by block, or compare unpaired",
			ErrTooFew, len(a), len(b))
	}
	x, y, err := sides(a, b, confidence, log)
	if err != nil {
		return Comparison{}, err
	}
	d := make([]float64, len(x))
	var size float64
	for i := range x {
		d[i] = x[i] - y[i]
		size = max(size, math.Abs(x[i]), math.Abs(y[i]))
	}
	m, v := moments(d)
	// Subtle: equal ratios differ in the last digit of their logarithms, or of the
	// values where those are near 1, which is no spread.
	if log {
		size = max(size, 1)
	}
	if lo, hi := extremes(d); hi-lo <= roundingOf(size) {
		v = 0
	}
	c := Comparison{N: [2]int{len(a), len(b)}, Method: "paired by block, t interval on differences", log: log,
		paired: true}
	if log {
		c.Method = "paired by block, t interval on log ratios"
	}
	c.sd = math.Sqrt(v)
	c = c.of(m, math.Sqrt(v/float64(len(d))), float64(len(d)-1), confidence)
	return c.doubts(a, b), nil
}

func welch(a, b []float64, confidence float64, log bool) (Comparison, error) {
	x, y, err := sides(a, b, confidence, log)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{Method: "Welch, t interval on difference of means", log: log}
	if log {
		c.Method = "Welch, t interval on difference of mean logs"
	}
	c = c.welch(momentsOf(x), momentsOf(y), confidence)
	return c.doubts(a, b), nil
}

func sides(a, b []float64, confidence float64, log bool) (x, y []float64, err error) {
	for i, s := range [][]float64{a, b} {
		if err := usable(s, confidence); err != nil {
			return nil, nil, OfSide{i, err}
		}
		if len(s) < 2 {
			return nil, nil, OfSide{i, fmt.Errorf("%w: one value shows no spread; run at least 2 trials, preferably 10",
				ErrTooFew)}
		}
	}
	if !log {
		return a, b, nil
	}
	if x, err = logs(a); err != nil {
		return nil, nil, OfSide{0, err}
	}
	if y, err = logs(b); err != nil {
		return nil, nil, OfSide{1, err}
	}
	return x, y, nil
}

// An OfSide is an error or a warning about one of the two samples that are compared.
type OfSide struct {
	Side int // 0 or 1
	Err  error
}

func (e OfSide) Error() string {
	return fmt.Sprintf("%s side: %v", [2]string{"first", "second"}[e.Side], e.Err)
}

func (e OfSide) Unwrap() error { return e.Err }

// NameSides says which sample an error or a warning is about by a name of it; errors about both stay as they are.
func NameSides(err error, first, second string) error {
	var of OfSide
	if !errors.As(err, &of) {
		return err
	}
	return fmt.Errorf("%s: %w", [2]string{first, second}[of.Side], of.Err)
}

func logs(xs []float64) ([]float64, error) {
	out := make([]float64, len(xs))
	for i, x := range xs {
		if x <= 0 {
			return nil, fmt.Errorf("%w: value %d is %v, which cannot form a ratio; compare by difference", ErrSign, i+1, x)
		}
		out[i] = math.Log(x)
	}
	return out, nil
}

// Moments are what a published table gives of a sample.
type Moments struct {
	N        int
	Mean, SD float64
}

// FromHalfWidth turns a published mean with the half-width of its t interval
// into moments.
func FromHalfWidth(n int, mean, halfWidth, confidence float64) (Moments, error) {
	if n < 2 || !(halfWidth >= 0) || !isFinite(mean+halfWidth) || !(confidence > 0 && confidence < 1) {
		return Moments{},
			fmt.Errorf("%w: mean %v with half-width %v of %d values does not give a spread; state n of at least 2 and a "+
				"confidence "+
				"such as 0.95", ErrTooFew, mean, halfWidth, n)
	}
	return Moments{n, mean, halfWidth * math.Sqrt(float64(n)) / tCritical(confidence, float64(n-1))}, nil
}

// RatioOfMoments is the ratio of two means known by their moments only, as of
// ours to a published one. Its interval is Welch's on logarithms, with the
// delta method for the variance of a mean's logarithm: SD²/(N·Mean²).
func RatioOfMoments(a, b Moments, confidence float64) (Comparison, error) {
	for _, m := range []Moments{a, b} {
		if !(m.Mean > 0) {
			return Comparison{}, fmt.Errorf("%w: a mean of %v cannot form a ratio; compare by difference", ErrSign, m.Mean)
		}
		if m.N < 2 || !(m.SD >= 0) || !isFinite(m.Mean+m.SD) {
			return Comparison{},
				fmt.Errorf("%w: mean %v, sd %v of %d values cannot be compared; state n of at least 2 and the sd", ErrTooFew,
					m.Mean, m.SD, m.N)
		}
	}
	if !(confidence > 0 && confidence < 1) {
		return Comparison{}, fmt.Errorf("confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)
	}
	c := Comparison{Method: "ratio of means, Welch on logs by the delta method", log: true}
	onLogs := func(m Moments) Moments { return Moments{m.N, math.Log(m.Mean), m.SD / m.Mean} }
	return c.welch(onLogs(a), onLogs(b), confidence), nil
}

// RatioOfPairedMeans is the ratio of the arithmetic means of a and b, of which a[i] and b[i] were measured in one
// block. Its interval is that of the t on its logarithm, by the delta method: blocks vary by a[i]/mean(a) -
// b[i]/mean(b), in which what is common to a block cancels.
func RatioOfPairedMeans(a, b []float64, confidence float64) (Comparison, error) {
	if len(a) != len(b) {
		return Comparison{}, fmt.Errorf("%w: %d values cannot be paired with %d; pair by block, or compare unpaired",
			ErrTooFew, len(a), len(b))
	}
	if _, _, err := sides(a, b, confidence, false); err != nil {
		return Comparison{}, err
	}
	ma, mb := meanOf(a), meanOf(b)
	if !(ma > 0 && mb > 0) {
		return Comparison{}, fmt.Errorf("%w: means of %v and %v cannot form a ratio; compare by difference", ErrSign, ma, mb)
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i]/ma - b[i]/mb
	}
	_, v := moments(d)
	if lo, hi := extremes(d); hi-lo <= roundingOf(max(1, slices.Max(a)/ma)) { // rounding is no spread
		v = 0
	}
	c := Comparison{N: [2]int{len(a), len(b)}, Method: "ratio of means, paired by block, t on logs by the delta method",
		log: true, sd: math.Sqrt(v)}
	return c.of(math.Log(ma/mb), math.Sqrt(v/float64(len(a))), float64(len(a)-1), confidence), nil
}

func momentsOf(xs []float64) Moments {
	m, _ := moments(xs)
	return Moments{len(xs), m, SD(xs)}
}

// welch fills c from two samples' moments on the scale of the test.
func (c Comparison) welch(a, b Moments, confidence float64) Comparison {
	va, vb := a.SD*a.SD/float64(a.N), b.SD*b.SD/float64(b.N)
	c.N, c.sd = [2]int{a.N, b.N}, math.Hypot(a.SD, b.SD)
	df := (va + vb) * (va + vb) / (va*va/float64(a.N-1) + vb*vb/float64(b.N-1)) // Satterthwaite 1946
	return c.of(a.Mean-b.Mean, math.Sqrt(va+vb), df, confidence)
}

// of fills c from the estimate and its standard error on the scale of the test.
func (c Comparison) of(center, se, df, confidence float64) Comparison {
	c.center, c.se, c.DF, c.Confidence = center, se, df, confidence
	half := 0.0
	c.P = math.NaN()
	if se > 0 {
		half = tCritical(confidence, df) * se
		c.P = tTwoSided(center/se, df)
	} else {
		c.DF = math.NaN()
	}
	c.Estimate, c.Lo, c.Hi = c.unlog(center), c.unlog(center-half), c.unlog(center+half)
	return c.hide()
}

func (c Comparison) unlog(x float64) float64 {
	if c.log {
		return math.Exp(x)
	}
	return x
}

// doubts adds the warnings that the samples themselves call for.
func (c Comparison) doubts(a, b []float64) Comparison {
	for i, s := range [][]float64{a, b} {
		if allEqual(s) {
			c.Warnings = append(c.Warnings, OfSide{i, noSpread(len(s), s[0])})
		}
	}
	if c.se == 0 && len(c.Warnings) == 0 {
		c.Warnings = append(c.Warnings,
			fmt.Errorf("%w: all pairs differ by the same %v; the zero-width interval shows the measurement's resolution, not "+
				"certainty",
				ErrNoSpread, c.Estimate))
	}
	if c.log {
		ma, _ := moments(a)
		mb, _ := moments(b)
		if r := ma / mb; c.se > 0 && (r < c.Lo || r > c.Hi) {
			c.Warnings = append(c.Warnings,
				fmt.Errorf("the ratio of the arithmetic means, %.4g, lies outside the interval of the ratio of the geometric "+
					"means: a few large trials dominate; look at the trials", r))
		}
	}
	return c
}

// Even is what the comparison gives where both sides are equal: 1 for a ratio, 0
// for a difference.
func (c Comparison) Even() float64 { return c.unlog(0) }

// SD is the standard deviation, on the scale of the test, of the paired differences, or of what
// one value of each side differs by: what a plan for as many more trials a side is based on.
func (c Comparison) SD() float64 {
	if c.sd > 0 {
		return c.sd
	}
	return c.se * math.Sqrt(float64(c.N[0])) / max(c.wider, 1)
}

// At is the same comparison with another confidence.
func (c Comparison) At(confidence float64) Comparison {
	df := c.DF
	c = c.of(c.center, c.se, df, confidence)
	if c.ticks != nil {
		c = c.perTick(1)
	}
	return c
}

// One is the mean of figures of which each block gave one, as slopes, with the
// t interval; P is of a true mean of 0.
func One(xs []float64, confidence float64) (Comparison, error) {
	if err := usable(xs, confidence); err != nil {
		return Comparison{}, err
	}
	if len(xs) < 2 {
		return Comparison{}, fmt.Errorf("%w: one value shows no spread; run at least 2 trials, preferably 10",
			ErrTooFew)
	}
	m, v := moments(xs)
	var size float64
	for _, x := range xs {
		size = max(size, math.Abs(x))
	}
	if lo, hi := extremes(xs); hi-lo <= roundingOf(size) {
		v = 0
	}
	c := Comparison{N: [2]int{len(xs), len(xs)}, Method: "one figure per block, t interval on their mean"}
	return c.of(m, math.Sqrt(v/float64(len(xs))), float64(len(xs)-1), confidence), nil
}
