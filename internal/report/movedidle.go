package report

import (
	"fmt"
	"math"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// movedFrom is the share of the energy from which what idle power may have done unseen becomes a warning.
const movedFrom = 0.02

// doubtMovedIdle warns where idle power is another one behind the runs of a treatment than before them, in the mean of
// its trials and beyond chance. Net energy is taken over a base that moves evenly; what moves in another way from the
// one to the other is off by half of the difference at most, and in all trials alike, so that their spread does not
// show it.
func (r *Report) doubtMovedIdle(treatment int, side measure.Side, trials []map[string]float64) {
	c, ok := r.Cell(treatment, side, "energy")
	if !ok {
		return
	}
	var moved []float64 // J a request
	for _, m := range trials {
		if v, noted := m[string(side)+"_idle_moved"]; noted && m["requests"] > 0 {
			moved = append(moved, v/m["requests"])
		}
	}
	mean, err := stat.Mean(moved, r.Study.Design.Confidence)
	if err != nil || !(mean.Lo > 0 || mean.Hi < 0) {
		return
	}
	off := math.Abs(mean.Center) / 2
	if off <= movedFrom*math.Abs(c.Mean.Center) || off <= (c.Mean.Hi-c.Mean.Lo)/2 {
		return
	}
	says := "higher"
	if mean.Center < 0 {
		says = "lower"
	}
	text := fmt.Sprintf("idle power of the %s is %s after the runs than before them, by %s over a request (mean of %d "+
		"trials): energy is net of a base that moves evenly; where it does not, energy is off by up to %s in all trials "+
		"alike, which no interval shows; wait for the device to settle (raise design.warmup or design.cooldown)", side, says,
		Format(2*off, c.Unit), len(moved), Format(off, c.Unit))
	r.warnCells(treatment, side, []string{"energy"}, text)
	r.Alarms = append(r.Alarms, r.Treatments[treatment].Name()+": "+text)
}
