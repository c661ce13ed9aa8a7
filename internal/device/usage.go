package device

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what a process and its live descendants have used so far.
type Usage struct {
	CPU     time.Duration
	PeakRSS int64         // B, the sum of each one's peak
	Waiting time.Duration // runnable without a CPU, live threads only
	// Periods of a CPU quota that have passed, those in which it was spent, and
	// how long its processes waited then. 0 where there is no quota.
	Periods, Throttled int64
	ThrottledFor       time.Duration
	// Instructions of the user's, on a device that counts them.
	Instructions int64
}

// Usage reads what the process uses now. Descendants that ended already count
// only as far as their parent has waited for them (10 ms steps).
func (p *Process) Usage() (Usage, error) {
	if p.usage != nil {
		return p.usage()
	}
	return usage(p.PID)
}

func usage(pid int) (Usage, error) {
	var u Usage
	for _, q := range append([]int{pid}, family(pid)...) {
		cpu, err := processCPU(q)
		if err != nil {
			if q == pid {
				return u, fmt.Errorf("process %d: %w", pid, err)
			}
			continue // ended between listing and reading
		}
		u.CPU += cpu + waitedFor(q)
		u.PeakRSS += peakRSS(q)
		u.Waiting += waiting(q)
	}
	return u, nil
}

// family lists the descendants of pid as its threads name them (proc(5),
// children). Where the kernel has no such list all processes are looked through,
// which takes milliseconds and the program goes on meanwhile. One that ends
// while it is read may hide its siblings: for counting that is bearable, for
// killing descendants is used.
func family(pid int) []int {
	var found []int
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		children, ok := childrenOf(todo[0])
		if !ok {
			return descendants(pid)
		}
		found, todo = append(found, children...), append(todo, children...)
	}
	return found
}

// childrenOf is not ok where the kernel keeps no list of children.
func childrenOf(pid int) (children []int, ok bool) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, _ := os.ReadDir(dir) // none: it has ended
	for _, t := range tasks {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if errors.Is(err, fs.ErrNotExist) && exists(dir+"/"+t.Name()) {
			return nil, false
		}
		for _, f := range bytes.Fields(b) {
			if p, err := strconv.Atoi(string(f)); err == nil {
				children = append(children, p)
			}
		}
	}
	return children, true
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// processCPU reads the scheduler's account of a process, threads that ended
// included: the clock id of clock_getcpuclockid(3). /proc/PID/schedstat would
// give its first thread only, /proc/PID/stat steps of 10 ms.
func processCPU(pid int) (time.Duration, error) {
	const sched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// waitedFor is the CPU time of children that ended and were waited for (proc(5), cutime, cstime).
func waitedFor(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 15 {
		return 0
	}
	var ticks int64
	for _, s := range f[13:15] {
		n, _ := strconv.ParseInt(string(s), 10, 64)
		ticks += n
	}
	const hertz = 100 // USER_HZ is 100 on every Linux platform we build for
	return time.Duration(ticks) * time.Second / hertz
}

// peakRSS is VmHWM in bytes (proc(5)).
func peakRSS(pid int) int64 { return statusBytes(pid, "VmHWM:") }

// statusBytes is a size of /proc/PID/status.
func statusBytes(pid int, key string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(b, []byte(key))
	if !ok {
		return 0
	}
	f := bytes.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(string(f[0]), 10, 64)
	return kib * 1024
}

// waiting sums the run-queue wait of all live threads (schedstat, second field).
func waiting(pid int) time.Duration {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var ns int64
	for _, t := range tasks {
		b, err := os.ReadFile(dir + "/" + t.Name() + "/schedstat")
		if err != nil {
			continue
		}
		if f := bytes.Fields(b); len(f) > 1 {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			ns += n
		}
	}
	return time.Duration(ns)
}
