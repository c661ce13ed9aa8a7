package energy

import (
	"math"
	"time"
)

// Unseen is by how much energy may be off whatever the readings show, J: in all trials alike, so that no spread tells
// of it. It is the rounding of the sum, the meter's resolution where no noise dithers it, and what a clock that is off
// leaves outside.
type Unseen struct {
	Gross float64
	Net   float64 // NaN without idle
}

// instant is how finely instants are kept: in ns, and an edge lies half of one off at most on either side.
const instant = time.Nanosecond

// rounding is what net energy is off by at most through arithmetic, J. The energy of idle, with its error, stretches
// from the idle's length to that of the widened window.
//
// Equation: (1 + widened/idle) · (2 · max |Pk| · 1 ns + n · 2⁻⁵² · max |Pk| · widened + 2⁻⁵¹ · counter)
func (t Trace) rounding(wide Window, idle Idle) float64 {
	const digit = 0x1p-52
	segments := t.within(wide)
	most := math.Abs(idle.Power)
	for _, s := range segments {
		most = max(most, math.Abs(s.W))
	}
	one := most*(2*instant.Seconds()+digit*float64(len(segments)+1)*wide.Length().Seconds()) + 2*digit*t.counted
	if idle.Length() <= 0 {
		return one
	}
	return one * (1 + wide.Length().Seconds()/idle.Length().Seconds())
}

// told is x without the digits that are rounding: a multiple of the power of two above twice that. What rounding may
// have made of nothing is 0.
func told(x, rounding float64) float64 {
	if !(rounding > 0) || math.IsInf(rounding, 0) {
		return x
	}
	_, exp := math.Frexp(2 * rounding)
	return math.Ldexp(math.Round(math.Ldexp(x, -exp)), exp)
}

// allowed is the least and the most energy in a window that its readings allow, J. What lies wholly inside counts as it
// is. What an edge cuts may have any power between the lowest and the highest near by, as long as all of the reading
// has its own energy; and if the meter's clock is off, or it shows its values late, as much of the window's end may be
// another time's.
func (t Trace) allowed(w Window) (least, most float64) {
	for _, s := range t.within(w) {
		from, to := max(s.From, w.From), min(s.To, w.To)
		inside, all := (to - from).Seconds(), s.Length().Seconds()
		lo, hi := s.W*inside, s.W*inside
		if from > s.From || to < s.To {
			low, high := t.around(s.Window, t.Fresh()+t.Fresh()/2)
			lo, hi = low*inside, high*inside
			if t.Kind != Instant {
				lo, hi = max(lo, s.W*all-high*(all-inside)), s.W*all-low*(all-inside)
			}
		}
		least, most = least+lo, most+hi
	}
	if late := min(t.Clock+t.Renewal, w.Length()); late > 0 {
		low, high := t.around(w, late)
		least = max(least-(high-low)*late.Seconds(), low*w.Length().Seconds())
		most += (high - low) * late.Seconds()
	}
	return least, most
}

// around are the lowest and the highest power in a window and so far beside it, W.
func (t Trace) around(w Window, reach time.Duration) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range t.within(w.Widen(reach)) {
		low, high = min(low, s.W), max(high, s.W)
	}
	return low, high
}
