package lab

import (
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

// waitForOthers is how long, in the recorded run, programs on this machine were ready while others ran in their
// place. By construction one of them is often ready while the other runs, and threads of a virtual machine while its
// others do; that is no starvation. What their CPUs gave to neither of them, and were not idle for, others took: that
// is an upper bound of the wait for others, and so is what both waited.
func (t *trialRunner) waitForOthers() time.Duration {
	const step = 10 * time.Millisecond // of a CPU's idle time
	n := time.Duration(len(t.cpus()))
	left := n*t.course.run.Ended.Sub(t.course.run.Began) - max(0, t.course.idle[1]-t.course.idle[0]-n*step)
	var waited time.Duration
	for _, u := range t.course.usage {
		left -= u[1].CPU - u[0].CPU
		waited += u[1].Waiting - u[0].Waiting
	}
	return max(0, min(left, waited))
}
