package kernel

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// QuietestCPUs lists the CPUs that the calling thread may run on, the one with the
// most idle time over the span first; of equally idle ones the last, since the
// first serves most interrupts. Nil if the kernel does not say.
func QuietestCPUs(ctx context.Context, over time.Duration) []int {
	cpus := AllowedCPUs()
	if len(cpus) < 2 {
		return cpus
	}
	slices.Reverse(cpus)
	before := readTicks()
	select {
	case <-ctx.Done():
	case <-time.After(over):
	}
	after := readTicks()
	const alike = 3 // ticks
	idle := func(cpu int) int64 { return (after[cpu].idle - before[cpu].idle) / alike }
	slices.SortStableFunc(cpus, func(a, b int) int { return int(idle(b) - idle(a)) })
	return cpus
}

// CPUSpent is how some CPUs have spent the time since the machine started, summed.
type CPUSpent struct {
	Unused time.Duration // idle, or taken by the host of a virtual machine, in steps of Tick of each CPU
	Busy   time.Duration // running threads, in steps of a thread's turn; 0: the kernel does not say
}

// SpentBy reads it; zeros where the kernel does not say.
func SpentBy(cpus []int) (s CPUSpent) {
	ticks := readTicks()
	for _, cpu := range cpus {
		s.Unused += time.Duration(ticks[cpu].idle+ticks[cpu].stolen) * Tick
	}
	s.Busy = busyIn("/proc/schedstat", cpus, parseSchedstat)
	if s.Busy == 0 {
		s.Busy = busyIn("/sys/fs/cgroup/cpuacct/cpuacct.usage_percpu", cpus, parseUsagePerCPU)
	}
	return s
}

// busyIn sums what a file tells of some CPUs in ns; 0 where it does not tell of all.
func busyIn(file string, cpus []int, parse func([]byte) map[int]int64) (sum time.Duration) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	of := parse(b)
	for _, cpu := range cpus {
		if of[cpu] <= 0 {
			return 0
		}
		sum += time.Duration(of[cpu])
	}
	return sum
}

// parseSchedstat reads the seventh figure of each CPU's line: the time that threads spent running on it, in ns
// (Documentation/scheduler/sched-stats.rst, version 15 and later).
func parseSchedstat(b []byte) map[int]int64 {
	out := map[int]int64{}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		var cpu int
		if len(f) < 8 {
			continue
		}
		if _, err := fmt.Sscanf(string(f[0]), "cpu%d", &cpu); err != nil {
			continue
		}
		if ns, err := strconv.ParseInt(string(f[7]), 10, 64); err == nil {
			out[cpu] = ns
		}
	}
	return out
}

// parseUsagePerCPU reads a figure for each CPU, in their order: what all threads of a control group of version 1
// used, in ns. In a container they may be those of the container alone.
func parseUsagePerCPU(b []byte) map[int]int64 {
	out := map[int]int64{}
	for cpu, f := range bytes.Fields(b) {
		if ns, err := strconv.ParseInt(string(f), 10, 64); err == nil {
			out[cpu] = ns
		}
	}
	return out
}

// cpuTicks are what a CPU did while it ran no thread, in steps of Tick.
type cpuTicks struct{ idle, stolen int64 }

func readTicks() map[int]cpuTicks {
	b, err := ReadProc("/proc/stat")
	if err != nil {
		return nil
	}
	return parseTicks(b)
}

// parseTicks reads the fields idle, iowait and steal of each CPU's line (proc_stat(5)).
func parseTicks(b []byte) map[int]cpuTicks {
	out := map[int]cpuTicks{}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		var cpu int
		if len(f) < 9 {
			continue
		}
		if _, err := fmt.Sscanf(string(f[0]), "cpu%d", &cpu); err != nil {
			continue
		}
		var n [9]int64
		var errs [9]error
		for _, i := range []int{4, 5, 8} {
			n[i], errs[i] = strconv.ParseInt(string(f[i]), 10, 64)
		}
		if cmp.Or(errs[:]...) == nil {
			out[cpu] = cpuTicks{idle: n[4] + n[5], stolen: n[8]}
		}
	}
	return out
}
