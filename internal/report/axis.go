package report

import (
	"math"
	"strconv"

	"edgegauge.example/edgegauge/internal/measure"
)

// An axis maps values to shares of a figure's width.
type axis struct {
	lo, hi float64
	log    bool
}

// logFrom is the ratio of largest to smallest value from which an axis is logarithmic.
const logFrom = 12

// leastSpan is the least share of its values that an axis spans.
const leastSpan = 2e-3

// newAxis covers all finite values. Zero is on it where the values reach
// within a third of it, so that lengths are not misread; the axis is
// logarithmic where the values span more than logFrom.
func newAxis(values []float64) axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case lo > hi:
		return axis{0, 1, false}
	case lo > 0 && hi/lo > logFrom:
		return axis{lo / 1.15, hi * 1.15, true}
	case lo == hi && lo == 0:
		return axis{0, 1, false}
	case lo == hi:
		return axis{math.Min(0, lo*1.1), math.Max(0, lo*1.1), false}
	case math.Max(math.Abs(lo), math.Abs(hi))*leastSpan > hi-lo: // ticks would all read the same
		pad := math.Max(math.Abs(lo), math.Abs(hi)) * leastSpan / 2
		lo, hi = lo-pad, hi+pad
	case lo > 0 && lo < hi/1.5:
		lo = 0
	case lo > 0:
		lo -= (hi - lo) * 0.06
	}
	return axis{lo, hi + (hi-lo)*0.04, false}
}

// at is the place of v, 0 at the left and 1 at the right.
func (a axis) at(v float64) float64 {
	if a.log {
		return math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// shows reports whether v has a place.
func (a axis) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && v >= a.lo && v <= a.hi && (!a.log || v > 0)
}

// ticks are round values, about four to seven of them.
func (a axis) ticks() []float64 {
	if a.log {
		return a.logTicks()
	}
	step := niceStep((a.hi - a.lo) / 5)
	var out []float64
	for k := math.Ceil(a.lo/step - 1e-9); k*step <= a.hi+step*1e-9; k++ {
		out = append(out, k*step)
	}
	return out
}

func (a axis) logTicks() []float64 {
	decades := math.Log10(a.hi / a.lo)
	digits := []float64{1, 2, 5}
	if decades > 2.2 {
		digits = []float64{1}
	}
	every := max(1, int(math.Ceil(decades/7)))
	var out []float64
	for e := int(math.Floor(math.Log10(a.lo))); e <= int(math.Ceil(math.Log10(a.hi))); e++ {
		if e%every != 0 {
			continue
		}
		for _, d := range digits {
			if v := d * math.Pow(10, float64(e)); a.shows(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// niceStep is the least of 1, 2, 2.5 and 5 times a power of ten that is not below x.
func niceStep(x float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(x)))
	for _, d := range []float64{1, 2, 2.5, 5} {
		if x <= d*p*(1+1e-9) {
			return d * p
		}
	}
	return 10 * p
}

// label prints a tick without needless digits. A linear axis has one prefix
// throughout, a logarithmic one a prefix a tick.
func (a axis) label(v float64, unit string) string {
	if v == 0 {
		return "0"
	}
	p := measure.Prefix{Factor: 1}
	if hasPrefixes(unit) {
		if p = prefixOf(math.Max(math.Abs(a.lo), math.Abs(a.hi)), unit); a.log {
			p = prefixOf(v, unit)
		}
	}
	return strconv.FormatFloat(math.Round(v/p.Factor*1e6)/1e6, 'f', -1, 64) + unitText(p.Name, unit)
}
