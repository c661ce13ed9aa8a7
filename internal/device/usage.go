package device

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Usage is what a process and all that it started have used so far.
type Usage struct {
	CPU     time.Duration // user and system, all threads
	PeakRSS int64         // B, the sum of each living one's peak
	// PeakLacks is how many B PeakRSS may lack where that is much of it; 0 elsewhere.
	PeakLacks int64
	// Killed are the processes that the kernel killed at the device's memory limit.
	Killed  int64
	Waiting time.Duration // runnable without a CPU, live threads only
	// WaitingUntold: the kernel keeps no account of Waiting.
	WaitingUntold bool
	Stolen        time.Duration // taken from each CPU of this device by the host of its virtual machine
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

// Usage reads what the program uses now. The first reading, before a run, is as quick as can be; those behind it look
// at its memory exactly. Processes of it that ended already count where it has a control group that counts CPU time
// (cgroup v2); elsewhere only as far as somebody has waited for them, the supervisor for those that left their parent
// (10 ms steps).
func (p *Process) Usage() (Usage, error) {
	if p.usage != nil {
		return p.usage()
	}
	return p.used(p.group)
}

// family are the program's processes, itself first: also those that left their parent, which are then its
// supervisor's children and no longer its own descendants.
func (p *Process) family() []int {
	top := p.PID
	if p.adopter != 0 {
		top = p.adopter
	}
	others := slices.DeleteFunc(kernel.Family(top), func(pid int) bool { return pid == p.PID })
	return append([]int{p.PID}, others...)
}

// ofAdopted is the CPU time of processes that left their parent and have ended.
func (p *Process) ofAdopted() time.Duration {
	if p.adopter == 0 {
		return 0
	}
	a, err := kernel.ReadProcess(p.adopter)
	if err != nil {
		return 0 // it is gone, and so is the program
	}
	return a.Waited - p.adoptedBefore
}

// used reads what the program's family uses. The groups, which may be empty, are its alone, one after the other.
func (p *Process) used(groups ...tracker) (Usage, error) {
	// Subtle: first, lest one that ends meanwhile counts twice, or the program itself, which its supervisor waits for.
	u := Usage{Stolen: kernel.Stolen(), CPU: p.ofAdopted()}
	exact := p.read.Swap(true)
	for _, q := range p.family() {
		cpu, err := kernel.CPUTime(q)
		if err != nil {
			if q == p.PID {
				return u, fmt.Errorf("process %d: %w", q, err)
			}
			continue // ended between listing and reading
		}
		was, _ := kernel.ReadProcess(q) // gone by now: it has waited for nobody
		waiting, told := kernel.Waiting(q)
		u.WaitingUntold = u.WaitingUntold || !told && q == p.PID
		status := kernel.ReadStatus(q)
		u.CPU += cpu + was.Waited
		peak, lacks := peakRSS(q, status, exact)
		u.PeakRSS, u.PeakLacks = u.PeakRSS+peak, u.PeakLacks+lacks
		u.Waiting += waiting
		u.Uncounted = u.Uncounted || status.WaitsForNone()
	}
	spent, all := countedByGroups(p.PID, groups...)
	u.CPU, u.Uncounted = max(u.CPU, spent), u.Uncounted && !all // of running threads it may be a tick behind
	return u, nil
}

// peakRSS is the most that a process had resident, in B, and how much that may lack where it is half as much or more.
// Exact: what it has resident now is looked at where VmHWM may lack a hundredth, as of small programs and of those with
// many threads. To look at each page takes the kernel 4 to 8 ms of a JVM of 340 MB with 81 threads.
func peakRSS(pid int, s kernel.Status, exact bool) (peak, lacks int64) {
	peak, lacks = s.PeakResident()
	if lacks < peak/100 {
		return peak, 0
	}
	if exact {
		if now, ok := kernel.Resident(pid); ok {
			return max(peak, now), 0
		}
	}
	if lacks < peak/2 {
		lacks = 0
	}
	return peak, lacks
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
	if p.adopter == 0 {
		return nil
	}
	for _, pid := range p.family() {
		if q, err := kernel.ReadProcess(pid); err == nil && q.Stopped() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Connections lists the TCP connections to a server that the program's network namespace knows. They may be those of
// any process in it: the server's address tells them apart.
func (p *Process) Connections(server netip.AddrPort) ([]kernel.Connection, error) {
	if p.connections != nil {
		return p.connections(server)
	}
	return kernel.Connections(p.PID, server)
}

// TCPCounters are those of the program's network namespace. Of one on another machine there are none: to ask for them
// takes as long as to ask for its connections.
func (p *Process) TCPCounters() (kernel.TCPCounters, error) {
	if p.connections != nil {
		return kernel.TCPCounters{}, errors.ErrUnsupported
	}
	return kernel.ReadTCPCounters(p.PID)
}
