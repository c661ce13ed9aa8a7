package device

import (
	"fmt"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Usage is what a process and its live descendants have used so far.
type Usage struct {
	CPU     time.Duration // user and system, all threads
	PeakRSS int64         // B, the sum of each one's peak
	Waiting time.Duration // runnable without a CPU, live threads only
	Stolen  time.Duration // taken from each CPU of this device by the host of its virtual machine
	// Periods of a CPU quota that have passed, those in which it was spent, and
	// how long its processes waited then. 0 where there is no quota.
	Periods, Throttled int64
	ThrottledFor       time.Duration
	// Instructions of the user's, on a device that counts them.
	Instructions int64
	// Uncounted: CPU lacks what descendants used that ended, since their parent waits
	// for none, and there is no control group that counts them.
	Uncounted bool
}

// Usage reads what the process uses now. Descendants that ended already count where
// the program has a control group that counts CPU time (cgroup v2); elsewhere only as
// far as their parent has waited for them (10 ms steps).
func (p *Process) Usage() (Usage, error) {
	if p.usage != nil {
		return p.usage()
	}
	return usage(p.PID, p.group)
}

// usage reads what pid and its descendants use. The groups, which may be empty, are theirs alone, one after the other.
func usage(pid int, groups ...tracker) (Usage, error) {
	u := Usage{Stolen: kernel.Stolen()}
	for _, q := range append([]int{pid}, kernel.Family(pid)...) {
		cpu, err := kernel.CPUTime(q)
		if err != nil {
			if q == pid {
				return u, fmt.Errorf("process %d: %w", pid, err)
			}
			continue // ended between listing and reading
		}
		p, _ := kernel.ReadProcess(q) // gone by now: it has waited for nobody
		waiting, _ := kernel.Waiting(q)
		status := kernel.ReadStatus(q)
		u.CPU += cpu + p.Waited
		u.PeakRSS += status.Bytes("VmHWM")
		u.Waiting += waiting
		u.Uncounted = u.Uncounted || status.WaitsForNone()
	}
	spent, all := countedByGroups(pid, groups...)
	u.CPU, u.Uncounted = max(u.CPU, spent), u.Uncounted && !all // of running threads it may be a tick behind
	return u, nil
}

// countedByGroups is the CPU time that control groups count, and says whether pid is in one of them: the kernel may
// have refused to move it there, and what its children use is then counted by none.
func countedByGroups(pid int, groups ...tracker) (spent time.Duration, in bool) {
	for _, g := range groups {
		if s, ok := g.spent(); ok {
			spent, in = spent+s, in || slices.Contains(g.pids(), pid)
		}
	}
	return spent, in
}

// Stopped lists the program's processes that a signal has stopped (SIGSTOP), or a debugger; none of a program on
// another machine.
func (p *Process) Stopped() (pids []int) {
	if p.usage != nil {
		return nil
	}
	for _, pid := range append([]int{p.PID}, kernel.Family(p.PID)...) {
		if q, err := kernel.ReadProcess(pid); err == nil && q.Stopped() {
			pids = append(pids, pid)
		}
	}
	return pids
}
