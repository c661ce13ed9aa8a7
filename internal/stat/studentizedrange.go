package stat

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"
)

// rangeUpper is P(Q > q) of the studentized range of k means with df degrees
// of freedom (Copenhaver & Holland 1988; R's ptukey): the range of k standard
// normal values over an independent standard deviation.
func rangeUpper(q float64, k int, df float64) float64 {
	if !(q > 0) || k < 2 {
		return 1
	}
	if math.IsInf(q, 1) {
		return 0
	}
	if k == 2 { // the range of two is √2 times the |t| of their difference
		return tTwoSided(q/math.Sqrt2, df)
	}
	// The standard deviation s has the density of sqrt(chi²(df)/df); with
	// s = exp(u) the integrand is smooth and falls off fast on both sides.
	lg, _ := math.Lgamma(df / 2)
	// front is the logarithm of 2·(df/2)^(df/2)/Γ(df/2). u spreads by some 1/√(2·df),
	// further below than above.
	front := math.Ln2 + df/2*math.Log(df/2) - lg
	width := 10 / math.Sqrt(2*df)
	density := func(u float64) float64 {
		return math.Exp(front + df*u - df/2*math.Exp(2*u))
	}
	upper := func(u float64) float64 {
		p := density(u)
		if p < 1e-17 { // most of the width
			return 0
		}
		return p * normalRangeUpper(q*math.Exp(u), k)
	}
	return min(1, gauss(upper, -width-4/df, width))
}

// normalRangeUpper is P(range of k standard normal values > w).
func normalRangeUpper(w float64, k int) float64 {
	if w <= 0 {
		return 1
	}
	// Given the least value z, all others lie within (z, z+w).
	inside := 0.0
	for _, n := range normalNodes() {
		if n.density > 1e-17 {
			inside += n.density * power(n.upper-normalUpper(n.z+w), k-1)
		}
	}
	return max(0, 1-float64(k)*inside)
}

// A normalNode is one of the quadrature of the standard normal distribution: its weight
// times the density there, and P(Z > z).
type normalNode struct{ z, density, upper float64 }

// normalNodes reach to 9, beyond which lies 2e-19 of the normal distribution.
var normalNodes = sync.OnceValue(func() (nodes [128]normalNode) {
	n := legendre()
	for i, x := range n.x {
		z := 9 * x
		nodes[i] = normalNode{z, 9 * n.weight[i] * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi), normalUpper(z)}
	}
	return nodes
})

// power is x to the n, for n ≥ 0.
func power(x float64, n int) float64 {
	y := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			y *= x
		}
		x *= x
	}
	return y
}

// legendre are the nodes and weights of Gauss-Legendre quadrature on (-1, 1).
var legendre = sync.OnceValue(func() (n struct{ x, weight [128]float64 }) {
	quad.Legendre{}.FixedLocations(n.x[:], n.weight[:], -1, 1)
	return n
})

// gauss integrates a smooth function from lo to hi.
func gauss(f func(float64) float64, lo, hi float64) float64 {
	n := legendre()
	middle, half, sum := (lo+hi)/2, (hi-lo)/2, 0.0
	for i, x := range n.x {
		sum += n.weight[i] * f(middle+half*x)
	}
	return half * sum
}

type rangeKey struct {
	confidence, df float64
	k              int
}

// rangeLimits keeps what rangeCritical found: it takes some milliseconds.
var rangeLimits sync.Map

// rangeCritical is the q with P(Q > q) = 1-confidence.
func rangeCritical(confidence float64, k int, df float64) float64 {
	if k == 2 {
		return math.Sqrt2 * tCritical(confidence, df)
	}
	key := rangeKey{confidence, df, k}
	if q, ok := rangeLimits.Load(key); ok {
		return q.(float64)
	}
	q := rangeRoot(1-confidence, k, df)
	rangeLimits.Store(key, q)
	return q
}

// rangeRoot is the q with P(Q > q) = p, by false position (Illinois) on the logarithm of P, which is nearly straight:
// each step is a double integral. One pair alone passes its own limit as often as p, and all together, by Bonferroni,
// theirs of p over their number no more often than p: q lies between. Where the integral is too coarse to say so, far
// below the levels that are asked for, it is the latter, which is never too narrow.
func rangeRoot(p float64, k int, df float64) float64 {
	above := func(q float64) float64 { return math.Log(rangeUpper(q, k, df) / p) }
	lo := math.Sqrt2 * tCritical(1-p, df)
	hi := math.Sqrt2 * tCritical(1-p/float64(k*(k-1)/2), df)
	atLo, atHi := above(lo), above(hi)
	if !(atLo > 0) || !(atHi < 0) { // or of two, where both are the same
		return hi
	}
	for kept := 0; hi-lo > 1e-9*hi; {
		q := lo + (hi-lo)*atLo/(atLo-atHi)
		if !(q > lo && q < hi) {
			q = (lo + hi) / 2
		}
		switch at := above(q); {
		case at > 0:
			if lo, atLo = q, at; kept > 0 {
				atHi /= 2 // it stayed: or it would for ever
			}
			kept = 1
		default:
			if hi, atHi = q, at; kept < 0 {
				atLo /= 2
			}
			kept = -1
		}
	}
	return (lo + hi) / 2
}
