package energy

import (
	"fmt"
	"math"
	"slices"
)

// A Doubt is something that makes a trial's energy doubtful. Its Key goes into
// the trial's quality record, from which reports print Words.
type Doubt struct {
	Key  string
	Text string // with this trial's numbers
}

func (d Doubt) Error() string { return d.Text }

// Words says what a doubt means, by its key. Every Doubt has one.
var Words = map[string]string{
	"stuck": "all readings of the meter are the same: it is stuck, or too coarse for this load",
	"negative": "some readings are below zero: the meter's wiring or sign is wrong, or the supply is " +
		"being charged",
	"outliers": "a few readings far above all others contribute much of the energy: a meter fault, or very " +
		"short bursts",
	"coarse":     "the meter is too slow or too coarse for trials this short; batch more requests",
	"below_idle": "the trial took less than idle: the device was not idle when idle was measured",
	"idle_moved": "idle power was another one behind the trial than before it, and net energy is sure only as far as " +
		"that moved evenly; wait for the device to settle",
	"missing":    "readings are missing",
	"bad_crc":    "frames of the meter had a bad checksum",
	"garbage":    "some bytes or lines of the meter were garbage",
	"impossible": "readings that no supply can give were discarded",
	"over_range": "readings out of the meter's range were discarded",
	"apart":      "volts times amperes are not the watts that the meter says beside them; the watts are taken",
	"failed":     "some attempts to read the meter failed",
}

func doubt(key, format string, args ...any) Doubt { return Doubt{key, fmt.Sprintf(format, args...)} }

// fewest is how many readings it takes to say that some are unlike the others.
const fewest = 20

// odd looks for readings in a window that no supply gives, as far as the others
// tell: all the same, below zero, or far above the rest.
func (t Trace) odd(w Window) []error {
	var watts []float64
	for _, s := range t.within(w) {
		watts = append(watts, s.W)
	}
	if t.readings(len(watts)) < fewest {
		return nil
	}
	slices.Sort(watts)
	if watts[0] == watts[len(watts)-1] {
		return []error{doubt("stuck", "all %d readings are %.3g W: the meter is stuck, or too coarse for this load",
			t.readings(len(watts)), watts[0])}
	}
	return append(t.negative(watts), t.outliers(watts)...)
}

// still adds to the doubts about a window that nothing was used in the trial's own part of
// it, however few readings it has: a counter that stands still, or a meter that reads 0 W.
func (t Trace) still(trial Window, doubts []error) []error {
	const enough = 3
	inside := 0
	for _, s := range t.within(trial) {
		if s.From < trial.From || s.To > trial.To {
			continue
		}
		if inside++; s.W != 0 {
			return doubts
		}
	}
	stuck := func(err error) bool { d, ok := err.(Doubt); return ok && d.Key == "stuck" }
	if inside = t.readings(inside); inside < enough || slices.ContainsFunc(doubts, stuck) {
		return doubts
	}
	return append(doubts, doubt("stuck", "all %d readings of the trial say that nothing was used", inside))
}

// at is the value below which a share of the sorted values lies.
func at(sorted []float64, share float64) float64 { return sorted[int(share*float64(len(sorted)-1))] }

// negative finds readings below zero where the others are not. Noise about zero
// does not count: a reading does if it is five standard deviations of normal noise
// below the lower tenth, or if the supply is clearly not at zero.
//
// Equation: limit = q10 − 6 (q25 − q10) − resolution; q: quantiles in W.
func (t Trace) negative(sorted []float64) []error {
	median, within := at(sorted, 0.5), at(sorted, 0.75)-at(sorted, 0.25)
	limit := min(0, at(sorted, 0.1)-6*(at(sorted, 0.25)-at(sorted, 0.1))-t.Resolution)
	if math.Abs(median) > 2*within+t.Resolution { // noise about zero is not
		limit = min(0, -t.Resolution)
	}
	n, _ := slices.BinarySearch(sorted, limit)
	if n == 0 {
		return nil
	}
	return []error{doubt("negative", "%d of %d readings are below zero, down to %.3g W", t.readings(n),
		t.readings(len(sorted)), sorted[0])}
}

// outliers finds readings far above all others that the energy depends on.
//
// Equation: far is above q50 + 10 (q95 − q5) + 5 |q50|; together they must be
// more than 1 % of the energy.
func (t Trace) outliers(sorted []float64) []error {
	median := at(sorted, 0.5)
	limit := median + 10*(at(sorted, 0.95)-at(sorted, 0.05)) + 5*math.Abs(median)
	var all, far float64
	n := 0
	for _, w := range sorted {
		all += math.Abs(w)
		if w > limit {
			far += w
			n++
		}
	}
	if far <= 0.01*all {
		return nil
	}
	return []error{doubt("outliers",
		"%d of %d readings are far above all others, up to %.3g W (median %.3g W), and make up %.2g %% of the energy",
		t.readings(n), t.readings(len(sorted)), sorted[len(sorted)-1], median, 100*far/all)}
}
