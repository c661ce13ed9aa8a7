package lab

import (
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
)

const atClient, atServer = 0, 1

// sides are the two sides in the order of everything that there are two of.
var sides = [2]measure.Side{atClient: measure.Client, atServer: measure.Server}

// sideIndex is a side's place in what there are two of.
func sideIndex(s measure.Side) int {
	if s == measure.Server {
		return atServer
	}
	return atClient
}

// A conversation is what a trial's session asked both programs to do, and when they did it.
type conversation struct {
	warmUp stack.WarmUp // on the lab's clock
	asked  stack.Run    // what the recorded run was to be
	run    stack.Span   // the recorded run, on the clock of the session's process
	phases stack.Phases // that the client told of, by now
}
