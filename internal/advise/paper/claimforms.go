package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// forms are all the ways to claim something: the explicit list to add to.
var forms = []struct {
	name string
	is   func(Claim) bool
	test func(*tester)
}{
	{"less", func(c Claim) bool { return c.Less != nil }, (*tester).less},
	{"greatest", func(c Claim) bool { return c.Greatest != "" }, (*tester).greatest},
	{"ratio_of", func(c Claim) bool { return c.RatioOf != nil }, (*tester).ratioOf},
	{"response_less", func(c Claim) bool { return c.ResponseLess != nil }, (*tester).responseLess},
	{"response_ratio", func(c Claim) bool { return c.ResponseRatio != nil }, (*tester).responseRatio},
	{"spread_less", func(c Claim) bool { return c.SpreadLess != nil }, (*tester).spreadLess},
	{"share", func(c Claim) bool { return c.ShareAbove > 0 || c.ShareBelow > 0 }, (*tester).share},
	{"growth_in", func(c Claim) bool { return c.GrowthIn != "" }, (*tester).growth},
	{"slope_per", func(c Claim) bool { return c.SlopePer != "" }, (*tester).slope},
	{"interaction", func(c Claim) bool { return c.Interaction != nil }, (*tester).interaction},
	{"equivalent", func(c Claim) bool { return c.Equivalent != nil }, (*tester).equivalent},
}

// less: each level is below the next one.
func (t *tester) less() {
	t.judged.whole = true
	dim, ok := t.dimension(t.claim.Less)
	if !ok {
		return
	}
	t.missing(dim, t.claim.Less, t.claim.Response)
	measured := slices.DeleteFunc(slices.Clone(t.claim.Less), func(l string) bool { return !t.has(dim, l) })
	for _, s := range t.scopes(dim, t.claim.Everywhere, t.claim.Response) {
		for i := range len(measured) - 1 {
			low, high := s.level(dim, measured[i]), s.level(dim, measured[i+1])
			if t.claim.Difference != nil {
				t.above(s.where(measured[i+1]+" less "+measured[i]), t.difference(high, low), 0)
			} else {
				t.below(s.where(measured[i]+" over "+measured[i+1]), t.ratio(low, high), 1)
				t.sized(measured[i], measured[i+1])
			}
		}
	}
}

// sized gives the part just made the published ratio of two neighbours, where there is one.
func (t *tester) sized(low, high string) {
	k := slices.Index(t.claim.Less, low)
	if k < len(t.claim.Pairs) && t.claim.Less[k+1] == high {
		t.judged.Parts[len(t.judged.Parts)-1].Published = t.claim.Pairs[k]
	}
}

// greatest: the level is above each other one.
func (t *tester) greatest() {
	t.judged.whole = true
	c, ok := t.paper.column(t.claim.Greatest)
	if !ok {
		t.judged.Why = append(t.judged.Why, fmt.Sprintf("no column of the table has the level %s", t.claim.Greatest))
		return
	}
	levels := t.paper.values(c)
	t.missing(c, levels, t.claim.Response)
	for _, s := range t.scopes(c, t.claim.Everywhere, t.claim.Response) {
		for _, l := range levels {
			if l != t.claim.Greatest && t.has(c, l) && t.has(c, t.claim.Greatest) {
				t.above(s.where(t.claim.Greatest+" over "+l), t.ratio(s.level(c, t.claim.Greatest), s.level(c, l)), 1)
			}
		}
	}
}

// ratioOf: the first level over the second lies on the published side of 1.
func (t *tester) ratioOf() {
	a, b := t.claim.RatioOf[0], t.claim.RatioOf[1]
	dim, ok := t.dimension(t.claim.RatioOf)
	if !ok {
		return
	}
	t.missing(dim, t.claim.RatioOf, t.claim.Response)
	for _, s := range t.scopes(dim, t.claim.Everywhere, t.claim.Response) {
		t.onSideOf(s.where(a+" over "+b), t.ratio(s.level(dim, a), s.level(dim, b)))
	}
}

// onSideOf claims a ratio on the published side of 1.
func (t *tester) onSideOf(where string, f Evidence) {
	if lo, hi, ok := t.claim.Published(); ok && lo+hi < 2 {
		t.below(where, f, 1)
		return
	}
	t.above(where, f, 1)
}

// responseLess: in every treatment the first response is below the second.
func (t *tester) responseLess() {
	t.judged.whole = true
	a, b := t.claim.ResponseLess[0], t.claim.ResponseLess[1]
	t.missing("", nil, a, b)
	for _, s := range t.scopes("", true, a, b) {
		t.below(s.where(a+" over "+b), t.ratio(s.response(a), s.response(b)), 1)
	}
}

// responseRatio: the first response over the second, on the published side of 1.
func (t *tester) responseRatio() {
	a, b := t.claim.ResponseRatio[0], t.claim.ResponseRatio[1]
	t.missing("", nil, a, b)
	for _, s := range t.scopes("", t.claim.Everywhere, a, b) {
		t.onSideOf(s.where(a+" over "+b), t.ratio(s.response(a), s.response(b)))
	}
}

