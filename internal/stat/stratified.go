package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// leastMass is that of an outcome which StratifiedMore leaves out, and so the least p that it gives.
const leastMass = 1e-18

// StratifiedMore is the one-sided p of the exact test of Cochran, Mantel and Haenszel: the probability that the new
// sides of all strata together have at least as many hits as they do, given all hits of each stratum, if hits are
// equally common on both of its sides. Of one stratum it is Fisher's.
func StratifiedMore(new, old []Share) float64 {
	sum, first, seen := []float64{1}, 0, 0 // chances of first, first+1, … hits
	for i := range new {
		seen += new[i].Hits
		chances, from := hypergeometric(new[i].Hits+old[i].Hits, new[i].N, old[i].N)
		sum, first = convolved(sum, chances), first+from
	}
	p := 0.0
	for i, chance := range sum {
		if first+i >= seen {
			p += chance
		}
	}
	return min(1, max(p, leastMass))
}

// hypergeometric are the chances of from, from+1, … hits among n, of so many among n and m.
func hypergeometric(hits, n, m int) (chances []float64, from int) {
	all := logChoose(n+m, hits)
	for x := max(0, hits-m); x <= min(n, hits); x++ {
		chance := math.Exp(logChoose(n, x) + logChoose(m, hits-x) - all)
		if chance < leastMass {
			if len(chances) > 0 {
				break
			}
			continue
		}
		if len(chances) == 0 {
			from = x
		}
		chances = append(chances, chance)
	}
	return chances, from
}

// convolved are the chances of the sums.
func convolved(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, x := range a {
		for k, y := range b {
			out[i+k] += x * y
		}
	}
	return out
}

// enoughDeals that are as extreme as what was seen tell its p well enough: it is no small one.
const enoughDeals = 500

// PermutedWithin is the one-sided p of a permutation test of units within strata: the probability that the mean share
// of the new units exceeds that of the old ones by as much as it does, summed over the strata, each in its own
// standard deviations, if the units of each are dealt to its two sides at random. It holds however the hits of one
// unit depend on each other. Deals are drawn, and no more than tell p (Besag and Clifford 1991).
func PermutedWithin(new, old [][]Share) float64 {
	type stratum struct {
		scores []float64
		n      int // dealt to the new side
	}
	var strata []stratum
	seen := 0.0
	for i := range new {
		n, m := len(new[i]), len(old[i])
		var xs []float64
		for _, s := range slices.Concat(new[i], old[i]) {
			xs = append(xs, s.Of())
		}
		if n == 0 || m == 0 || slices.Min(xs) == slices.Max(xs) {
			continue
		}
		mean := meanOf(xs)
		scale := SD(xs) * math.Sqrt(float64(n)*float64(m)/float64(n+m))
		for k := range xs {
			if xs[k] = (xs[k] - mean) / scale; k < n {
				seen += xs[k]
			}
		}
		strata = append(strata, stratum{xs, n})
	}
	if len(strata) == 0 {
		return 1
	}
	r, hits := rand.New(rand.NewPCG(1, 1)), 0
	for drawn := 1; drawn <= mostDeals; drawn++ {
		sum := 0.0
		for _, s := range strata {
			for k := range s.n {
				j := k + r.IntN(len(s.scores)-k)
				s.scores[k], s.scores[j] = s.scores[j], s.scores[k]
				sum += s.scores[k]
			}
		}
		if sum >= seen-1e-9 {
			if hits++; hits == enoughDeals {
				return float64(hits) / float64(drawn)
			}
		}
	}
	return float64(hits+1) / (mostDeals + 1) // the deal that was seen is one of them
}
