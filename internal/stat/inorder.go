package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrFollow warns that paired differences, or the values of one sample, follow each other in the order in which they
// were measured.
var ErrFollow = errors.New("blocks follow each other")

// errValuesFollow is ErrFollow of one sample, whose values may be trials or runs.
var errValuesFollow error = valuesFollow{}

type valuesFollow struct{}

func (valuesFollow) Error() string     { return "values follow each other" }
func (valuesFollow) Is(err error) bool { return err == ErrFollow }

const (
	fewestInOrder = 8                // with fewer blocks no test can say that they follow each other
	fewestOfRuns  = 16               // of fewer, chance often leaves hardly a degree of freedom
	followsFrom   = 1.28155156554460 // quantile of 90 % of the normal distribution
	eachFrom      = 1.64485362695147 // of 95 %, where two samples are looked at: one in ten pairs seems to, by chance
)

// inOrderFrom widens a paired comparison whose differences d, in the order of time, follow each
// other: where their correlation from one to the next is above that of independent ones
// (one-sided, 10 %), they are taken for an autoregression of the first order.
//
// Equations: r = Σ e(i) e(i+1) / Σ e(i)², e the deviations from the mean; of n independent
// differences it has the mean −1/n and the variance (n−2)² / (n²(n−1)) (Moran 1948). With
// ρ = (n r + 1)/(n − 4), which takes off the bias of an estimated mean (Kendall 1954), the mean
// of n such differences varies as that of n/f independent ones, f = (1+ρ)/(1−ρ): its standard
// error is se·√(f (n−1)/(n−f)), with n/f − 1 degrees of freedom, three at least. Their variance is
// known better than from n/f of them, as from n(1−ρ²)/(1+ρ²) (Bayley & Hammersley 1946), but ρ is
// not. With one or two, no effect would be large enough, and chance leaves so few to one in ten of
// 8 independent blocks. Of fewer differences than fewest nothing is asked.
func (c Comparison) inOrderFrom(fewest int, d []float64) Comparison {
	if len(d) < fewest {
		return c
	}
	f, rho := following(d, followsFrom)
	if !(f > 1) || !(c.se > 0) {
		return c
	}
	n := float64(len(d))
	wider := math.Sqrt(raised(n, f))
	c = c.of(c.center, c.se*wider, freedom(n, f), c.Confidence)
	c.wider = wider
	c.Warnings = append(c.Warnings, fmt.Errorf("%w: the ratio of each is like that of the one before (correlation %.2g), "+
		"as where one side drifts by itself; %d of them count as %.2g, and the interval is wider", ErrFollow, rho, len(d),
		n/f))
	return c
}

// following says as how many independent ones values count, in the order of time, of which each says something of
// the next: n/f. 1: nothing shows that they follow each other. from is how many standard errors show it.
func following(d []float64, from float64) (f, rho float64) {
	n := float64(len(d))
	if len(d) < fewestInOrder {
		return 1, 0
	}
	r := neighbours(d)
	if !((r+1/n)*n*math.Sqrt(n-1)/(n-2) > from) {
		return 1, 0
	}
	rho = min(max((n*r+1)/(n-4), 0), 0.99)
	f = min((1+rho)/(1-rho), n/2)
	if !(raised(n, f) > 1) {
		return 1, 0
	}
	return f, rho
}

// raised is by what the variance of a mean of n values is to be multiplied that count as n/f.
func raised(n, f float64) float64 { return f * (n - 1) / (n - f) }

// freedom is how many degrees of freedom the variance of n values has that count as n/f.
func freedom(n, f float64) float64 { return max(n/f-1, 3) }

// RatioOfRuns is RatioWelch of two samples, each in the order in which it was measured. Where the trials of one follow
// each other, as on a machine that drifts, so many tell less, and the interval is wider: from 16 trials on. Of fewer,
// from 8 on, a warning says so.
func RatioOfRuns(a, b []float64, confidence float64) (Comparison, error) {
	c, err := RatioWelch(a, b, confidence)
	if err != nil || !(c.se > 0) {
		return c, err
	}
	var variance, squares float64
	for i, xs := range [][]float64{a, b} {
		x, err := logs(xs)
		if err != nil {
			return c, err
		}
		n := float64(len(x))
		f, rho := following(x, eachFrom)
		if f > 1 && len(x) < fewestOfRuns {
			c.Warnings = append(c.Warnings, OfSide{i, fmt.Errorf("%w, it seems: each is like the one before, as on a "+
				"machine that drifts; %d are too few to say how much, and the interval may be too narrow; %d would tell",
				errValuesFollow, len(x), fewestOfRuns)})
			f = 1
		}
		_, v := moments(x)
		v, df := v/n, n-1
		if f > 1 {
			v, df = v*raised(n, f), freedom(n, f)
			c.Warnings = append(c.Warnings, OfSide{i, fmt.Errorf("%w: each is like the one before (correlation %.2g), "+
				"as on a machine that drifts; %d of them count as %.2g, and the interval is wider", errValuesFollow, rho, len(x),
				n/f)})
		}
		variance, squares = variance+v, squares+v*v/df
	}
	wider := math.Sqrt(variance) / c.se
	if !(wider > 1+1e-9) {
		return c, nil
	}
	c = c.of(c.center, math.Sqrt(variance), variance*variance/squares, c.Confidence)
	c.wider = wider
	return c, nil
}

// DifferenceOfRun is the mean of one sample, in the order in which it was measured, less a bound that is known. Where
// the trials follow each other, as on a machine that drifts, so many tell less, and the interval is wider: from 16
// trials on.
func DifferenceOfRun(xs []float64, bound, confidence float64) (Comparison, error) {
	d := make([]float64, len(xs))
	for i, x := range xs {
		d[i] = x - bound
	}
	c, err := DifferencePaired(xs, slices.Repeat([]float64{bound}, len(xs)), confidence)
	if err != nil {
		return c, err
	}
	return c.inOrderFrom(fewestOfRuns, d), nil
}

// AsWide is c with an interval that is as much wider as that of o, which is of the same values, where those follow each
// other.
func (c Comparison) AsWide(o Comparison) Comparison {
	if !(o.wider > 1) || !(c.se > 0) {
		return c
	}
	c = c.of(c.center, c.se*o.wider, min(c.DF, o.DF), c.Confidence)
	c.wider = o.wider
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
