package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Process is what the kernel says of one (proc_pid_stat(5)).
type Process struct {
	State  byte          // 'R' running, 'S' sleeping, 'T' stopped, 'Z' ended and not yet waited for, …
	Parent int           // its process id
	Began  int64         // when, in the kernel's ticks since boot
	Waited time.Duration // CPU time of its children that ended and were waited for, in steps of 10 ms
}

// Tick is the step in which /proc/stat and /proc/PID/stat tell times: USER_HZ is 100 on every architecture that Go has
// Linux for.
const Tick = 10 * time.Millisecond

// ReadProcess reads /proc/PID/stat. The error is fs.ErrNotExist, or ESRCH, if
// there is no such process.
func ReadProcess(pid int) (Process, error) {
	b, err := ReadProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}, err
	}
	return parseStat(b)
}

// parseStat counts fields from the last bracket, since the process's name, the
// second field, may hold spaces and brackets.
func parseStat(b []byte) (Process, error) {
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return Process{}, fmt.Errorf("the kernel's statistics of a process are incomplete: %q", b)
	}
	number := func(field int) (n int64) { // as proc_pid_stat(5) counts
		n, err := strconv.ParseInt(string(f[field-3]), 10, 64)
		if err != nil {
			n = 0
		}
		return n
	}
	return Process{State: f[0][0], Parent: int(number(4)), Began: number(22),
		Waited: time.Duration(number(16)+number(17)) * Tick}, nil
}

// Stopped says that a signal (SIGSTOP) or a debugger has stopped the process.
func (p Process) Stopped() bool { return p.State == 'T' || p.State == 't' }

// Ended says that the process has ended and is kept only until its parent waits
// for it.
func (p Process) Ended() bool { return p.State == 'Z' || p.State == 'X' }

// Descendants lists the living descendants of pid as all of /proc shows them:
// complete, but it takes milliseconds.
func Descendants(pid int) []int {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children, ended := map[int][]int{}, map[int]bool{}
	for _, e := range all {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := ReadProcess(id); err == nil {
			children[p.Parent] = append(children[p.Parent], id)
			ended[id] = p.Ended()
		}
	}
	var living []int
	for todo := children[pid]; len(todo) > 0; {
		id := todo[0]
		todo = append(todo[1:], children[id]...)
		if !ended[id] {
			living = append(living, id)
		}
	}
	return living
}

// Family lists the descendants of pid as its threads name them (proc_pid_task(5),
// children), which is quick: while a program is measured. One that ends meanwhile
// may hide its siblings: to kill, use Descendants. Where the kernel keeps no such
// list it is Descendants.
func Family(pid int) []int {
	var found []int
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		children, ok := childrenOf(todo[0])
		if !ok {
			return Descendants(pid)
		}
		found, todo = append(found, children...), append(todo, children...)
	}
	return found
}

// childrenOf is not ok where the kernel keeps no list of children.
func childrenOf(pid int) (children []int, ok bool) {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	threads, _ := os.ReadDir(dir) // none: it has ended
	for _, t := range threads {
		b, err := ReadProc(dir + t.Name() + "/children")
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Stat(dir + t.Name()); err == nil {
				return nil, false
			}
		}
		for _, f := range bytes.Fields(b) {
			if id, err := strconv.Atoi(string(f)); err == nil {
				children = append(children, id)
			}
		}
	}
	return children, true
}

// CPUTime is the CPU time that a process has used, threads that ended included,
// by the scheduler's account, in ns: the clock of clock_getcpuclockid(3).
// /proc/PID/schedstat would give the first thread only, /proc/PID/stat steps of 10 ms.
func CPUTime(pid int) (time.Duration, error) {
	const scheduler = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// ThreadCPUTime is the CPU time of the calling thread, to which its goroutine is
// locked.
func ThreadCPUTime() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

// OwnCPUTime is the CPU time of this process.
func OwnCPUTime() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// OwnSystemTime is the part of it that system calls took.
func OwnSystemTime() time.Duration {
	var u unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Stime.Nano())
}

