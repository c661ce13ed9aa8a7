package lab

import (
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/study"
)

// surroundings are what may disturb a trial from outside: this machine sleeps, other labs measure on it, or this lab
// does not run.
type surroundings struct {
	lab    *Lab
	asleep time.Duration // for which the machine had been suspended when the trial began
	others int           // labs that measured on this machine then, beside this one
	stall  time.Duration // for which this lab did not run in the recorded run, the longest; 0: not looked at
}

// newSurroundings are those of a trial that begins now.
func newSurroundings(l *Lab) surroundings {
	return surroundings{lab: l, asleep: l.suspended(), others: len(l.Beside())}
}

// mostSlept is what two readings of clocks may differ by where the machine did not sleep.
const mostSlept = time.Millisecond

// suspended is for how long this machine has slept since it was started.
func (l *Lab) suspended() time.Duration {
	if l.slept != nil {
		return l.slept()
	}
	return kernel.Suspended()
}

// slept says that the machine was suspended in the middle of the trial: time-outs do not run then, but
// packets, peers and the power that a meter sums do.
func (s *surroundings) slept() string {
	if d := s.lab.suspended() - s.asleep; d > mostSlept {
		return fmt.Sprintf("this machine was suspended for %s during the trial",
			study.DurationText(d.Round(time.Millisecond)))
	}
	return ""
}

// otherLabs is how many measured on this machine beside this one, when the trial began or now.
func (s *surroundings) otherLabs() int { return max(s.others, len(s.lab.Beside())) }
