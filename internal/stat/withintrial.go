package stat

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Within describes the distribution within one trial, in the values' unit. SD
// is NaN for one value; P95 and P99 are NaN below 20 and 100 values, which
// cannot show them.
type Within struct {
	N                                    int
	Mean, SD, Min, Max, Median, P95, P99 float64
}

// Value is what a trial's values may be: seconds, bytes, time.Duration.
type Value interface{ ~int64 | ~float64 }

// WithinTrial computes exact figures of one trial's values. It allocates
// nothing and reorders xs. Quantiles are Hyndman & Fan 1996, type 7.
func WithinTrial[T Value](xs []T) (Within, error) {
	if len(xs) == 0 {
		return Within{}, fmt.Errorf("%w: the trial has no values", ErrNoData)
	}
	w := Within{N: len(xs), SD: math.NaN(), P95: math.NaN(), P99: math.NaN()}
	w.Mean, w.Min, w.Max = center(xs)
	if !isFinite(w.Mean) {
		return Within{}, whichNotFinite(xs)
	}
	if w.N > 1 {
		w.SD = math.Sqrt(squares(xs, w.Mean) / float64(w.N-1))
	}
	within, ranks := xs, [...]int{rank7(w.N, 0.5), rank7(w.N, 0.95), rank7(w.N, 0.99)}
	if w.N >= manyValues {
		within = gather(xs, w.Min, w.Max, &ranks)
	}
	w.Median = interpolate(within, ranks[0], fraction7(w.N, 0.5))
	right := within[ranks[0]:] // the quantiles above lie in here
	for i, u := range []struct {
		q  float64
		to *float64
	}{{0.95, &w.P95}, {0.99, &w.P99}} {
		if !enough(w.N, u.q) {
			continue
		}
		k := ranks[i+1] - (len(within) - len(right))
		*u.to = interpolate(right, k, fraction7(w.N, u.q))
		right = right[k:]
	}
	return w, nil
}

// QuantileWithin is the type 7 quantile of one trial's values, of which at least one must
// be expected beyond it. It reorders xs.
func QuantileWithin[T Value](xs []T, q float64) (float64, error) {
	if !(q > 0 && q < 1) || !enough(len(xs), q) {
		return math.NaN(), fmt.Errorf("%w: %d values say nothing of the %g-quantile", ErrNoData, len(xs), q)
	}
	return selectQuantile(xs, q), nil
}

// QuantileOfAll is the type 7 quantile of all requests of a trial: those that have values, and so many more that have
// none and count as greater than any; +Inf where it is one of these. It reorders xs.
func QuantileOfAll[T Value](xs []T, more int, q float64) (float64, error) {
	n := len(xs) + more
	if !(q > 0 && q < 1) || !enough(n, q) {
		return math.NaN(), fmt.Errorf("%w: %d requests say nothing of the %g-quantile", ErrNoData, n, q)
	}
	at := q * float64(n-1)
	k := int(at + 1e-9)
	part := max(0, at-float64(k))
	if part < 1e-9 { // rounding of q
		part = 0
	}
	if k >= len(xs) || part > 0 && k+1 >= len(xs) {
		return math.Inf(1), nil
	}
	return interpolate(xs, k, part), nil
}

// center returns mean, least and greatest. Sums of 4096 are summed, which
// keeps the mean of 10 million values to 1e-13.
func center[T Value](xs []T) (mean, lo, hi float64) {
	least, most := xs[0], xs[0]
	for part := range slices.Chunk(xs, 4096) {
		var sum float64
		for _, x := range part {
			sum += float64(x)
			least, most = min(least, x), max(most, x)
		}
		mean += sum
	}
	return mean / float64(len(xs)), float64(least), float64(most)
}

func squares[T Value](xs []T, mean float64) float64 {
	var total float64
	for part := range slices.Chunk(xs, 4096) {
		var ss float64
		for _, x := range part {
			d := float64(x) - mean
			ss += d * d
		}
		total += ss
	}
	return total
}

