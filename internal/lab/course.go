package lab

import (
	"time"

	"edgegauge.example/edgegauge/internal/device"
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
	usage  [2][2]device.Usage // of each side, before and after the recorded run
	idle   [2]time.Duration   // of the CPUs on which the programs may run, summed, likewise; 0: they are not both here
	onWire int64              // B of the run's packets, both ways; 0: not captured
	stall  time.Duration      // for which this lab did not run in the recorded run, the longest; 0: not looked at
	census [2]census          // by the kernel of each side's program
	// connections are how many a client that is to keep them had, at least; 0: nobody knows
	connections int
}

// cpuOf is a side's CPU time in the recorded run, by its own account if it keeps one.
func (c *course) cpuOf(side int, own time.Duration) time.Duration {
	if own > 0 {
		return own
	}
	return c.usage[side][1].CPU - c.usage[side][0].CPU
}

// knowsCPU says whether cpuOf holds all that the side used.
func (c *course) knowsCPU(side int, own time.Duration) bool {
	return own > 0 || !c.usage[side][1].Uncounted
}
