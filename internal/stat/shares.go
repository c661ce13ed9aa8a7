package stat

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// A Share is how many of N have a property, as the failed requests of a run.
type Share struct{ Hits, N int }

func (s Share) add(o Share) Share { return Share{s.Hits + o.Hits, s.N + o.N} }

// Of is the share as a number; 0 of nothing.
func (s Share) Of() float64 { return float64(s.Hits) / float64(max(1, s.N)) }

// Beyond returns two p values, as Comparison.Beyond does: of the answer that the property is more common than bound,
// and that it is rarer. It is the exact binomial test, twice its one side, and takes hits for independent of each
// other.
func (s Share) Beyond(bound float64) (above, below float64) {
	bound = min(max(bound, 0), 1)
	return min(1, 2*binomialUpper(s.Hits, s.N, bound)), min(1, 2*binomialLower(s.Hits, s.N, bound))
}

// Interval is that of Clopper and Pearson (1934): the bounds that Beyond does not exclude.
func (s Share) Interval(confidence float64) (lo, hi float64) {
	tail, hi := (1-confidence)/2, 1.0
	if s.Hits > 0 {
		lo = mathext.InvRegIncBeta(float64(s.Hits), float64(s.N-s.Hits+1), tail)
	}
	if s.Hits < s.N {
		hi = mathext.InvRegIncBeta(float64(s.Hits+1), float64(s.N-s.Hits), 1-tail)
	}
	return lo, hi
}

// Pooled is the share of all runs together.
func Pooled(runs []Share) Share {
	var all Share
	for _, r := range runs {
		all = all.add(r)
	}
	return all
}

// mostDeals are listed one by one; where there are more, as many are drawn.
const mostDeals = 50_000

// PermutedMore is the one-sided p of a permutation test with runs as the units:
// the probability that a share of b, pooled, exceeds that of a by as much as it
// does, if runs are dealt to the two sides at random. It holds however the hits
// of one run depend on each other, which Fisher's test does not.
func PermutedMore(b, a []Share) float64 {
	all := append(slices.Clone(b), a...)
	total, seen := Pooled(all), Pooled(b)
	rise := func(side Share) float64 {
		return side.Of() - Share{total.Hits - side.Hits, total.N - side.N}.Of()
	}
	bound := rise(seen) - 1e-12
	if deals := choose(len(all), len(b)); deals <= mostDeals {
		n, hits := 0, 0
		deal(all, len(b), Share{}, func(side Share) {
			n++
			if rise(side) >= bound {
				hits++
			}
		})
		return float64(hits) / float64(n)
	}
	r, hits := rand.New(rand.NewPCG(1, 1)), 1 // the deal that was seen is one of them
	for range mostDeals {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if rise(Pooled(all[:len(b)])) >= bound {
			hits++
		}
	}
	return float64(hits) / (mostDeals + 1)
}

// deal calls f with the pooled share of every choice of k runs.
func deal(runs []Share, k int, side Share, f func(Share)) {
	switch {
	case k == 0:
		f(side)
	case k <= len(runs):
		deal(runs[1:], k-1, side.add(runs[0]), f)
		deal(runs[1:], k, side, f)
	}
}

// choose is n over k, as far as it is at most mostDeals.
func choose(n, k int) int {
	out := 1
	for i := 1; i <= k && out <= mostDeals; i++ {
		out = out * (n - k + i) / i
	}
	return out
}
