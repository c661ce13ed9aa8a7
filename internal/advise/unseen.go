package advise

import (
	"math"

	"edgegauge.example/edgegauge/internal/stat"
)

// meterHides says why a meter does not decide on which side of a bound a figure lies.
const meterHides = "what the meter reads may be off by more than that in all trials alike, by its resolution or by " +
	"rounding; batch more requests, or take a finer meter"

// unseen is Series.Unseen of each.
func unseen(series []Series) []float64 {
	out := make([]float64, len(series))
	for i, s := range series {
		out[i] = s.Unseen
	}
	return out
}

// notSeen says why figures of two series are not compared which the meter tells neither from nothing nor from each
// other; empty: it does.
func notSeen(old, new Series, before, now float64) string {
	hidden := old.Unseen + new.Unseen
	if hidden > 0 && min(before-old.Unseen, now-new.Unseen) <= 0 && math.Abs(before-now) <= hidden {
		return "the meter does not tell them from nothing, nor from each other; batch more requests, or take a finer meter"
	}
	return ""
}

// logUnseen is by how much the logarithm of the mean may be off by Unseen. A geometric mean over treatments is off by
// the mean of theirs: what is little of the largest may be much of the smallest.
func (s Series) logUnseen() float64 { return stat.LogOff(s.means(), s.Unseen) }

func (s Series) means() []float64 {
	var out []float64
	for _, t := range s.Trials {
		out = append(out, t.Mean)
	}
	return out
}
