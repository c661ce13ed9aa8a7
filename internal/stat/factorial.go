package stat

import (
	"fmt"
	"math"
	"strings"
)

// A SignEffect is one line of a 2^k·r analysis: half the change of the mean
// response when the signs' product goes from -1 to +1. Term "" is the grand
// mean. Effect, Lo and Hi are in the response's unit; Variation is the share of the
// total variation, NaN for the mean.
type SignEffect struct {
	Term             string
	Effect, Lo, Hi   float64
	SS, Variation, P float64
}

// A TwoLevel is the analysis of k factors of two levels, r replications each
// (Jain 1991, chapters 17 and 18). The first of a factor's Levels is -1, the
// second +1. With r = 1 there is no error and no interval.
type TwoLevel struct {
	Levels    [][2]string // of each factor
	R         int
	Effects   []SignEffect
	ErrorDF   int
	ErrorSS   float64
	ErrorPart float64 // the error's share of the total variation
	Warnings  []error
}

// AnalyzeTwoLevel computes the sign table. Every combination needs equally
// many rows; otherwise use AnalyzeVariance. Blocks are ignored.
func AnalyzeTwoLevel(t Table, confidence float64) (TwoLevel, error) {
	if err := t.check(); err != nil {
		return TwoLevel{}, err
	}
	if !(confidence > 0 && confidence < 1) {
		return TwoLevel{}, fmt.Errorf("confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)
	}
	k := len(t.Factors)
	if k > 16 {
		return TwoLevel{}, fmt.Errorf("%w: %d factors make %d combinations; use at most 16 factors", ErrTooFew, k,
			uint64(1)<<min(k, 63))
	}
	t = t.replicates()
	out := TwoLevel{}
	for f, name := range t.Factors {
		l := t.levels(f)
		if len(l) != 2 {
			return TwoLevel{}, fmt.Errorf("factor %q has %d levels, but a 2^k design has 2 of each factor; use the analysis "+
				"of variance",
				name, len(l))
		}
		out.Levels = append(out.Levels, [2]string(l))
	}
	groups := t.treatments() // in standard order, the last factor fastest
	out.R = len(groups[0].ys)
	for _, g := range groups {
		if len(groups) != 1<<k || len(g.ys) != out.R {
			return TwoLevel{},
				fmt.Errorf("%w: a 2^%d design needs all %d combinations with equally many replications; use the analysis "+
					"of variance", ErrTooFew, k, 1<<k)
		}
	}
	means := make([]float64, len(groups))
	for i, g := range groups {
		means[i] = meanOf(g.ys)
		for _, y := range g.ys {
			out.ErrorSS += (y - means[i]) * (y - means[i])
		}
	}
	out.ErrorDF = len(groups) * (out.R - 1)
	out.fill(t.Factors, means, confidence)
	return out, nil
}

func (o *TwoLevel) fill(factors []string, means []float64, confidence float64) {
	n := float64(len(means) * o.R)
	half, se := math.NaN(), math.NaN()
	switch {
	case o.ErrorDF == 0:
		o.Warnings = append(o.Warnings,
			fmt.Errorf("%w: one replication gives no estimate of the error, so effects have no intervals; run at least 2",
				ErrTooFew))
	case o.ErrorSS == 0:
		o.Warnings = append(o.Warnings,
			fmt.Errorf("%w: replications do not differ; effects are known to the measurement's resolution", ErrNoSpread))
	default:
		se = math.Sqrt(o.ErrorSS / float64(o.ErrorDF) / n)
		half = tCritical(confidence, float64(o.ErrorDF)) * se
	}
	total := o.ErrorSS
	for size := range len(factors) + 1 {
		for _, set := range subsets(len(factors), size) {
			var words []string
			mask := 0
			for _, f := range set {
				words = append(words, factors[f])
				mask |= 1 << (len(factors) - 1 - f)
			}
			q := signed(means, mask)
			e := SignEffect{Term: strings.Join(words, ":"), Effect: q, Lo: q - half, Hi: q + half, SS: n * q * q,
				Variation: math.NaN(), P: math.NaN()}
			if se > 0 {
				e.P = tTwoSided(q/se, float64(o.ErrorDF))
			}
			if size > 0 {
				total += e.SS
			}
			o.Effects = append(o.Effects, e)
		}
	}
	for i := range o.Effects[1:] {
		o.Effects[i+1].Variation = o.Effects[i+1].SS / total
	}
	o.ErrorPart = o.ErrorSS / total
}

// signed is the mean of the means under the signs of one column: minus for
// each factor of the mask at its first level.
func signed(means []float64, mask int) float64 {
	var sum float64
	for i, m := range means {
		sign := 1.0
		for at := mask &^ i; at > 0; at &= at - 1 {
			sign = -sign
		}
		sum += sign * m
	}
	return sum / float64(len(means))
}
