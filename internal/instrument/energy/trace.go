// Package energy turns readings of power into joules: of a trial, gross and net
// of idle, with what is doubtful about them. It reads no meter and no clock.
package energy

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// The quantities a meter emits.
var (
	Power   = measure.Quantity{Name: "power", Unit: "W"}
	Voltage = measure.Quantity{Name: "voltage", Unit: "V"}
	Current = measure.Quantity{Name: "current", Unit: "A"}
	Counter = measure.Quantity{Name: "energy", Unit: "J"} // since the observation began
	Marker  = measure.Quantity{Name: "marker", Unit: "1"} // level of a marker input after an edge
	Gap     = measure.Quantity{Name: "gap", Unit: "1"}    // an instantaneous reading is missing here
)

// A Kind says what a reading of a meter stands for.
type Kind int

const (
	Mean       Kind = iota // power averaged over the interval that ends at Sample.At
	Instant                // power at Sample.At
	Cumulative             // energy counted up to Sample.At
)

func (k Kind) String() string { return [...]string{"mean", "instantaneous", "cumulative"}[k] }

// A Window is a stretch of time on the clock of Sample.At.
type Window struct{ From, To time.Duration }

// Length is the time from the window's start to its end.
func (w Window) Length() time.Duration { return w.To - w.From }

// Widen adds d at both ends.
func (w Window) Widen(d time.Duration) Window { return Window{w.From - d, w.To + d} }

func (w Window) String() string { return fmt.Sprintf("%v to %v", w.From, w.To) }

// A Segment is a stretch of known mean power.
type Segment struct {
	Window
	W float64
}

// Facts say how a meter reads.
type Facts struct {
	Kind       Kind
	Interval   time.Duration // between readings
	Sampling   time.Duration // between the conversions a mean is made of; 0: continuous, or one
	Resolution float64       // W, smallest step of a reading; 0: unknown
	// Held: an instantaneous reading may be an old value, since the meter renews it at
	// times of its own that nobody knows before. Renewal is how far they are apart, as a
	// trace shows it; 0: not seen, or each reading is new.
	Held    bool
	Renewal time.Duration
	// Clock is how far all instants together may be off the clock of the windows.
	Clock time.Duration
}

// A Trace is the power of one supply over time. Segments are in order and do
// not overlap; between them nothing is known.
type Trace struct {
	Facts
	Segments []Segment

	counted float64 // J, the largest that a counter showed, whatever its sign
}

// late is how many intervals may lie between two instantaneous readings that are taken as
// neighbours: looks at a meter come late. What is missing has a Gap.
const late = 3

// NewTrace makes a trace of a meter's samples, in any order. A reading that
// follows a silence longer than the interval stands for one interval only
// (mean); one that follows a Gap, or a silence of more than three intervals, starts anew
// (instantaneous). A counter loses nothing in a silence but the time at which it was used:
// no window may begin or end there.
func NewTrace(f Facts, samples []measure.Sample) Trace {
	t := Trace{Facts: f}
	q := Power
	if f.Kind == Cumulative {
		q = Counter
	}
	var readings []measure.Sample
	for _, s := range samples {
		is := s.Quantity.Name == q.Name || s.Quantity.Name == Gap.Name && f.Kind == Instant
		if is && !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) {
			readings = append(readings, s)
		}
	}
	slices.SortStableFunc(readings, func(a, b measure.Sample) int { return int(sign(a.At - b.At)) })
	if f.Held && f.Kind == Instant {
		t.Renewal = f.renewal(readings)
	}
	for i, r := range readings {
		var last measure.Sample
		if i > 0 {
			last = readings[i-1]
		}
		if r.Quantity.Name == q.Name {
			t.add(last.Quantity.Name == q.Name, last, r)
		}
	}
	return t
}

func sign(d time.Duration) time.Duration { return min(max(d, -1), 1) }

func (t *Trace) add(follows bool, last, r measure.Sample) {
	since := r.At - last.At
	switch t.Kind {
	case Mean:
		from := r.At - t.Interval
		if follows && since < t.Interval+t.Interval/2 { // Subtle: the device's clock is off by up to a percent
			from = last.At
		}
		t.put(from, r.At, r.Value)
	case Instant:
		if follows && since <= late*t.Interval { // the trapezoid, as two steps
			t.put(last.At, last.At+since/2, last.Value)
			t.put(last.At+since/2, r.At, r.Value)
		}
	case Cumulative:
		t.counted = max(t.counted, math.Abs(r.Value))
		if follows && since > 0 {
			t.put(last.At, r.At, (r.Value-last.Value)/since.Seconds())
		}
	}
}

func (t *Trace) put(from, to time.Duration, w float64) {
	if to > from {
		t.Segments = append(t.Segments, Segment{Window{from, to}, w})
	}
}

// within returns the segments that overlap a window.
func (t Trace) within(w Window) []Segment {
	i := sort.Search(len(t.Segments), func(i int) bool { return t.Segments[i].To > w.From })
	j := i + sort.Search(len(t.Segments)-i, func(k int) bool { return t.Segments[i+k].From >= w.To })
	return t.Segments[i:j]
}

