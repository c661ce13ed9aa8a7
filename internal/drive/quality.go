package drive

import (
	"bytes"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Quality is what the driver can say about itself during a recorded run: is a
// figure the stack's, or the driver's own trouble?
type Quality struct {
	Elapsed time.Duration `json:"elapsed"` // from the start of the run to its last exchange
	// CPU is the time this process ran, all threads; Spin the part of it that
	// waited busily for a due instant, so CPU − Spin is work.
	CPU  time.Duration `json:"cpu"`
	Spin time.Duration `json:"spin"`
	// RunQueueWait is how long its threads were ready to run and had no CPU; -1
	// where the kernel does not say (no schedstat).
	RunQueueWait time.Duration `json:"run_queue_wait"`
	CPUs         []int         `json:"cpus"` // on which it may run
	GOMAXPROCS   int           `json:"gomaxprocs"`
	// Lateness, open loop only: from the instant a request was due and a
	// connection free to the instant the driver took it up. Waiting for a free
	// connection is the server's slowness and not in it.
	LatenessP50 time.Duration `json:"lateness_p50"`
	LatenessP99 time.Duration `json:"lateness_p99"`
	LatenessMax time.Duration `json:"lateness_max"`
	// Reconnects are connections made anew that were to be kept alive.
	Reconnects int `json:"reconnects"`
	// Retransmissions are CoAP messages sent again.
	Retransmissions int `json:"retransmissions"`
	// Collections of garbage while running: 0, unless the Call made a lot of it.
	Collections int `json:"collections"`
	// StartedMonotonic and StartedReal are the run's instant 0 on
	// CLOCK_MONOTONIC and CLOCK_REALTIME, to align it with other instruments.
	StartedMonotonic time.Duration `json:"started_monotonic"`
	StartedReal      time.Duration `json:"started_real"`
}

// effort is what the process has used so far.
type effort struct {
	cpu, wait time.Duration
	gcs       int64
}

func effortNow() effort {
	var u unix.Rusage
	var g debug.GCStats
	unix.Getrusage(unix.RUSAGE_SELF, &u)
	debug.ReadGCStats(&g)
	return effort{
		cpu:  time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime)),
		wait: runQueueWait("/proc/self/task"), gcs: g.NumGC,
	}
}

func (q *Quality) since(e effort) {
	now := effortNow()
	q.CPU = now.cpu - e.cpu
	q.Collections = int(now.gcs - e.gcs)
	if q.RunQueueWait = -1; now.wait >= 0 && e.wait >= 0 {
		q.RunQueueWait = max(now.wait-e.wait, 0) // a thread that ended takes its share along
	}
}

// runQueueWait adds up the second column of every thread's schedstat: ns ready
// to run, but waiting. /proc/PID/schedstat is the first thread's only.
func runQueueWait(dir string) time.Duration {
	files, _ := filepath.Glob(filepath.Join(dir, "*", "schedstat"))
	sum, found := int64(0), false
	for _, f := range files {
		b, err := os.ReadFile(f)
		if fields := bytes.Fields(b); err == nil && len(fields) >= 2 {
			n, err := strconv.ParseInt(string(fields[1]), 10, 64)
			sum, found = sum+n, found || err == nil
		}
	}
	if !found {
		return -1
	}
	return time.Duration(sum)
}

// AllowedCPUs are those this process may run on.
func AllowedCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var cpus []int
	for i := range len(set) * bits.UintSize {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

func (q *Quality) place() {
	q.CPUs, q.GOMAXPROCS = AllowedCPUs(), runtime.GOMAXPROCS(0)
}

// histogram counts durations in classes 1/16 of a power of two wide, so that a
// quantile is right within 6 %, in 4 KiB and without allocation.
type histogram struct {
	counts [64 * 16]uint32
	n      int
	max    time.Duration
}

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.counts[class(uint64(d))]++
	h.n++
	h.max = max(h.max, d)
}

func class(v uint64) int {
	if v < 16 {
		return int(v)
	}
	shift := bits.Len64(v) - 5
	return (shift+1)*16 + int(v>>shift)&15
}

// quantile is the upper edge of the class that holds it; 0 if there is nothing.
func (h *histogram) quantile(p float64) time.Duration {
	rank, seen := int(math.Ceil(p*float64(h.n))), 0
	for i, c := range h.counts {
		if seen += int(c); c > 0 && seen >= rank {
			if i < 16 {
				return time.Duration(i)
			}
			shift := i/16 - 1
			return min(time.Duration((uint64(i&15)+17)<<shift-1), h.max)
		}
	}
	return 0
}
