package stat

import (
	"errors"
	"fmt"
	"math"
)

// Hiding is the comparison of a with b whose values may all be off by the same, up to offA and offB, however little
// they spread: as what a meter measures may be by its resolution. So the interval is as much wider, and no answer is
// given that such an error may explain. b is nil where a is held against a bound that is known.
func (c Comparison) Hiding(a, b []float64, offA, offB float64) Comparison {
	if !(c.Confidence > 0) || !(offA > 0 || offB > 0) {
		return c
	}
	if c.hidden = offA + offB; c.log {
		c.hidden = LogOff(a, offA) + LogOff(b, offB)
	}
	if c.ticks != nil {
		t := *c.ticks
		t.hidden = [2]float64{offA, offB}
		c.ticks = &t
		return c.perTick(1)
	}
	c.off, c.offEven = c.off+c.hidden, true
	return c.hide()
}

// Hides reports whether what the values may all be off explains how far they lie from a bound: no number of such
// trials decides on which side of it they are.
func (c Comparison) Hides(bound float64) bool {
	switch {
	case !(c.hidden > 0):
		return false
	case c.ticks != nil:
		return c.ticks.against(bound, c.log) == 1
	case c.log:
		bound = math.Log(bound)
	}
	return math.Abs(c.center-bound) <= c.hidden
}

// HidesBetween reports whether what the values may all be off by, or the steps of their clock, leave open whether the
// truth lies within (lo, hi) or outside, wherever in the interval the mean of more such values may lie.
func (c Comparison) HidesBetween(lo, hi float64) bool {
	if c.ticks != nil {
		return c.Hides(lo) || c.Hides(hi)
	}
	if !(c.off > 0) {
		return false
	}
	if c.log {
		lo, hi = math.Log(lo), math.Log(hi)
	}
	half := 0.0
	if c.se > 0 {
		half = tCritical(c.Confidence, c.DF) * c.se
	}
	least, most := c.center-half, c.center+half
	inside := max(least, lo+c.off) <= min(most, hi-c.off)
	outside := most > hi+c.off || least < lo-c.off
	return !inside && !outside
}

// hide makes the interval as much wider as the values may be off, and gives the p of what they cannot explain.
func (c Comparison) hide() Comparison {
	if !(c.hidden > 0) {
		return c
	}
	if c.Lo, c.Hi = c.widen(c.Lo, -c.hidden), c.widen(c.Hi, c.hidden); c.ticks == nil {
		c.P = c.Against(c.Even())
	}
	return c
}

// widen moves an end of the interval by so much on the scale of the test.
func (c Comparison) widen(end, by float64) float64 {
	if c.log {
		return end * math.Exp(by)
	}
	return end + by
}

// LogOff is by how much the logarithm of the mean of values may be off that may be off by so much themselves.
func LogOff(xs []float64, off float64) float64 {
	if len(xs) == 0 || !(off > 0) {
		return 0
	}
	share := off / meanOf(xs)
	if !(share > 0 && share < 1) {
		return math.Inf(1)
	}
	return -math.Log1p(-share)
}

// OffOfLog is the inverse of LogOff: by how much values may be off whose mean may be off by so much in its logarithm.
func OffOfLog(xs []float64, off float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	return -math.Expm1(-off) * meanOf(xs)
}

// Hiding is the summary of values which may all be off by the same, up to so much: its interval is as much wider. One
// trial has none.
func (s Summary) Hiding(off float64) Summary {
	if !(off > 0) {
		return s
	}
	s.Lo, s.Hi = s.Lo-off, s.Hi+off
	warnings := s.Warnings
	s.Warnings = nil
	for _, w := range warnings {
		if errors.Is(w, ErrNoSpread) {
			w = fmt.Errorf("%w: all %d values are %v; the interval is by how much they may be off alike, as far as that is "+
				"known", ErrNoSpread, s.N, s.Center)
		}
		s.Warnings = append(s.Warnings, w)
	}
	return s
}