// Energy is the energy in a window in J: each segment counts for the part of
// it that lies inside. A window that was not watched throughout has none, nor has one
// whose edge falls between two readings of a counter that are far apart.
func (t Trace) Energy(w Window) (float64, error) {
	if w.Length() <= 0 {
		return 0, fmt.Errorf("the window from %v ends before it begins", w)
	}
	var sum float64
	var covered, hole time.Duration
	at, holeAt := w.From, w.From
	for _, s := range t.within(w) {
		from, to := max(s.From, w.From), min(s.To, w.To)
		if t.Kind == Cumulative && s.Length() > widenBy*t.Interval && (s.From < w.From || s.To > w.To) {
			return 0, fmt.Errorf("no reading of the counter for %v from %v on, across an edge of the window from %v: how much "+
				"of the energy lies inside is not known", s.Length(), s.From, w)
		}
		if from-at > hole {
			hole, holeAt = from-at, at
		}
		sum += s.W * (to - from).Seconds()
		covered += to - from
		at = to
	}
	if w.To-at > hole {
		hole, holeAt = w.To-at, at
	}
	if hole > t.Interval/1000 {
		return 0, fmt.Errorf("no reading for %v from %v on, inside the window from %v: %v of %v were observed", hole, holeAt,
			w, covered, w.Length())
	}
	return sum, nil
}

// Inside is the part of a window from its first reading to its last; of no length if there are none.
func (t Trace) Inside(w Window) Window {
	part := Window{w.From, w.From}
	for i, s := range t.within(w) {
		if i == 0 {
			part = Window{s.From, s.From}
			if s.From < w.From {
				part = Window{s.To, s.To}
				continue
			}
		}
		if s.To <= w.To {
			part.To = s.To
		}
	}
	return part
}

// readings is how many readings so many segments are made of: an instantaneous one is
// half of the segment before it and half of the one behind it.
func (t Trace) readings(segments int) int {
	if t.Kind == Instant {
		return (segments + 1) / 2
	}
	return segments
}

// spread is the standard deviation of the readings wholly inside a window, W, and how many
// of them tell something new.
func (t Trace) spread(w Window) (sd, n float64) {
	var mean, m2 float64
	segments := 0
	for _, s := range t.within(w) {
		if s.From < w.From || s.To > w.To {
			continue
		}
		segments++
		d := s.W - mean
		mean += d / float64(segments)
		m2 += d * (s.W - mean)
	}
	n = float64(t.readings(segments))
	if t.Renewal > t.Interval { // the others repeat those before
		n *= t.Interval.Seconds() / t.Renewal.Seconds()
	}
	if n < 2 {
		return 0, n
	}
	return math.Sqrt(m2 / float64(segments) * n / (n - 1)), n
}

// slowness is Idle.Slow of windows whose n readings have a standard deviation of sd, by the means of ten parts of them
// (Schmeiser 1982, batch means), each about the mean of its window. It is 1 where independent readings vary as much in
// one of a hundred cases, or where the readings are too few.
func (t Trace) slowness(windows []Window, sd, n float64) float64 {
	const parts, fewest = 10, 4 // readings in a part
	if n < parts*fewest || sd == 0 {
		return 1
	}
	var m2 float64
	each, free := parts/len(windows), 0
	for _, w := range windows {
		mean := 0.0
		for k := range each {
			part := Window{w.From + w.Length()*time.Duration(k)/time.Duration(each),
				w.From + w.Length()*time.Duration(k+1)/time.Duration(each)}
			j, err := t.Energy(part)
			if err != nil { // a counter that was silent
				return 1
			}
			power := j / part.Length().Seconds()
			d := power - mean
			mean += d / float64(k+1)
			m2 += d * (power - mean)
		}
		free += each - 1
	}
	f := 2.0 / 9 / float64(free)
	byChance := math.Pow(1-f+2.326*math.Sqrt(f), 3) // 99 % of χ² over its degrees of freedom (Wilson and Hilferty 1931)
	if slow := m2 / float64(free) * n / parts / (sd * sd); slow > byChance {
		return slow
	}
	return 1
}

// findSlopes gives two idles the slopes of lines through the means of five parts of each, and how far these may be off,
// by what the parts of both deviate from their lines: beats that are longer than a reading are in that.
func (t Trace) findSlopes(idle []Idle, n float64) {
	const parts, fewest = 5, 4 // readings in a part
	const t95 = 2.447          // Student's t of six degrees of freedom, 95 %
	if len(idle) != 2 || n < 2*parts*fewest {
		return
	}
	var slope, across [2]float64
	var squares float64
	for k, i := range idle {
		each := i.Length() / parts
		var power [parts]float64
		mean := 0.0
		for j := range power {
			from := i.From + time.Duration(j)*each
			joules, err := t.Energy(Window{from, from + each})
			if err != nil { // a counter that was silent
				return
			}
			power[j] = joules / each.Seconds()
			mean += power[j] / parts
		}
		for j, p := range power {
			x := (float64(j) - (parts-1)/2) * each.Seconds()
			slope[k], across[k] = slope[k]+x*(p-mean), across[k]+x*x
		}
		slope[k] /= across[k]
		for j, p := range power {
			d := p - mean - slope[k]*(float64(j)-(parts-1)/2)*each.Seconds()
			squares += d * d
		}
	}
	for k := range idle {
		idle[k].Slope, idle[k].SlopeErr = slope[k], t95*math.Sqrt(squares/(2*(parts-2))/across[k])
	}
}
