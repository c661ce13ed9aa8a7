package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

const atClient, atServer = 0, 1

// sides are the two sides in the order of everything that there are two of.
var sides = [2]measure.Side{atClient: measure.Client, atServer: measure.Server}

// A course is what a trial's session did, and when: attachments need it to read
// their findings, and the gates judge it.
type course struct {
	zero   time.Time     // from which instruments count
	slept  time.Duration // for which the machine had been suspended by then
	others int           // labs that measured on this machine by then, beside this one
	warmUp stack.WarmUp  // on the lab's clock
	asked  stack.Run     // what the recorded run was to be
	run    stack.Span    // the recorded run, on the clock of the session's process
	phases stack.Phases
	onWire int64         // B of the run's packets, both ways; 0: not captured
	stall  time.Duration // for which this lab did not run in the recorded run, the longest; 0: not looked at
}
