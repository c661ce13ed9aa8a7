package kernel

import (
	"bytes"
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
	slices.Reverse(cpus)
	before := idleTicks()
	select {
	case <-ctx.Done():
	case <-time.After(over):
	}
	after := idleTicks()
	const alike = 3 // ticks
	idle := func(cpu int) int64 { return (after[cpu] - before[cpu]) / alike }
	slices.SortStableFunc(cpus, func(a, b int) int { return int(idle(b) - idle(a)) })
	return cpus
}

// Idle is how long some CPUs have been idle since the machine started, summed, in steps of 10 ms of each;
// 0 where the kernel does not say.
func Idle(cpus []int) (sum time.Duration) {
	const tick = 10 * time.Millisecond // as for Stolen
	ticks := idleTicks()
	for _, cpu := range cpus {
		sum += time.Duration(ticks[cpu]) * tick
	}
	return sum
}

// idleTicks is how long each CPU has been idle, in the kernel's ticks.
func idleTicks() map[int]int64 {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	return parseIdle(b)
}

// parseIdle reads the fields idle and iowait of each CPU's line (proc_stat(5)).
func parseIdle(b []byte) map[int]int64 {
	out := map[int]int64{}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		var cpu int
		if len(f) < 6 {
			continue
		}
		if _, err := fmt.Sscanf(string(f[0]), "cpu%d", &cpu); err != nil {
			continue
		}
		idle, err := strconv.ParseInt(string(f[4]), 10, 64)
		wait, err2 := strconv.ParseInt(string(f[5]), 10, 64)
		if err == nil && err2 == nil {
			out[cpu] = idle + wait
		}
	}
	return out
}
