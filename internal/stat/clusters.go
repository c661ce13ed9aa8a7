package stat

import (
	"math"
	"slices"
)

// Clusters are the two groups into which the values of a treatment fall, as
// trials do when a scheduler places two programs on one CPU or on two.
type Clusters struct {
	Low, High   float64 // median of each
	NLow, NHigh int
}

// clusterGap is how far apart two clusters must lie to matter, as a share of
// the lower.
const clusterGap = 0.1

// clusterLimits are the shares of the sum of squares that the best split of n
// normal values leaves between its sides in 1 % of samples; computed by
// testdata/clusters.py.
var clusterLimits = []struct {
	n     int
	limit float64
}{
	{5, 0.98235}, {6, 0.96692}, {7, 0.95191}, {8, 0.93572}, {9, 0.92134}, {10, 0.90826},
	{11, 0.89685}, {12, 0.88584}, {13, 0.87615}, {14, 0.86830}, {15, 0.86053}, {16, 0.85353},
	{17, 0.84735}, {18, 0.84054}, {19, 0.83513}, {20, 0.82989}, {25, 0.80936}, {30, 0.79413},
	{40, 0.77260}, {60, 0.74644}, {100, 0.72074}, {200, 0.69527},
}

// FindClusters reports whether the values fall into two clusters: the best
// split of the sorted values (of their logarithms where all are positive)
// explains more than that of normal values does in 99 % of samples, each side
// has at least 2 values and a sixth of all, and the medians of the sides lie at
// least 10 % apart. Fewer than 5 values show no clusters.
func FindClusters(xs []float64) (Clusters, bool) {
	if len(xs) < clusterLimits[0].n || finite(xs) != nil || allEqual(xs) {
		return Clusters{}, false
	}
	sorted := slices.Sorted(slices.Values(xs))
	ys := slices.Clone(sorted)
	if sorted[0] > 0 {
		for i, x := range sorted {
			ys[i] = math.Log(x)
		}
	}
	split, share := bestSplit(ys)
	c := Clusters{Middle(sorted[:split]), Middle(sorted[split:]), split, len(xs) - split}
	return c, share > clusterLimit(len(xs)) && c.High-c.Low >= clusterGap*math.Abs(c.Low)
}

// bestSplit is where sorted values are best cut in two, and the share of their
// sum of squares that lies between the sides.
func bestSplit(ys []float64) (split int, share float64) {
	mean, variance := moments(ys)
	total := variance * float64(len(ys)-1)
	smallest := max(2, len(ys)/6)
	sum := 0.0
	for i, y := range ys {
		sum += y - mean
		if k := i + 1; k >= smallest && len(ys)-k >= smallest {
			between := sum*sum/float64(k) + sum*sum/float64(len(ys)-k)
			if between/total > share {
				split, share = k, between/total
			}
		}
	}
	return split, share
}

// clusterLimit interpolates between the rows of clusterLimits.
func clusterLimit(n int) float64 {
	for i, row := range clusterLimits {
		if row.n == n {
			return row.limit
		}
		if row.n > n {
			before := clusterLimits[i-1]
			return before.limit + (row.limit-before.limit)*float64(n-before.n)/float64(row.n-before.n)
		}
	}
	return clusterLimits[len(clusterLimits)-1].limit
}
