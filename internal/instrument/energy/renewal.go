package energy

import (
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// renewal is the time between new values of a meter whose readings repeat them: the
// median of the times between readings that differ from those before. With fewer than
// two such times it is no shorter than what was watched before the first new value and
// behind the last one. It is 0 where that says nothing: each reading is new, or none.
//
// Subtle: a new value may happen to be the old one, which lengthens a time. The median
// is of times between which most values differ, so the error that is stated is rather
// too large.
func (f Facts) renewal(readings []measure.Sample) time.Duration {
	var times []time.Duration
	var open time.Duration // the longest time of which an end was not seen
	var last measure.Sample
	var since time.Duration // the instant of the last new value, or of the first reading
	watched, began := false, false
	for _, r := range readings {
		switch {
		case r.Quantity.Name == Gap.Name:
			watched, began = false, false
		case !watched:
			last, since, watched = r, r.At, true
		case r.Value != last.Value:
			if began {
				times = append(times, r.At-since)
			} else {
				open = max(open, r.At-since)
			}
			last, since, began = r, r.At, true
		case began:
			open = max(open, r.At-since)
		}
	}
	slices.Sort(times) // of two in the middle the longer one: it overstates the error, too
	var every time.Duration
	if n := len(times); n > 0 {
		every = times[n/2]
	}
	if len(times) < 2 {
		every = max(every, open)
	}
	if every < f.Interval+f.Interval/2 {
		return 0
	}
	return every
}

// Fresh is the time between two readings that tell something new.
func (f Facts) Fresh() time.Duration { return max(f.Interval, f.Renewal) }
