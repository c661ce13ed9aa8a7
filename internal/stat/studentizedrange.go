package stat

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
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
	normal := normalRangeOf(k)
	upper := func(u float64) float64 {
		p := density(u)
		if p < 1e-17 { // most of the width
			return 0
		}
		return p * normal.upper(q*math.Exp(u))
	}
	lo := -width - 4/df
	below := mathext.GammaIncReg(df/2, df/2*math.Exp(2*lo)) // P(s < exp(lo)), where every range is wider than q·s
	return min(1, below+integral(upper, lo, width))
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

// A normalRange is normalRangeUpper of one number of values, to some 1e-14 (1e-11 for 400 values), for a hundredth of
// the time: a sum of Chebyshev polynomials for each half of a unit of w. The first is halved already.
type normalRange [28][12]float64

// normalRanges keeps what normalRangeOf computed, which takes some milliseconds.
var normalRanges sync.Map

// normalRangeOf is that of k values.
func normalRangeOf(k int) *normalRange {
	if known, ok := normalRanges.Load(k); ok {
		return known.(*normalRange)
	}
	r := &normalRange{}
	const terms = len(r[0])
	var cosines [4 * terms]float64 // of parts of a full turn
	for i := range cosines {
		cosines[i] = math.Cos(2 * math.Pi * float64(i) / float64(len(cosines)))
	}
	for piece := range r {
		for i := range terms {
			at := 2*i + 1
			f := normalRangeUpper((float64(piece)+(1+cosines[at])/2)/2, k) * 2 / float64(terms)
			for j := range terms {
				r[piece][j] += f * cosines[at*j%len(cosines)]
			}
		}
		r[piece][0] /= 2
	}
	normalRanges.Store(k, r)
	return r
}

// upper is P(range > w). Beyond the last piece it is less than what the sum of the quadrature is wrong by.
func (r *normalRange) upper(w float64) float64 {
	if !(w > 0) {
		return 1
	}
	if w >= float64(len(r))/2 {
		return 0
	}
	piece := int(2 * w)
	of := &r[piece]
	x := 4*w - float64(2*piece+1)
	var sum, last float64 // Clenshaw's recurrence
	for j := len(of) - 1; j > 0; j-- {
		sum, last = 2*x*sum-last+of[j], sum
	}
	return max(0, x*sum-last+of[0])
}

// A normalNode is one of the quadrature of the standard normal distribution: its weight
// times the density there, and P(Z > z).
type normalNode struct{ z, density, upper float64 }

// normalNodes reach to 9, beyond which lies 2e-19 of the normal distribution. They are equally far apart, which for
// such a bell is the best: of 400 values the integral is right to 1e-11, by Gauss's nodes, of as many, to 3e-7.
var normalNodes = sync.OnceValue(func() (nodes [128]normalNode) {
	const step = 18. / float64(len(nodes))
	for i := range nodes {
		z := step*(float64(i)+0.5) - 9
		nodes[i] = normalNode{z, step * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi), normalUpper(z)}
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

// integral is that of a bell from one end to the other, by the midpoint rule: of what is smooth and falls off to both
// sides it has more right digits than Gauss's, of as many points.
func integral(f func(float64) float64, lo, hi float64) float64 {
	const points = 128
	step, sum := (hi-lo)/points, 0.0
	for i := range points {
		sum += f(lo + step*(float64(i)+0.5))
	}
	return step * sum
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
// theirs of p over their number no more often than p: q lies between. Where the integral is too coarse to say so, as
// for thousands of treatments, it is the latter, which is never too narrow.
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
