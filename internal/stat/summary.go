package stat

import (
	"fmt"
	"math"
	"sort"

	"edgegauge.example/edgegauge/internal/plural"
)

// Mean is the mean of one mean a trial, with the t interval.
func Mean(xs []float64, confidence float64) (Summary, error) {
	if err := usable(xs, confidence); err != nil {
		return Summary{}, err
	}
	m, v := moments(xs)
	if !isFinite(m) || len(xs) > 1 && !isFinite(v) {
		return Summary{}, fmt.Errorf("%w: the values are too large to average; use a larger unit", ErrNotFinite)
	}
	s := blank(xs, confidence, "mean of trial means, t interval")
	s.Center = m
	if len(xs) == 1 {
		s.Warnings = append(s.Warnings,
			fmt.Errorf("%w: one trial shows no spread between trials, so there is no interval; run at least 2, preferably 10",
				ErrTooFew))
		return s, nil
	}
	if allEqual(xs) {
		return s.flat(xs[0]), nil
	}
	if v < smallest {
		return Summary{}, fmt.Errorf("%w: the values are too small for their spread to be told; use a smaller unit",
			ErrTooSmall)
	}
	half := tCritical(confidence, float64(len(xs)-1)) * math.Sqrt(v/float64(len(xs)))
	s.Lo, s.Hi = m-half, m+half
	return s, nil
}

// Median is the median of one median a trial, with the exact interval between
// two order statistics (binomial; free of any distribution). It covers at
// least the asked confidence; Method says how much. With fewer than 6 values
// there is no 95 % interval, and a warning says so.
func Median(xs []float64, confidence float64) (Summary, error) {
	s, err := quantile(xs, 0.5, confidence)
	if err != nil {
		return s, err
	}
	s.Method = "median of trial medians, " + s.Method
	return s, nil
}

// Quantile estimates the q-quantile (0 < q < 1; Hyndman & Fan 1996, type 7)
// with the interval between two order statistics. It refuses a quantile beyond
// which less than one value is to be expected, as the p99 of 50 values.
func Quantile(xs []float64, q, confidence float64) (Summary, error) {
	if !(q > 0 && q < 1) {
		return Summary{}, fmt.Errorf("quantile %v is not between 0 and 1; write 0.99 for the p99", q)
	}
	s, err := quantile(xs, q, confidence)
	if err != nil {
		return s, err
	}
	s.Method = fmt.Sprintf("p%s (type 7), %s", percent(q), s.Method)
	return s, nil
}

// MedianNeeds is how many values have an interval of their median.
func MedianNeeds(confidence float64) int { return quantileNeeds(0.5, confidence) }

func quantile(xs []float64, q, confidence float64) (Summary, error) {
	if err := usable(xs, confidence); err != nil {
		return Summary{}, err
	}
	if !enough(len(xs), q) {
		need := int(math.Ceil(1/min(q, 1-q) - 1e-9))
		return Summary{},
			fmt.Errorf("%w: a p%s needs at least %d values, but there are %d; measure more, or ask for a quantile closer to "+
				"the median",
				ErrTooFew, percent(q), need, len(xs))
	}
	ys := append([]float64(nil), xs...)
	s := blank(xs, confidence, "no interval")
	s.Center = selectQuantile(ys, q)
	lo, hi, covers := orderRanks(len(xs), q, confidence)
	if lo < 1 || hi > len(xs) {
		s.Warnings = append(s.Warnings, fmt.Errorf("%w: %s %s too few for a %s %% interval of the p%s; %d suffice",
			ErrTooFew, plural.Count(len(xs), "value"), plural.Verb(len(xs), "is", "are"), percent(confidence), percent(q),
			quantileNeeds(q, confidence)))
		return s, nil
	}
	s.Method = fmt.Sprintf("order statistics %d and %d of %d (exact, %.1f %%)", lo, hi, len(xs), 100*covers)
	if len(xs) > 1 && allEqual(xs) {
		return s.flat(xs[0]), nil
	}
	s.Lo, s.Hi = selectRank(ys, lo-1), selectRank(ys, hi-1)
	if s.Lo == s.Hi && len(xs) > 1 {
		s.Warnings = append(s.Warnings, fmt.Errorf("%w: so many of %d values are %v that the interval has no width; it "+
			"shows the resolution of the measurement, not certainty", ErrTies, len(xs), s.Lo))
	}
	return s, nil
}

// enough reports whether n values say anything of the q-quantile: at least one
// is expected on its far side.
func enough(n int, q float64) bool {
	return q == 0.5 && n > 0 || float64(n)*min(q, 1-q) >= 1-1e-9
}

// orderRanks returns the ranks (from 1) between whose values the q-quantile
// lies with at least the given confidence, at most half the rest on each side.
// lo is 0 or hi is n+1 where no such value exists.
func orderRanks(n int, q, confidence float64) (lo, hi int, covers float64) {
	tail := (1 - confidence) / 2 * (1 + 1e-12) // rounding must not cost a rank
	lo = sort.Search(n, func(k int) bool { return binomialLower(k, n, q) > tail })
	hi = 1 + sort.Search(n, func(k int) bool { return binomialUpper(k+1, n, q) <= tail })
	return lo, hi, 1 - binomialLower(lo-1, n, q) - binomialUpper(hi, n, q)
}

// quantileNeeds is the smallest n with an order-statistic interval.
func quantileNeeds(q, confidence float64) int {
	far := max(q, 1-q) // all n on one side with probability far^n
	n := math.Log((1-confidence)/2) / math.Log(far)
	return int(math.Ceil(n - 1e-9))
}

func blank(xs []float64, confidence float64, method string) Summary {
	return Summary{N: len(xs), Lo: math.NaN(), Hi: math.NaN(), Confidence: confidence, Method: method}
}

// flat gives the interval of width zero, and the warning that belongs to it.
func (s Summary) flat(x float64) Summary {
	s.Center, s.Lo, s.Hi = x, x, x
	s.Warnings = append(s.Warnings, noSpread(s.N, x))
	return s
}

func noSpread(n int, x float64) error {
	return fmt.Errorf("%w: all %d values are %v; the zero-width interval shows the resolution of the measurement, "+
		"not certainty", ErrNoSpread, n, x)
}

func percent(share float64) string { return fmt.Sprintf("%.6g", 100*share) }

// SD is the standard deviation (n-1); NaN for fewer than two values.
func SD(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	if allEqual(xs) {
		return 0
	}
	_, v := moments(xs)
	return math.Sqrt(v)
}

// Replications is the number of trials whose t interval is expected to have at
// most the given half-width, from the standard deviation sd of a pilot, both
// in the response's unit.
func Replications(sd, halfWidth, confidence float64) (int, error) {
	if !(confidence > 0 && confidence < 1) {
		return 0, fmt.Errorf("confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)
	}
	if !(sd >= 0) || !(halfWidth > 0) || math.IsInf(sd, 0) {
		return 0,
			fmt.Errorf("%w: half-width %v and standard deviation %v do not give a number of trials; take both from a pilot of "+
				"at "+
				"least 2 trials", ErrNotFinite, halfWidth, sd)
	}
	wide := func(n int) bool {
		return tCritical(confidence, float64(n-1))*sd/math.Sqrt(float64(n)) > halfWidth
	}
	const most = 1 << 30
	n := 2 + sort.Search(most, func(k int) bool { return !wide(k + 2) })
	if n > most {
		return 0, fmt.Errorf("%w: more than a billion trials; allow a half-width wider than %v", ErrTooFew, halfWidth)
	}
	return n, nil
}
