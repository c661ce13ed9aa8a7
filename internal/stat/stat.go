// Package stat summarizes and compares numbers. It takes one number a trial
// (or a slice of one trial's values) and returns figures with their intervals
// and their doubts. It reads no file, knows no clock and drops no value.
package stat

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Sentinels for errors.Is; each comes wrapped in what happened and what to do.
var (
	ErrNoData    = errors.New("no data")
	ErrTooFew    = errors.New("too few values")
	ErrNotFinite = errors.New("not a finite number")
	ErrTooSmall  = errors.New("smaller than numbers can be")
	ErrNoSpread  = errors.New("no spread") // all values equal: the resolution, not certainty
	ErrTies      = errors.New("ties")      // so many values equal that an interval between them has no width: likewise
	ErrSign      = errors.New("not positive")
)

// A Summary is one figure and how sure we are of it. Lo and Hi are NaN where
// there is no interval; a warning then says why.
type Summary struct {
	N                          int
	Center, Lo, Hi, Confidence float64
	Method                     string  // "mean of trial means, t interval"
	Warnings                   []error // printed wherever Center is printed
}

// HasInterval reports whether Lo and Hi mean anything.
func (s Summary) HasInterval() bool { return !math.IsNaN(s.Lo) && !math.IsNaN(s.Hi) }

// HalfWidth is half the interval's width, in Center's unit; NaN without one.
func (s Summary) HalfWidth() float64 { return (s.Hi - s.Lo) / 2 }

// Precise reports whether the interval's half-width is at most the given share
// of the centre (0.02 is 2 %). It looks at the width only, never at whether a
// difference is significant, so it may decide when to stop measuring.
func (s Summary) Precise(share float64) bool {
	return s.HasInterval() && s.HalfWidth() <= share*math.Abs(s.Center)
}

// MarshalJSON writes null for what is not there, and warnings as text.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		N          int      `json:"n"`
		Center     Number   `json:"center"`
		CI         Interval `json:"ci"`
		Confidence float64  `json:"confidence"`
		Method     string   `json:"method"`
		Warnings   []string `json:"warnings"`
	}{s.N, Number(s.Center), Interval{s.Lo, s.Hi}, s.Confidence, s.Method, texts(s.Warnings)})
}

// A Number is a float64 that JSON writes as null when there is none (NaN, Inf).
type Number float64

func (x Number) MarshalJSON() ([]byte, error) {
	if !isFinite(float64(x)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

func (x *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*x = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(x))
}

// An Interval is lower and upper limit; JSON writes null when there is none.
type Interval [2]float64

func (i Interval) MarshalJSON() ([]byte, error) {
	if !isFinite(i[0]) || !isFinite(i[1]) {
		return []byte("null"), nil
	}
	return json.Marshal([2]float64(i))
}

func (i *Interval) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*i = Interval{math.NaN(), math.NaN()}
		return nil
	}
	return json.Unmarshal(b, (*[2]float64)(i))
}

func texts(errs []error) []string {
	out := make([]string, 0, len(errs))
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}

// smallest is the least variance that has all its digits.
const smallest = 0x1p-1022

func isFinite(x float64) bool { return x-x == 0 }

// usable refuses what no statistic can be made of.
func usable(xs []float64, confidence float64) error {
	if !(confidence > 0 && confidence < 1) {
		return fmt.Errorf("confidence %v is not between 0 and 1; write 0.95 for 95 %%", confidence)
	}
	return finite(xs)
}

func finite(xs []float64) error {
	if len(xs) == 0 {
		return fmt.Errorf("%w: nothing was measured; run at least one valid trial", ErrNoData)
	}
	for i, x := range xs {
		if !isFinite(x) {
			return fmt.Errorf("%w: value %d of %d is %v; repeat that trial or mark it invalid", ErrNotFinite,
				i+1, len(xs), x)
		}
	}
	return nil
}

// moments returns mean and variance (n-1). Values are taken less the first and
// passed over twice: the textbook one-pass formula loses all digits where the
// spread is small against the mean.
func moments(xs []float64) (mean, variance float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += (x - xs[0]) / n
	}
	var rest, ss float64
	for _, x := range xs {
		rest += x - xs[0] - mean
	}
	mean += rest / n
	for _, x := range xs {
		d := x - xs[0] - mean
		ss += d * d
	}
	return xs[0] + mean, ss / (n - 1)
}

func extremes(xs []float64) (lo, hi float64) {
	lo, hi = xs[0], xs[0]
	for _, x := range xs {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

func allEqual(xs []float64) bool {
	lo, hi := extremes(xs)
	return lo == hi
}
