package stat

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// check looks at the residuals, which stand in row order.
func (a *Anova) check(residuals []float64, t Table) {
	if a.Residual.DF == 0 || a.Residual.SS == 0 {
		return
	}
	if got, err := Normality(residuals); err == nil {
		a.Checks = append(a.Checks, got)
		if got.P < warnAt {
			a.Warnings = append(a.Warnings, fmt.Errorf("residuals are not normal (%s, p = %.2g): look at the trials; medians and rank tests do not mind", got.Name, got.P))
		}
	}
	moved := Table{Factors: t.Factors, Rows: slices.Clone(t.Rows)}
	for i := range moved.Rows {
		moved.Rows[i].Y = residuals[i]
	}
	var groups [][]float64
	for _, g := range moved.treatments() {
		groups = append(groups, g.ys)
	}
	if got, err := BrownForsythe(groups...); err == nil {
		a.Checks = append(a.Checks, got)
		if got.P < warnAt {
			a.Warnings = append(a.Warnings, fmt.Errorf("treatments differ in variance (%s, p = %.2g): trust the contrasts, each of which has its own variance, before the F tests", got.Name, got.P))
		}
	}
	a.drift("drift of the residuals with the order of the rows", "look at the time course")(trendWithin(residuals, t))
	if t.Blocked() {
		a.drift("drift of the blocks' means", "comparisons within blocks stand, the means may not")(Trend(blockMeans(t)))
	}
}

func (a *Anova) drift(name, advice string) func(Test, error) {
	return func(got Test, err error) {
		if err != nil {
			return // too few rows to tell
		}
		got.Name = name
		a.Checks = append(a.Checks, got)
		if got.P < warnAt {
			a.Warnings = append(a.Warnings, fmt.Errorf("%s (tau = %.2f, p = %.2g): something changed while it was measured; %s", name, got.Statistic, got.P, advice))
		}
	}
}

// trendWithin is Trend for residuals. With blocks, whose residuals sum to
// zero, only pairs within a block can show anything: their Kendall scores are
// added up, with the sum of their variances (Hirsch, Slack & Smith 1982).
func trendWithin(residuals []float64, t Table) (Test, error) {
	if !t.Blocked() {
		return Trend(residuals)
	}
	parts := map[string][]float64{}
	for i, r := range t.Rows {
		parts[r.Block] = append(parts[r.Block], residuals[i])
	}
	var sum kendall
	for _, xs := range parts {
		k := scoreOf(xs)
		sum.score += k.score
		sum.pairs += k.pairs
		sum.tied += k.tied
		sum.variance += k.variance
	}
	if sum.variance == 0 || len(residuals) < 8 {
		return Test{}, fmt.Errorf("%w: blocks too small to show a trend within them; 8 rows and 2 treatments may", ErrTooFew)
	}
	got := sum.test("normal approximation over pairs within blocks, corrected for continuity")
	// Small blocks make a score that goes in coarse steps of 2.
	got.P = min(1, 2*normalUpper(max(0, math.Abs(sum.score)-1)/math.Sqrt(sum.variance)))
	return got, nil
}

// blockMeans are the means of the complete blocks, in order of appearance.
// A block that lacks a treatment has another mean for that reason alone.
func blockMeans(t Table) []float64 {
	var order []string
	ys := map[string][]float64{}
	most := 0
	for _, r := range t.Rows {
		if ys[r.Block] == nil {
			order = append(order, r.Block)
		}
		ys[r.Block] = append(ys[r.Block], r.Y)
		most = max(most, len(ys[r.Block]))
	}
	var out []float64
	for _, b := range order {
		if len(ys[b]) == most {
			out = append(out, meanOf(ys[b]))
		}
	}
	return out
}

// Normality is the Anderson-Darling test with mean and variance estimated
// (D'Agostino & Stephens 1986, table 4.9). It needs 8 values.
func Normality(xs []float64) (Test, error) {
	if err := finite(xs); err != nil {
		return Test{}, err
	}
	if len(xs) < 8 {
		return Test{}, fmt.Errorf("%w: %d values do not show whether they are normal; 8 do", ErrTooFew, len(xs))
	}
	if allEqual(xs) {
		return Test{}, noSpread(len(xs), xs[0])
	}
	z := slices.Sorted(slices.Values(xs))
	n, least := float64(len(z)), z[0]
	for i := range z {
		z[i] -= least // or a large mean takes the spread's digits
	}
	m, v := moments(z)
	for i := range z {
		z[i] = (z[i] - m) / math.Sqrt(v)
	}
	var sum float64
	for i := range z {
		sum += (2*float64(i) + 1) / n * (math.Log(normalCDF(z[i])) + math.Log(normalUpper(z[len(z)-1-i])))
	}
	a2 := -n - sum
	a := a2 * (1 + 0.75/n + 2.25/(n*n))
	t := Test{Name: "Anderson-Darling", Statistic: a2, Method: "approximation of Stephens for estimated mean and variance"}
	switch {
	case a < 0.2:
		t.P = 1 - math.Exp(-13.436+101.14*a-223.73*a*a)
	case a < 0.34:
		t.P = 1 - math.Exp(-8.318+42.796*a-59.938*a*a)
	case a < 0.6:
		t.P = math.Exp(0.9177 - 4.279*a - 1.38*a*a)
	case a <= 13:
		t.P = math.Exp(1.2937 - 5.709*a + 0.0186*a*a)
	}
	return t, nil
}

