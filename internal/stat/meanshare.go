package stat

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/plural"
)

// MeanShare is PositiveMean of shares of requests, or of how often something happened to a request, of which most is
// the largest that one can be (1; +Inf: there is none). of are the requests behind each, if they are known, else nil.
//
// Requests of a trial may fail together, in a few trials only, of which a t interval knows nothing that has seen none,
// or one. So it is made wider, where that is wider:
//
//   - to the limit of Gaffke (2005) beside one more trial with the largest share of these;
//   - to the same beside one more trial in which all failed, where some trials had no failure, and too few requests
//     failed to tell whether they fail together. Where none did, this is the rule of three, over trials;
//   - to Clopper and Pearson's, where some trials had no failure, and as many as chance gives.
func MeanShare(xs []float64, of []Share, most, confidence float64) (Summary, error) {
	s, err := PositiveMean(xs, confidence)
	if err != nil || !s.HasInterval() {
		return s, err
	}
	if allEqual(xs) {
		return s.ofEqualShares(xs[0], of, most), nil
	}
	hi, why := upperShare(xs, of, most, s)
	s.Hi = min(hi, most)
	if most == 1 { // that so many failed is that the others did not
		others, none := make([]float64, len(xs)), make([]Share, len(of))
		for i, x := range xs {
			others[i] = 1 - x
		}
		for i, x := range of {
			none[i] = Share{x.N - x.Hits, x.N}
		}
		hi, below := upperShare(others, none, most, Summary{Hi: 1 - s.Lo, Confidence: confidence})
		if s.Lo = max(0, 1-hi); why == "" {
			why = below
		}
	}
	s.Method += why
	return s, nil
}

// ofEqualShares is the interval where all trials have the same share.
func (s Summary) ofEqualShares(x float64, of []Share, most float64) Summary {
	tail := math.Pow((1-s.Confidence)/2, 1/float64(s.N)) // a trial that differs has at most that probability not to show
	together := fmt.Errorf("%w: all %s are %v; the interval allows for requests that fail together in a few trials, "+
		"which more trials tell, and no more requests", ErrNoSpread, plural.Count(s.N, "value"), x)
	switch {
	case x == 0 && most == 1:
		s.Lo, s.Hi = 0, 1-tail
	case x == 1 && most == 1:
		s.Lo, s.Hi = tail, 1
	case x > 0 && len(of) > 0:
		s.Lo, s.Hi = Pooled(of).Interval(s.Confidence)
		s.Method = "mean of trial means, exact interval over requests (Clopper-Pearson)"
		s.Warnings = []error{fmt.Errorf("%w: all %s are %v; the interval is that of requests that fail independently of "+
			"each other", ErrNoSpread, plural.Count(s.N, "value"), x)}
		return s
	default:
		s.Lo, s.Hi = math.NaN(), math.NaN()
		s.Method = "mean of trial means, no interval"
		s.Warnings = []error{fmt.Errorf("%w: all %s are %v, which does not tell how often it happens in other trials, so "+
			"there is no interval", ErrNoSpread, plural.Count(s.N, "value"), x)}
		return s
	}
	s.Method = "mean of trial means, exact interval over trials (rule of three)"
	s.Warnings = []error{together}
	return s
}

// upperShare is the upper limit, at least that of s, and what made it wider, in words for the method.
func upperShare(xs []float64, of []Share, most float64, s Summary) (hi float64, why string) {
	worst, wider := slices.Max(xs), ", wider as beside a trial with the largest share of these (Gaffke)"
	if all := Pooled(of); slices.Min(xs) == 0 && len(of) > 0 {
		switch {
		case oneTrial(all.Hits, len(xs)) >= chanceAt:
			worst, wider = most, ", wider as beside a trial in which all failed (Gaffke)"
		case spreadByChance(OverZero(xs), len(xs), all.Hits) >= chanceAt:
			if _, hi := all.Interval(s.Confidence); hi > s.Hi {
				return hi, ", wider as over requests (Clopper-Pearson)"
			}
			return s.Hi, ""
		}
	}
	if hi := gaffke(xs, worst, (1-s.Confidence)/2, s.Hi); hi > s.Hi {
		return hi, wider
	}
	return s.Hi, ""
}

// chanceAt is the level from which on chance is said to explain that requests failed in few trials.
const chanceAt = 0.05

// oneTrial is the probability that hits, each in any of so many trials, are all in one.
func oneTrial(hits, trials int) float64 { return math.Pow(float64(trials), float64(1-max(1, hits))) }

// spreadByChance is the probability that hits, each in any of so many trials, are in no more of them than were seen.
func spreadByChance(seen, k, hits int) float64 {
	at := make([]float64, k+1) // of so many trials that have one
	at[0] = 1
	for range hits {
		for m := k; m > 0; m-- {
			at[m] = at[m]*float64(m)/float64(k) + at[m-1]*float64(k-m+1)/float64(k)
		}
		at[0] = 0
		if at[k] > 1-1e-12 {
			break
		}
	}
	sum := 0.0
	for m := range seen + 1 {
		sum += at[m]
	}
	return sum
}

// gaffke is the upper limit of the mean of values of which none exceeds most, or least, if that is greater. With the
// probability tail it is exceeded by the mean of the values and most, weighted as gaps between uniform order statistics
// are (Gaffke 2005; Learned-Miller & Thomas 2019). For values of 0 and most it is Clopper and Pearson's. It holds for
// any distribution, as far as anybody knows.
func gaffke(xs []float64, most, tail, least float64) float64 {
	above := func(t float64) float64 { // the probability that the mean is above t, less tail
		gaps := []float64{most - t}
		for _, x := range xs {
			gaps = append(gaps, x-t)
		}
		return aboveZero(gaps) - tail
	}
	lo, hi := least, most
	if !(lo < hi) || above(lo) <= 0 {
		return least
	}
	for hi-lo > 1e-9*most {
		if t := (lo + hi) / 2; above(t) > 0 {
			lo = t
		} else {
			hi = t
		}
	}
	return hi
}

// aboveZero is the probability that a sum of independent exponential variables, each times its factor, is above 0, by
// the inversion of Gil-Pelaez (1951). On the scale of logarithms the integrand falls off at both ends, and the
// trapezoidal rule is exact to many digits.
func aboveZero(factors []float64) float64 {
	const step, least, enough = 0.1, -25, 1e40
	scale := 0.0
	for _, a := range factors {
		scale = max(scale, math.Abs(a))
	}
	sum := 0.0
	for v := float64(least); ; v += step {
		u, product := math.Exp(v)/scale, complex(1, 0)
		for _, a := range factors {
			if product *= complex(1, -a*u); math.Abs(real(product))+math.Abs(imag(product)) > enough {
				return 0.5 + sum*step/math.Pi
			}
		}
		sum += imag(1 / product)
	}
}
