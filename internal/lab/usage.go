package lab

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
)

// usage is what both programs had used of their machines, before the recorded run and behind it.
type usage struct {
	of   [2][2]device.Usage // of each side: before, behind
	idle [2]time.Duration   // of the CPUs on which the programs may run, summed; 0: they are not both here
}

// The readings of a usage.
const beforeRun, behindRun = 0, 1

// read takes one of the readings, of both programs at once, since the run waits for it. CPUs are those of this machine
// on which the programs may run, if both are here.
func (u *usage) read(when int, both [2]*program, cpus []int) error {
	if len(cpus) > 0 {
		u.idle[when] = kernel.Idle(cpus)
	}
	var errs [2]error
	var reading sync.WaitGroup
	for side, p := range both {
		if p == nil {
			continue
		}
		reading.Go(func() {
			var err error
			if u.of[side][when], err = p.process.Usage(); err != nil {
				errs[side] = p.explain("ended in mid-trial", fmt.Errorf("%w: %w", errGone, err))
			}
		})
	}
	reading.Wait()
	return cmp.Or(errs[:]...)
}

// cpu is a side's CPU time in the recorded run: by its own account, if it keeps one, else by its kernel's.
func (u *usage) cpu(side int, own time.Duration) time.Duration {
	if own > 0 {
		return own
	}
	return u.of[side][behindRun].CPU - u.of[side][beforeRun].CPU
}

// knowsCPU says whether cpu holds all that the side used.
func (u *usage) knowsCPU(side int, own time.Duration) bool {
	return own > 0 || !u.of[side][behindRun].Uncounted
}

// instructions says whether a side ran where instructions are counted.
func (u *usage) instructions() bool {
	return u.of[atClient][behindRun].Instructions+u.of[atServer][behindRun].Instructions != 0
}

// waitingUntold reports whether a kernel keeps no account of how long programs waited for a CPU.
func (u *usage) waitingUntold() bool {
	for _, of := range u.of {
		if of[beforeRun].WaitingUntold || of[behindRun].WaitingUntold {
			return true
		}
	}
	return false
}

// waitForOthers is how long, in a recorded run that took so long, programs on so many CPUs of this machine were ready
// while others ran in their place. By construction one of them is often ready while the other runs, and threads of a
// virtual machine while its others do; that is no starvation. What their CPUs gave to neither of them, and were not
// idle for, others took: that is an upper bound of the wait for others, and so is what both waited.
func (u *usage) waitForOthers(took time.Duration, cpus int) time.Duration {
	const step = 10 * time.Millisecond // of a CPU's idle time
	n := time.Duration(cpus)
	left := n*took - max(0, u.idle[behindRun]-u.idle[beforeRun]-n*step)
	var waited time.Duration
	for _, of := range u.of {
		left -= of[behindRun].CPU - of[beforeRun].CPU
		waited += of[behindRun].Waiting - of[beforeRun].Waiting
	}
	return max(0, min(left, waited))
}
