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
	cpus [2]spent           // when, and of this machine, on whose CPUs the programs may run if both are here
}

// spent is what CPUs had spent at a time.
type spent struct {
	at time.Time
	kernel.CPUSpent
}

// The readings of a usage.
const beforeRun, behindRun = 0, 1

// read takes one of the readings, of both programs at once, since the run waits for it. CPUs are those of this machine
// on which the programs may run, if both are here.
func (u *usage) read(when int, both [2]*program, cpus []int) error {
	u.cpus[when].at = time.Now()
	if len(cpus) > 0 {
		u.cpus[when].CPUSpent = kernel.SpentBy(cpus)
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

// span is the time between the readings: the recorded run, and what little is before and behind it.
func (u *usage) span() time.Duration { return u.cpus[behindRun].at.Sub(u.cpus[beforeRun].at) }

// cpu is a side's CPU time in the recorded run: by its own account, if it keeps one, else by its kernel's.
func (u *usage) cpu(side int, own time.Duration) time.Duration {
	if own > 0 {
		return own
	}
	return u.of[side][behindRun].CPU - u.of[side][beforeRun].CPU
}

// waiting is how long a side's threads were ready, in the recorded run, and had no CPU.
func (u *usage) waiting(side int) time.Duration {
	return u.of[side][behindRun].Waiting - u.of[side][beforeRun].Waiting
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

// waitForOthers is how long, between the readings, programs on so many CPUs of this machine were ready while others ran
// in their place. By construction one of them is often ready while the other runs, and threads of a virtual machine
// while its others do; that is no starvation. What others took of their CPUs is an upper bound of the wait for others,
// and so is what both waited.
func (u *usage) waitForOthers(cpus int) time.Duration {
	before, behind, n := u.cpus[beforeRun], u.cpus[behindRun], time.Duration(cpus)
	taken := n*u.span() - (behind.Unused - before.Unused)
	var own, waited time.Duration
	for side, of := range u.of {
		own += of[behindRun].CPU - of[beforeRun].CPU
		waited += u.waiting(side)
	}
	if before.Busy > 0 && behind.Busy > 0 { // it tells less than a tick, and may be of this container alone
		taken = min(max(behind.Busy-before.Busy, taken-n*kernel.Tick), taken+n*kernel.Tick)
	}
	return max(0, min(taken-own, waited))
}
