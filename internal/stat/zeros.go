package stat

import "math"

// MeansBeyond returns two p values: of the answer that the mean of b is above bound times that of a, and that it is
// below. It is for values that are 0 now and then, and have no logarithm then: b is held against bound·a by Welch's t,
// or by the t of the pairs. All of b, and all of a, may be off by as much as is hidden: see Comparison.Hiding.
//
// Where all of a are 0, a t test takes the mean of a for known, and it may be of something that happens in one trial of
// ten. So that must be excluded, too: that what makes a value more than 0 happens at most bound times as often in b.
func MeansBeyond(b, a []float64, bound float64, paired bool, hidden [2]float64) (above, below float64, err error) {
	scaled := make([]float64, len(a))
	for i, x := range a {
		scaled[i] = bound * x
	}
	test := DifferenceWelch
	if paired {
		test = DifferencePaired
	}
	c, err := test(b, scaled, 0.95)
	if err != nil {
		return 1, 1, err
	}
	above, below = c.Hiding(b, scaled, hidden[0], bound*hidden[1]).Beyond(0)
	if OverZero(a) == 0 {
		above = max(above, Oftener(OverZero(b), len(b), len(a), bound))
	}
	if OverZero(b) == 0 {
		below = max(below, Oftener(OverZero(a), len(a), len(b), 1/bound))
	}
	return above, below, nil
}

// OverZero is how many values are above 0.
func OverZero(xs []float64) (n int) {
	for _, x := range xs {
		if x > 0 {
			n++
		}
	}
	return n
}

// Oftener is the two-sided p of an exact test, unconditional as that of Barnard (1945), that something seen in none of
// m trials, and in k of n others, happens more than so many times as often in those: the largest probability of that
// over all q, the share of trials in which it does not happen once; where it happens t times as often that is q^t.
func Oftener(k, n, m int, times float64) float64 {
	const steps = 500
	most := 0.0
	for i := 1; i < steps; i++ {
		q := float64(i) / steps
		most = max(most, math.Pow(q, float64(m))*AtLeast(k, n, 1-math.Pow(q, times)))
	}
	return min(1, 2*most)
}
