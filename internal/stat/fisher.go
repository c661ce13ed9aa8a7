package stat

import "math"

// FisherMore is the one-sided p of Fisher's exact test: the probability that at
// least a of n and at most b of m have a property, given a+b in all, if it is
// equally common on both sides.
func FisherMore(a, n, b, m int) float64 {
	hits, all := a+b, n+m
	sum := 0.0
	for x := a; x <= min(n, hits); x++ {
		sum += math.Exp(logChoose(n, x) + logChoose(m, hits-x) - logChoose(all, hits))
	}
	return min(1, sum)
}

// logChoose is the logarithm of n over k; -Inf where there is no way.
func logChoose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}
