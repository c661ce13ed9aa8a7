package stat

import (
	"fmt"
	"math"
)

// PositiveMean is Mean for a quantity that cannot be negative, as a time, a
// size or gross energy. Its interval is Mean's where that is positive. Where
// the t interval would reach 0 or below, it is that of the mean's logarithm, by
// the delta method: mean·exp(±t·se/mean). With a value of 0 among the trials
// there is no logarithm, and the interval begins at 0.
func PositiveMean(xs []float64, confidence float64) (Summary, error) {
	s, err := Mean(xs, confidence)
	if err != nil || !(s.Lo <= 0) || s.Lo == s.Hi {
		return s, err
	}
	least, _ := extremes(xs)
	switch {
	case least < 0:
		return s, fmt.Errorf("%w: a trial gave %v, but this quantity cannot be negative; look at the trial", ErrSign, least)
	case least == 0:
		s.Lo, s.Method = 0, "mean of trial means, t interval from 0"
	default:
		factor := math.Exp(s.HalfWidth() / s.Center)
		s.Lo, s.Hi, s.Method = s.Center/factor, s.Center*factor,
			"mean of trial means, t interval of its logarithm (delta method)"
	}
	s.Warnings = append(s.Warnings,
		fmt.Errorf("trials spread as widely as their mean is large: the interval says little more than the order of "+
			"magnitude; run more trials, and look at them"))
	return s, nil
}
