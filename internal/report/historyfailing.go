package report

import (
	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// failingAt is the level of a remark that more requests of a run failed than of the run before: a history of many runs
// asks as many times.
const failingAt = 0.001

// failing says of which treatments of a run more requests failed than of the run before it, beyond chance: a figure of
// answered requests does not tell, and a share that was 0 has no logarithm, so that no level of it is known.
func (h History) failing(run int) []string {
	if run == 0 {
		return nil
	}
	var out []string
	for _, f := range advise.FailuresOfTrials(h.Runs[run-1].requests, h.Runs[run].requests, 1-failingAt) {
		if f.Verdict == stat.Confirmed {
			out = append(out, f.String())
		}
	}
	return out
}
