package stat

import (
	"fmt"
	"math"

	"edgegauge.example/edgegauge/internal/plural"
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
	if least < 0 {
		return s, fmt.Errorf("%w: a trial gave %v, but this quantity cannot be negative; look at the trial", ErrSign, least)
	}
	return s.positive(least > 0, SD(xs)), nil
}

// PositiveMeanOfUnits is PositiveMean for units of a Layout: their mean is that of
// values that cannot be negative, but one of them may be, since what its bench and
// block differ by was taken from it.
func PositiveMeanOfUnits(units []float64, confidence float64) (Summary, error) {
	s, err := Mean(units, confidence)
	if err != nil || !(s.Lo <= 0) || s.Lo == s.Hi {
		return s, err
	}
	if s.Center < 0 {
		return s, fmt.Errorf("%w: the mean is %v, but this quantity cannot be negative; look at the trials", ErrSign,
			s.Center)
	}
	return s.positive(s.Center > 0, SD(units)), nil
}

// positive makes an interval that reaches 0 or below one of the mean's logarithm; without one it begins at 0. sd is
// that of the values.
func (s Summary) positive(logarithm bool, sd float64) Summary {
	if logarithm {
		factor := math.Exp(s.HalfWidth() / s.Center)
		s.Lo, s.Hi, s.Method = s.Center/factor, s.Center*factor,
			"mean of trial means, t interval of its logarithm (delta method)"
	} else {
		s.Lo, s.Method = 0, "mean of trial means, t interval from 0"
	}
	s.Warnings = append(s.Warnings, WideMean{s.N, sd / s.Center})
	return s
}

// A WideMean warns of an interval that says little of a mean, which N values have that spread by a share of it.
type WideMean struct {
	N      int
	Spread float64
}

// Words are those of the warning, where values are so many of what is counted, and more may be had so.
func (w WideMean) Words(counted, more string) string {
	if w.Spread < 0.5 { // it is t with so few degrees of freedom that is wide
		return fmt.Sprintf("%s are too few: the interval of their mean says little more than the order of magnitude, though "+
			"they spread by %.2g %% only; %s", counted, 100*w.Spread, more)
	}
	return fmt.Sprintf("%s that spread so much do not tell the mean: its interval says little more than the order of "+
		"magnitude, if that; %s, and look at them", counted, more)
}

func (w WideMean) Error() string { return w.Words(plural.Count(w.N, "trial"), "run more trials") }