// Monotonic is now on CLOCK_MONOTONIC, which every process of the machine reads
// alike.
func Monotonic() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// BootID is random, and the same from one start of the machine to the next (random(4)); empty: the
// kernel does not say.
func BootID() string {
	b, _ := ReadProc("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// Waiting is how long the living threads of a process were ready to run and had
// no CPU: the second field of each one's schedstat. Not ok where the kernel keeps
// no such account (CONFIG_SCHED_INFO) or the process is gone.
func Waiting(pid int) (waiting time.Duration, ok bool) {
	return sumWaiting(fmt.Sprintf("/proc/%d/task/", pid))
}

func sumWaiting(dir string) (sum time.Duration, ok bool) {
	threads, _ := os.ReadDir(dir)
	for _, t := range threads {
		w, good := readWaiting(dir + t.Name() + "/schedstat")
		sum, ok = sum+w, ok || good
	}
	return sum, ok
}

// ThreadWaiting is Waiting of the calling thread alone.
func ThreadWaiting() time.Duration {
	w, _ := readWaiting("/proc/thread-self/schedstat")
	return w
}

func readWaiting(schedstat string) (time.Duration, bool) {
	b, err := ReadProc(schedstat)
	if err != nil {
		return 0, false
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0, false
	}
	ns, err := strconv.ParseInt(string(f[1]), 10, 64)
	return time.Duration(ns), err == nil
}

// Stolen is how long the host of this virtual machine has let its CPUs wait,
// per CPU, since it started: the field "steal" of /proc/stat, in steps of 10 ms
// shared by all CPUs. 0 on a machine of its own.
func Stolen() time.Duration {
	b, err := ReadProc("/proc/stat")
	if err != nil {
		return 0
	}
	return stolen(b)
}

func stolen(procStat []byte) time.Duration {
	var sum time.Duration
	cpus := 0
	for line := range bytes.Lines(procStat) {
		f := bytes.Fields(line)
		if len(f) < 9 || !bytes.HasPrefix(f[0], []byte("cpu")) {
			continue
		}
		if string(f[0]) != "cpu" {
			cpus++
			continue
		}
		ticks, _ := strconv.ParseInt(string(f[8]), 10, 64)
		sum = time.Duration(ticks) * Tick
	}
	return sum / time.Duration(max(cpus, 1))
}

// A Status is what the kernel says of a process line by line (proc_pid_status(5)); empty: there is no such process.
type Status []byte

// ReadStatus reads /proc/PID/status.
func ReadStatus(pid int) Status {
	b, _ := ReadProc(fmt.Sprintf("/proc/%d/status", pid))
	return b
}

// StatusBytes is a size in /proc/PID/status, such as VmHWM, in B; 0 if the
// process or the line is missing.
func StatusBytes(pid int, key string) int64 { return ReadStatus(pid).Bytes(key) }

// Bytes is a size, such as VmHWM, in B; 0 if the line is missing.
func (s Status) Bytes(key string) int64 {
	kib, _ := strconv.ParseInt(s.value(key), 10, 64)
	return kib << 10
}

// value is the first word behind a key; empty if the line is missing.
func (s Status) value(key string) string {
	for line := range bytes.Lines(s) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == key+":" {
			return string(f[1])
		}
	}
	return ""
}

// Resident is what a process has resident now, in B, counted page by page: see Status.PeakResident. Not ok where the
// kernel does not say (CONFIG_PROC_PAGE_MONITOR), or not to us.
func Resident(pid int) (n int64, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, false
	}
	s := Status(b)
	return s.Bytes("Rss"), s.value("Rss") != ""
}

// latePages are those that a thread has before the kernel adds them to its process's VmRSS and VmHWM
// (TASK_RSS_EVENTS_THRESH, until Linux 6.1; later kernels count by CPU, as late).
const latePages = 64

// PeakResident is the most that the process had resident, in B, as VmHWM tells it, and how much that may lack.
func (s Status) PeakResident() (peak, lacks int64) {
	threads, _ := strconv.ParseInt(s.value("Threads"), 10, 64)
	return s.Bytes("VmHWM"), latePages * threads * int64(os.Getpagesize())
}

// WaitsForNone says that the process ignores the end of its children: it waits for
// none, and the kernel then adds their CPU time to nobody's (getrusage(2)).
func (s Status) WaitsForNone() bool {
	ignored, _ := strconv.ParseUint(s.value("SigIgn"), 16, 64)
	return ignored&(1<<(unix.SIGCHLD-1)) != 0
}
