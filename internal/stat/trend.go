package stat

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// A Test is the outcome of a test that has no interval.
type Test struct {
	Name      string
	Statistic float64
	P         float64 // of a statistic this far out under no effect
	Exact     bool    // P is from the permutation distribution, ties included
	Method    string  // which distribution, and when it is used
	Warnings  []error
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
		return Test{}, fmt.Errorf("%w: %d values are too few to show a trend; give at least 4", ErrTooFew, len(xs))
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
	// ways[s] is the share of orders with s pairs out of order. The largest of size
	// values stands before 0 to size-1 of the others, which makes as many pairs more.
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
	for _, block := range t.blocks() {
		k := scoreOf(parts[block])
		sum.score += k.score
		sum.pairs += k.pairs
		sum.tied += k.tied
		sum.variance += k.variance
	}
	if sum.variance == 0 || len(residuals) < 8 {
		return Test{}, fmt.Errorf("%w: blocks are too small to show a trend within them; give at least 8 rows and 2 "+
			"treatments", ErrTooFew)
	}
	got := sum.test("normal approximation over pairs within blocks, corrected for continuity")
	// Small blocks make a score that goes in coarse steps of 2.
	got.P = min(1, 2*normalUpper(max(0, math.Abs(sum.score)-1)/math.Sqrt(sum.variance)))
	return got, nil
}

// doubledRanks returns twice the midrank of each value, which is whole, and
// the sizes of the groups of equal values, ascending by value.
func doubledRanks(xs []float64) (ranks, ties []int) {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if xs[i] < xs[j] {
			return -1
		}
		if xs[i] > xs[j] {
			return 1
		}
		return 0
	})
	ranks = make([]int, len(xs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for _, at := range order[i:j] {
			ranks[at] = i + 1 + j
		}
		ties = append(ties, j-i)
		i = j
	}
	return ranks, ties
}
