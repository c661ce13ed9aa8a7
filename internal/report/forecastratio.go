package report

import (
	"math"

	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/measure"
)

// A basis is what a forecast counts as measured. Of two that differ in it, one lacks a part that the other has.
type basis struct{ wire, packets, joules, whole, waited, over, unconnected bool }

// basisOf is that of a treatment, of which one trial is as good as another. over says that the link was the radio's,
// whose retransmissions are counted.
func (r *Report) basisOf(treatment int, t battery.Traffic, over, unconnected bool) basis {
	_, wire := r.Cell(treatment, measure.Client, "wire_bytes")
	return basis{wire: wire, packets: t.Packets > 0, joules: !math.IsNaN(t.Joules), whole: t.Whole,
		waited: !math.IsNaN(t.Took), over: over, unconnected: unconnected}
}

// toFirst is how many times as long the battery lasts with the treatment of a row as with the first one; false: they
// are not to be compared. Of two lives that are at most so long nobody knows the ratio.
func (f Forecasts) toFirst(row int) (battery.Ratio, bool) {
	r, first := f.Rows[row], f.Rows[0]
	if row == 0 || r.Err != nil || r.Unconnected || r.basis != first.basis || len(r.trials) == 0 || r.single() ||
		first.single() {
		return battery.Ratio{}, false
	}
	x, err := battery.Compare(r.trials, first.trials, f.Conditions)
	return x, err == nil
}

// single reports whether a forecast rests on one trial: how far another would differ from it nobody knows.
func (r ForecastRow) single() bool { return r.Err == nil && r.Trials == 1 }

// singles are the treatments of one trial.
func (f Forecasts) singles() []string {
	var out []string
	for _, r := range f.Rows {
		if r.single() {
			out = append(out, r.Name)
		}
	}
	return out
}

// unlike are the treatments that are not to be compared with the first one.
func (f Forecasts) unlike() []string {
	var out []string
	for _, r := range f.Rows {
		if r.Err == nil && r.basis != f.Rows[0].basis {
			out = append(out, r.Name)
		}
	}
	return out
}

// bounds are the treatments that are not to be compared with the first one since of both connecting is left out.
func (f Forecasts) bounds() []string {
	var out []string
	for i, r := range f.Rows {
		if i > 0 && r.Err == nil && r.Unconnected && r.basis == f.Rows[0].basis {
			out = append(out, r.Name)
		}
	}
	return out
}

func toFirstText(x battery.Ratio) string {
	text, lo, hi := ratioText(x.Estimate), ratioText(x.Lo), ratioText(x.Hi)
	if lo == hi {
		return text
	}
	if math.IsInf(x.Hi, 1) {
		return text + " (" + lo + " or more)"
	}
	return text + " (" + ratioSpan(x.Lo, x.Hi) + ")"
}