// share: in every treatment a part is above or below a share of the whole.
func (t *tester) share() {
	t.judged.whole = true
	whole, parts := wholeAndParts(t.claim)
	t.missing("", nil, append(slices.Clone(parts), whole)...)
	for _, s := range t.scopes("", true, whole) {
		f := t.ratio(s.sum(parts), s.response(whole)).boundless()
		if f.Kind == "ratio" {
			f.Kind = "share"
		}
		where := s.where(strings.Join(parts, " + ") + " over " + whole)
		if t.claim.ShareAbove > 0 {
			t.above(where, f, t.claim.ShareAbove)
		} else {
			t.below(where, f, t.claim.ShareBelow)
		}
	}
}

// wholeAndParts are what a share is of: a response and its part, or the phases of a call.
func wholeAndParts(c Claim) (whole string, parts []string) {
	if c.ShareOf == "" {
		return "total_time", []string{"serialization", "deserialization"}
	}
	return c.Response, []string{c.ShareOf}
}

// growth: response ∝ column^exponent, the exponent in the published range.
func (t *tester) growth() {
	c := t.claim.GrowthIn
	t.missing(c, t.paper.values(c), t.claim.Response)
	for _, s := range t.scopes(c, t.claim.Everywhere, t.claim.Response) {
		f := t.slopes(s, c, math.Log)
		f.Kind = "exponent"
		t.between(s.where("growth in "+c), f, t.claim.Exponent[0], t.claim.Exponent[1])
	}
}

// slope: the response grows with the column.
func (t *tester) slope() {
	c := t.claim.SlopePer
	t.missing(c, t.paper.values(c), t.claim.Response)
	for _, s := range t.scopes(c, t.claim.Everywhere, t.claim.Response) {
		f := t.slopes(s, c, func(x float64) float64 { return x })
		f.Kind, f.Unit = "slope", t.claim.Unit
		if t.claim.Slope != nil && *t.claim.Slope < 0 {
			t.below(s.where("slope per "+c), f, 0)
		} else {
			t.above(s.where("slope per "+c), f, 0)
		}
	}
}

// interaction: which level of the first is lower depends on the second. It is
// so if the ratio lies above 1 at one level of the second and below at another
// (Gail & Simon 1985), and not so if it lies on one side at all of them.
func (t *tester) interaction() {
	f, g := t.claim.Interaction[0], t.claim.Interaction[1]
	fs, gs := t.paper.values(f), t.paper.values(g)
	t.missing(f, fs, t.claim.Response)
	for _, s := range t.scopes(f+"\x00"+g, t.claim.Everywhere, t.claim.Response) {
		for i := range fs {
			for k := range i {
				t.crossing(s, f, g, fs[k], fs[i], gs)
			}
		}
	}
}

func (t *tester) crossing(s scope, f, g, a, b string, gs []string) {
	p := Part{Where: s.where(a + " against " + b)}
	up, down := 1.0, 1.0 // least p of the ratio above 1, below 1
	allUp, allDown := 0.0, 0.0
	var ratios []string
	for _, l := range gs {
		r := t.ratio(s.level(f, a).level(g, l), s.level(f, b).level(g, l))
		if why := cmp.Or(r.why, t.stands()); why != "" {
			p.Holds, p.Fails, p.Why = 1, 1, why
			t.judged.Parts = append(t.judged.Parts, p)
			return
		}
		p.several, p.bounds = append(p.several, r), []float64{r.even()}
		above, below := t.beyond(r, r.even())
		up, down = min(up, above), min(down, below)
		allUp, allDown = max(allUp, above), max(allDown, below)
		ratios = append(ratios, r.within()+" at "+l)
	}
	n := float64(len(gs))
	p.Holds, p.Fails = min(1, n*max(up, down)), min(allUp, allDown)
	p.Where += ": " + strings.Join(ratios, ", ")
	t.judged.Parts = append(t.judged.Parts, p)
}

// equivalent: the ratio of two levels lies within the margin in every stratum,
// by two one-sided tests in each: ×3 here and ÷3 there are not alike on average.
func (t *tester) equivalent() {
	a, b := t.claim.Equivalent[0], t.claim.Equivalent[1]
	dim, ok := t.dimension(t.claim.Equivalent)
	if !ok {
		return
	}
	t.missing(dim, t.claim.Equivalent, t.claim.Response)
	lo := 1 - float64(t.claim.Within)
	for _, s := range t.scopes(dim, true, t.claim.Response) {
		f := t.ratio(s.level(dim, a), s.level(dim, b)).boundless()
		t.between(s.where(a+" over "+b), f, lo, 1/lo)
	}
}

// spreadLess: trials of the first level vary less than those of the second.
func (t *tester) spreadLess() {
	a, b := t.claim.SpreadLess[0], t.claim.SpreadLess[1]
	dim, ok := t.dimension(t.claim.SpreadLess)
	if !ok {
		return
	}
	t.missing(dim, t.claim.SpreadLess, t.claim.Response)
	for _, s := range t.scopes(dim, t.claim.Everywhere, t.claim.Response) {
		f := t.spread(s.level(dim, a), s.level(dim, b))
		t.below(s.where(a+" over "+b), f, 1)
	}
}

// number reads a column's value.
func number(level string) (float64, error) {
	x, err := strconv.ParseFloat(level, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number: map our levels to the published numbers under published: columns", level)
	}
	return x, nil
}

var noRatio = stat.Comparison{Estimate: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}

var bothSides = []measure.Side{measure.Client, measure.Server}
