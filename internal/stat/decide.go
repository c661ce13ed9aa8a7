package stat

import (
	"fmt"
	"math"
	"slices"
)

// A Verdict is what an interval says of a claim.
type Verdict string

const (
	Confirmed    Verdict = "confirmed"    // the data decide for it
	Contradicted Verdict = "contradicted" // the data decide against it
	Undecided    Verdict = "undecided"    // the data decide neither: more trials may
)

// Above judges the claim that the true difference or ratio is above bound:
// confirmed if the whole interval is, contradicted if all of it is below.
func (c Comparison) Above(bound float64) Verdict {
	rounding := 1e-12 * math.Abs(bound) // exp(log 512 - log 256) need not be 2
	switch {
	case c.Lo > bound+rounding:
		return Confirmed
	case c.Hi < bound-rounding:
		return Contradicted
	}
	return Undecided
}

// Against is the two-sided p of a gap this large between the estimate and
// bound, if bound were the true difference or ratio; NaN without spread, unless by OfTicks. P is
// Against(0) of a difference and Against(1) of a ratio.
func (c Comparison) Against(bound float64) float64 {
	if c.ticks != nil {
		return c.ticks.against(bound, c.log)
	}
	if c.log {
		bound = math.Log(bound) // NaN below 0, -Inf at 0: no ratio is there
	}
	if !(c.se > 0) {
		return math.NaN()
	}
	return tTwoSided(c.past(c.center-bound, bound)/c.se, c.DF)
}

// exact reports whether the values have no spread and are taken for what they are.
func (c Comparison) exact() bool {
	return c.Confidence > 0 && c.se == 0 && c.ticks == nil && c.hidden == 0
}

// A Claim says that a true difference or ratio is above Bound, or below it.
type Claim struct {
	Contrast Comparison
	Bound    float64
	Below    bool
}

// Judge gives each claim of one family its verdict, with Holm over all of
// them: the chance that any verdict but undecided is wrong is at most alpha.
// A contrast without spread is judged by its value.
func Judge(claims []Claim, alpha float64) []Verdict {
	ps := make([]float64, len(claims))
	for i, c := range claims {
		ps[i] = c.Contrast.Against(c.Bound)
	}
	out := make([]Verdict, len(claims))
	for i, p := range Holm(ps) {
		c := claims[i]
		gap := c.Contrast.Estimate - c.Bound
		exact := c.Contrast.exact() && math.Abs(gap) > 1e-12*math.Abs(c.Bound) && c.Contrast.Confidence > 0
		switch {
		case !exact && !(p < alpha):
			out[i] = Undecided
		case (gap > 0) != c.Below:
			out[i] = Confirmed
		default:
			out[i] = Contradicted
		}
	}
	return out
}

// An Equivalence is the answer of two one-sided tests (Schuirmann 1987).
type Equivalence struct {
	Lo, Hi     float64 // the bounds within which sides count as equal
	P          float64 // the larger of the two one-sided p
	Equivalent bool    // P < 1-confidence
}

// Equivalent tests whether the true difference or ratio lies within (lo, hi),
// with the error 1-c.Confidence: for a ratio say 0.95 and 1/0.95, for a
// difference -d and d. Not being significantly different is no such proof.
func (c Comparison) Equivalent(lo, hi float64) (Equivalence, error) {
	if !(lo < hi) || c.log && !(lo > 0) {
		return Equivalence{},
			fmt.Errorf("equivalence bounds %v to %v: the lower must be below the upper, and above 0 for a ratio; write "+
				"0.95 and 1.0526 for 5 %%", lo, hi)
	}
	if c.ticks != nil {
		p := 1.0
		if c.Estimate > lo && c.Estimate < hi {
			p = max(c.Against(lo), c.Against(hi))
		}
		return Equivalence{lo, hi, p, p < 1-c.Confidence}, nil
	}
	if !(c.se > 0) {
		return Equivalence{}, fmt.Errorf("%w: equivalence cannot be tested without spread; compare the values themselves",
			ErrNoSpread)
	}
	l, h := lo, hi
	if c.log {
		l, h = math.Log(lo), math.Log(hi)
	}
	p := max(tUpper((c.center-l-c.off)/c.se, c.DF), tUpper((h-c.center-c.off)/c.se, c.DF))
	return Equivalence{lo, hi, p, p < 1-c.Confidence}, nil
}

// Holm adjusts the p values of one family of tests (Holm 1979), so that the
// chance of any false alarm among them is at most the level they are judged
// by. NaN (no test) stays NaN and does not count.
func Holm(ps []float64) []float64 {
	var order []int
	out := make([]float64, len(ps))
	for i, p := range ps {
		if out[i] = p; !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if ps[i] < ps[j] {
			return -1
		}
		if ps[i] > ps[j] {
			return 1
		}
		return 0
	})
	worst := 0.0
	for rank, i := range order {
		worst = max(worst, min(1, ps[i]*float64(len(order)-rank)))
		out[i] = worst
	}
	return out
}

// Beyond returns two p values: of the answer that the true difference or ratio
// lies above bound, and that it lies below. The side on which the estimate lies
// has the two-sided p, the other 1. Without spread the value itself decides.
func (c Comparison) Beyond(bound float64) (above, below float64) {
	gap := c.Estimate - bound
	p := c.Against(bound)
	switch {
	case math.IsNaN(gap) || math.Abs(gap) <= 1e-12*math.Abs(bound) || gap == 0:
		return 1, 1
	case c.exact():
		p = 0
	case math.IsNaN(p):
		return 1, 1
	}
	if gap > 0 {
		return p, 1
	}
	return 1, p
}

// Between returns two p values: of the answer that the true difference or
// ratio lies within (lo, hi), by two one-sided tests, and that it lies outside:
// the chance of an estimate so far off on either side, if the truth were the
// nearer bound. On one side of both bounds that is hardly more than one tail.
func (c Comparison) Between(lo, hi float64) (inside, outside float64, err error) {
	above, _ := c.Beyond(hi)
	_, below := c.Beyond(lo)
	outside = min(above, below)
	if c.se > 0 && outside < 1 {
		outside = (c.Against(lo) + c.Against(hi)) / 2
	}
	e, err := c.Equivalent(lo, hi)
	switch {
	case err == nil:
		return e.P, outside, nil
	case c.exact() && lo < hi:
		if c.Estimate > lo && c.Estimate < hi {
			return 0, 1, nil
		}
		return 1, outside, nil
	}
	return 1, 1, err
}
