package stat

import (
	"fmt"
	"math"
)

// SpreadRatio is the ratio of the standard deviations of a and b, each of them
// sets of trials of several strata (as message sizes), averaged over the strata
// on the log scale: Miller's jackknife (1968) of log variances, Welch. Unlike
// the F ratio it does not take trials for normal. Each set needs 4 values or
// more, none of which may hold all the spread.
func SpreadRatio(a, b [][]float64, confidence float64) (Comparison, error) {
	if len(a) == 0 || len(a) != len(b) {
		return Comparison{}, fmt.Errorf("%w: %d sets on one side and %d on the other; give one set per stratum and side",
			ErrNoData,
			len(a), len(b))
	}
	c := Comparison{Method: "ratio of standard deviations, jackknife of log variances (Miller 1968)", log: true}
	var center, variance, freedom float64
	for i := range a {
		for side, xs := range [][]float64{a[i], b[i]} {
			if err := usable(xs, confidence); err != nil {
				return Comparison{}, err
			}
			m, v, err := logSpread(xs)
			if err != nil {
				return Comparison{}, err
			}
			if side == 1 {
				m = -m
			}
			center += m
			variance += v
			freedom += v * v / float64(len(xs)-1)
			c.N[side] += len(xs)
		}
	}
	k := float64(len(a))
	return c.of(center/k, math.Sqrt(variance)/k, variance*variance/freedom, confidence), nil
}

// logSpread is the jackknife estimate of log sd, and that estimate's variance.
func logSpread(xs []float64) (estimate, variance float64, err error) {
	n := float64(len(xs))
	if len(xs) < 4 {
		return 0, 0, fmt.Errorf("%w: %d trials are too few to show how trials vary; run at least 4, preferably 10",
			ErrTooFew, len(xs))
	}
	_, all := moments(xs)
	pseudo := make([]float64, len(xs))
	rest := make([]float64, len(xs)-1)
	for i := range xs {
		copy(rest, xs[:i])
		copy(rest[i:], xs[i+1:])
		_, v := moments(rest)
		if !(v > 0) || !(all > 0) {
			return 0, 0, fmt.Errorf("%w: all trials but one are equal, so their spread cannot be compared", ErrNoSpread)
		}
		pseudo[i] = (n*math.Log(all) - (n-1)*math.Log(v)) / 2
	}
	m, v := moments(pseudo)
	return m, v / n, nil
}
