package stat

import (
	"errors"
	"fmt"
	"math"
)

// ErrFollow warns that paired differences follow each other in the order in which they were measured.
var ErrFollow = errors.New("blocks follow each other")

const (
	fewestInOrder = 8                // with fewer blocks no test can say that they follow each other
	followsFrom   = 1.28155156554460 // quantile of 90 % of the normal distribution
)

// inOrder widens a paired comparison whose differences d, in the order of time, follow each
// other: where their correlation from one to the next is above that of independent ones
// (one-sided, 10 %), they are taken for an autoregression of the first order.
//
// Equations: r = Σ e(i) e(i+1) / Σ e(i)², e the deviations from the mean; of n independent
// differences it has the mean −1/n and the variance (n−2)² / (n²(n−1)) (Moran 1948). With
// ρ = (n r + 1)/(n − 4), which takes off the bias of an estimated mean (Kendall 1954), the mean
// of n such differences varies as that of n/f independent ones, f = (1+ρ)/(1−ρ): its standard
// error is se·√(f (n−1)/(n−f)), with n/f − 1 degrees of freedom.
func (c Comparison) inOrder(d []float64) Comparison {
	n := float64(len(d))
	if len(d) < fewestInOrder || !(c.se > 0) {
		return c
	}
	r := neighbours(d)
	if !((r+1/n)*n*math.Sqrt(n-1)/(n-2) > followsFrom) {
		return c
	}
	rho := min(max((n*r+1)/(n-4), 0), 0.99)
	f := min((1+rho)/(1-rho), n/2)
	wider := math.Sqrt(f * (n - 1) / (n - f))
	if !(wider > 1) {
		return c
	}
	c = c.of(c.center, c.se*wider, max(n/f-1, 1), c.Confidence)
	c.wider = wider
	c.Warnings = append(c.Warnings, fmt.Errorf("%w: the ratio of one says something of the next (correlation %.2g), "+
		"as where one side drifts by itself; %d of them count as %.2g, and the interval is wider", ErrFollow, rho, len(d),
		n/f))
	return c
}

// Follows says whether the interval is wider since blocks follow each other.
func (c Comparison) Follows() bool { return c.wider > 1 }

// neighbours is the correlation of each value with the next.
func neighbours(d []float64) float64 {
	m, _ := moments(d)
	var with, all float64
	for i, x := range d {
		all += (x - m) * (x - m)
		if i > 0 {
			with += (x - m) * (d[i-1] - m)
		}
	}
	return with / all
}
