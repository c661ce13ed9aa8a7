package lab

import (
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/study"
)

// CPUsOf are the CPUs of both sides of a treatment: those that the study pins them
// to, else those that the placement picks from all, the quietest first.
func CPUsOf(s *study.Setup, pinned study.Pin, all []int) study.Pin {
	switch {
	case len(pinned.Client)+len(pinned.Server) > 0 || len(all) == 0:
		return pinned
	case s.Placement == study.Together:
		return study.Pin{Client: all[:1], Server: all[:1]}
	case s.Placement == study.Apart && len(all) > 1:
		return study.Pin{Client: all[1:2], Server: all[:1]}
	}
	return pinned
}

// oneCPU says whether both programs have the same CPU and no other.
func (t *trialRunner) oneCPU() bool {
	p := CPUsOf(t.setup, t.lab.Plan.Study.Pin, t.lab.CPUs)
	return len(p.Client) == 1 && slices.Equal(p.Client, p.Server)
}

// waitForOthers is how long, in the recorded run, programs that share one CPU were
// ready while neither of them ran. By construction one of them is often ready while
// the other runs; that is no starvation. What is left of the run without the CPU
// time of both, and without the time in which the CPU was idle, is an upper bound of the
// wait for others, and so is what both waited.
func (t *trialRunner) waitForOthers() time.Duration {
	const step = 10 * time.Millisecond // of the idle time
	left := t.course.run.Ended.Sub(t.course.run.Began) - max(0, t.course.idle[1]-t.course.idle[0]-step)
	var waited time.Duration
	for _, u := range t.course.usage {
		left -= u[1].CPU - u[0].CPU
		waited += u[1].Waiting - u[0].Waiting
	}
	return max(0, min(left, waited))
}