// BrownForsythe tests whether groups have equal variance: the F test on
// distances from the group's median (Brown & Forsythe 1974). It rejects too
// seldom in groups of 3 to 6.
func BrownForsythe(groups ...[]float64) (Test, error) {
	if len(groups) < 2 {
		return Test{}, fmt.Errorf("%w: %d group has no variance to compare with; give at least 2", ErrTooFew, len(groups))
	}
	var n, grand float64
	away := make([][]float64, len(groups))
	for i, g := range groups {
		if err := finite(g); err != nil {
			return Test{}, fmt.Errorf("group %d: %w", i+1, err)
		}
		mid := selectQuantile(slices.Clone(g), 0.5)
		for _, x := range g {
			away[i] = append(away[i], math.Abs(x-mid))
			grand += math.Abs(x - mid)
			n++
		}
	}
	grand /= n
	var between, within float64
	for _, g := range away {
		m := meanOf(g)
		between += float64(len(g)) * (m - grand) * (m - grand)
		for _, x := range g {
			within += (x - m) * (x - m)
		}
	}
	d1, d2 := float64(len(groups)-1), n-float64(len(groups))
	if d2 == 0 || within == 0 {
		return Test{}, fmt.Errorf("%w: the groups' values lie equally far from their medians; no test of equal variance", ErrNoSpread)
	}
	f := between / d1 / (within / d2)
	return Test{Name: "Brown-Forsythe", Statistic: f, P: fUpper(f, d1, d2), Method: "F of distances from the group's median"}, nil
}

// A kendall is the score of a series: pairs that rise less pairs that fall.
type kendall struct{ score, pairs, tied, variance float64 }

func scoreOf(xs []float64) kendall {
	n := float64(len(xs))
	k := kendall{pairs: n * (n - 1) / 2, variance: n * (n - 1) * (2*n + 5) / 18}
	_, ties := doubledRanks(xs)
	for _, size := range ties {
		t := float64(size)
		k.tied += t * (t - 1) / 2
		k.variance -= t * (t - 1) * (2*t + 5) / 18
	}
	k.score = k.pairs - k.tied - 2*inversions(slices.Clone(xs), make([]float64, len(xs)))
	return k
}

func (k kendall) test(method string) Test {
	return Test{
		Name:      "Mann-Kendall trend",
		Statistic: k.score / math.Sqrt(k.pairs) / math.Sqrt(k.pairs-k.tied),
		P:         min(1, 2*normalUpper(math.Abs(k.score)/math.Sqrt(k.variance))),
		Method:    method,
	}
}

// exactTrend is the number of values without ties up to which every order is
// counted.
const exactTrend = 60

// Trend tests whether a series rises or falls with its order (Mann 1945).
// Statistic is Kendall's tau-b with the order. Exact without ties up to 60
// values; else the normal approximation, corrected for ties.
func Trend(xs []float64) (Test, error) {
	if err := finite(xs); err != nil {
		return Test{}, err
	}
	if len(xs) < 4 {
		return Test{}, fmt.Errorf("%w: %d values show no trend; 4 may", ErrTooFew, len(xs))
	}
	if allEqual(xs) {
		return Test{}, noSpread(len(xs), xs[0])
	}
	k := scoreOf(xs)
	t := k.test("normal approximation, corrected for ties (ties, or over 60 values)")
	if k.tied == 0 && len(xs) <= exactTrend {
		t.P, t.Exact, t.Method = inversionP(len(xs), int((k.pairs-math.Abs(k.score))/2)), true, "exact"
	}
	return t, nil
}

// inversions counts pairs out of order by merging; it sorts xs.
func inversions(xs, spare []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	mid := 1 << (bits.Len(uint(len(xs)-1)) - 1)
	count := inversions(xs[:mid], spare) + inversions(xs[mid:], spare)
	left := spare[:copy(spare, xs[:mid])]
	for i, j, k := 0, mid, 0; i < len(left); k++ {
		if j < len(xs) && xs[j] < left[i] {
			xs[k] = xs[j]
			count += float64(len(left) - i)
			j++
		} else {
			xs[k] = left[i]
			i++
		}
	}
	return count
}

// inversionP is twice the share of orders of n values with at most k pairs
// out of order.
func inversionP(n, k int) float64 {
	ways := make([]float64, n*(n-1)/2+1)
	ways[0] = 1
	for size := 2; size <= n; size++ {
		next := make([]float64, len(ways))
		var window float64
		for s := range next {
			window += ways[s]
			if s >= size {
				window -= ways[s-size]
			}
			next[s] = window / float64(size) // shares: n! overflows nothing
		}
		ways = next
	}
	var tail float64
	for _, w := range ways[:k+1] {
		tail += w
	}
	return min(1, 2*tail)
}
