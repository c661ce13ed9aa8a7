package stat

import (
	"fmt"
	"math"
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

// exactMannWhitney is the size, both samples together, up to which every
// arrangement is counted.
const exactMannWhitney = 100

// MannWhitney tests whether values of a tend to be larger or smaller than
// those of b. Statistic is U of a: pairs with a > b, ties half. Two-sided: twice
// the smaller tail. Exact, ties included, up to 100 values in all; beyond that
// the normal approximation with tie and continuity correction.
func MannWhitney(a, b []float64) (Test, error) {
	for i, s := range [][]float64{a, b} {
		if err := finite(s); err != nil {
			return Test{}, fmt.Errorf("%s side: %w", [2]string{"first", "second"}[i], err)
		}
	}
	ranks, ties := doubledRanks(slices.Concat(a, b))
	sum := 0
	for _, r := range ranks[:len(a)] {
		sum += r
	}
	m, n := len(a), len(b)
	t := Test{Name: "Mann-Whitney", Statistic: (float64(sum) - float64(m)*float64(m+1)) / 2}
	if len(ties) == 1 {
		t.P, t.Exact, t.Method = 1, true, "all values tie"
		return t, nil
	}
	if m+n <= exactMannWhitney {
		t.P, t.Exact, t.Method = rankSumP(ranks, m), true, "exact, ties included"
		return t, nil
	}
	N := float64(m + n)
	sd := math.Sqrt(float64(m) * float64(n) / 12 * (N + 1 - tieSum(ties)/(N*(N-1))))
	away := math.Abs(t.Statistic - float64(m)*float64(n)/2)
	t.P = min(1, 2*normalUpper((away-0.5)/sd))
	t.Method = "normal approximation, corrected for ties and continuity (over 100 values)"
	return t, nil
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

// tieSum is the sum of t³-t over the groups of equal values.
func tieSum(ties []int) float64 {
	var sum float64
	for _, t := range ties {
		sum += float64(t) * (float64(t)*float64(t) - 1)
	}
	return sum
}

// rankSumP counts, over all ways to choose the first m of the ranks, those
// whose sum is as far out. The smaller side is counted, so that the answer
// does not depend on which sample is named first.
func rankSumP(ranks []int, m int) float64 {
	side := ranks[:m]
	if len(ranks)-m < m {
		side = ranks[m:]
	}
	m = len(side)
	base := slices.Min(ranks) // the least sum then is 0
	observed, most := 0, 0
	for _, r := range side {
		observed += r - base
	}
	sorted := slices.Sorted(slices.Values(ranks))
	for _, r := range sorted[len(sorted)-m:] {
		most += r - base
	}
	ways := make([][]float64, m+1) // ways[c][s]: choices of c ranks with sum s
	for c := range ways {
		ways[c] = make([]float64, most+1)
	}
	ways[0][0] = 1
	for i, r := range sorted {
		r -= base
		for c := min(i+1, m); c > 0; c-- {
			for s := most; s >= r; s-- {
				ways[c][s] += ways[c-1][s-r]
			}
		}
	}
	var below, above, all float64
	for s, w := range ways[m] {
		all += w
		if s <= observed {
			below += w
		}
		if s >= observed {
			above += w
		}
	}
	return min(1, 2*min(below, above)/all)
}
