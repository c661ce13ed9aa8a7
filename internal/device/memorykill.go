package device

import (
	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/printable"
)

// memoryKill is how a kernel says which process it killed because no memory was left; before Linux 5.1 it said Kill.
var memoryKill = lazy.Regexp(`(?m)Out of memory: Kill(?:ed)? process ([0-9]+) \(([^\n]*?)\)(?: total-vm| score|,)`)

// KilledForMemory is the process that a kernel killed last because no memory was left, by its log; empty: none.
func KilledForMemory(log []byte) string {
	all := memoryKill().FindAllSubmatch(log, -1)
	if len(all) == 0 {
		return ""
	}
	last := all[len(all)-1]
	return "process " + string(last[1]) + " (" + printable.Line(string(last[2])) + ")"
}

// Tell has f say how the process ended, by what its device knows besides.
func (p *Process) Tell(f func(Exit) Exit) {
	ended := make(chan Exit, 1)
	go func(exit <-chan Exit) {
		ended <- f(<-exit)
		close(ended)
	}(p.exit)
	p.exit = ended
}