func whichNotFinite[T Value](xs []T) error {
	for i, x := range xs {
		if !isFinite(float64(x)) {
			return fmt.Errorf("%w: value %d of %d is %v; record the request as failed", ErrNotFinite, i+1, len(xs), x)
		}
	}
	return fmt.Errorf("%w: the values are too large to average; use a larger unit", ErrNotFinite)
}

// rank7 is the rank (from 0) below the q-quantile of n values, fraction7 how
// far the quantile lies towards the next.
func rank7(n int, q float64) int { return min(int(q*float64(n-1)), n-1) }

func fraction7(n int, q float64) float64 { return q*float64(n-1) - float64(rank7(n, q)) }

// Middle is the median of xs, which it leaves as they are: of an even number, the mean of the two in the middle; NaN of
// none.
func Middle[T Value](xs []T) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return selectQuantile(slices.Clone(xs), 0.5)
}

// selectQuantile returns the type 7 quantile and leaves everything at or above
// it at or right of rank7.
func selectQuantile[T Value](xs []T, q float64) float64 {
	return interpolate(xs, rank7(len(xs), q), fraction7(len(xs), q))
}

func interpolate[T Value](xs []T, k int, fraction float64) float64 {
	at := float64(selectRank(xs, k))
	if fraction == 0 || k+1 >= len(xs) {
		return at
	}
	return at + fraction*(float64(slices.Min(xs[k+1:]))-at)
}

// selectRank puts the value of rank k (from 0) at xs[k], nothing greater left
// of it, nothing less right of it, and returns it. Hoare's find with a
// ninther; after too many bad pivots it sorts.
func selectRank[T Value](xs []T, k int) T {
	lo, hi := 0, len(xs)-1
	for tries := 4 * bits.Len(uint(len(xs))); hi-lo > 24; tries-- {
		if tries == 0 {
			break
		}
		p := pivot(xs[lo : hi+1])
		i, j := lo, hi
		for i <= j {
			for xs[i] < p {
				i++
			}
			for xs[j] > p {
				j--
			}
			if i <= j {
				xs[i], xs[j] = xs[j], xs[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return xs[k]
		}
	}
	slices.Sort(xs[lo : hi+1])
	return xs[k]
}

// From manyValues on, ranks are looked for among few of them.
const manyValues = 1 << 13

// gather puts the values among which ranks lie, each with the rank above it, to the front of xs and returns them. Ranks
// become those among these. It counts values by the leading bits of their distance from the least: passes without a
// branch that a CPU mispredicts, as it does at every other value where selectRank looks among all.
func gather[T Value](xs []T, least, most float64, ranks *[3]int) []T {
	var counts [1 << 12]int
	lowest := leadingBits(most-least) - (len(counts) - 1)
	for _, x := range xs {
		counts[max(leadingBits(float64(x)-least)-lowest, 0)]++
	}
	var wanted [len(counts)]bool
	below, apart, all := 0, 0, *ranks // apart: of those below, what is not wanted
	for place, n := range counts {
		for i, rank := range all {
			if below <= rank && rank < below+n {
				ranks[i] -= apart
			}
			// Or the rank above is here.
			wanted[place] = wanted[place] || below <= rank+1 && rank < below+n
		}
		if below += n; !wanted[place] {
			apart += n
		}
	}
	n := 0
	for i, x := range xs {
		if wanted[max(leadingBits(float64(x)-least)-lowest, 0)] {
			xs[i], xs[n] = xs[n], x
			n++
		}
	}
	return xs[:n]
}

// leadingBits are the exponent of a number ≥ 0 and six bits after it: they rise with it.
func leadingBits(x float64) int { return int(math.Float64bits(x) >> 46) }

func pivot[T Value](xs []T) T {
	n, step := len(xs), len(xs)/9
	at := func(i int) T { return median3(xs[i], xs[i+step], xs[i+2*step]) }
	return median3(at(0), at(n/2-step), at(n-1-2*step))
}

func median3[T Value](a, b, c T) T { return max(min(a, b), min(max(a, b), c)) }
