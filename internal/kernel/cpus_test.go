package kernel

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestWhatCPUsDid(t *testing.T) {
	got := parseTicks([]byte("cpu  9 9 9 900 9 0 0 0 0 0\ncpu0 1 2 3 400 5 6 7 8 0 0\ncpu11 1 2 3 40 1 6 7 0 0 0\n" +
		"intr 1 2 3 4 5 6 7 8\ncpux 1 2 3 4 5 6 7 8\ncpu2 1 2\ncpu3 1 2 3 4 5 6 7 x\n"))
	if want := map[int]cpuTicks{0: {405, 8}, 11: {41, 0}}; !maps.Equal(got, want) {
		t.Errorf("/proc/stat: got %v, want %v", got, want)
	}
	run := parseSchedstat([]byte("version 17\ntimestamp 4295039520\ncpu0 0 0 0 0 0 0 123456789012 7 9\n" +
		"domain0 MC 3 1 2 3 4 5 6 7 8\ncpu1 0 0 0 0 0 0 5 7 9\n"))
	if want := map[int]int64{0: 123456789012, 1: 5}; !maps.Equal(run, want) {
		t.Errorf("/proc/schedstat: got %v, want %v", run, want)
	}
	if got := parseUsagePerCPU([]byte("30 29 \n")); !maps.Equal(got, map[int]int64{0: 30, 1: 29}) {
		t.Errorf("cpuacct.usage_percpu: got %v", got)
	}
}

// A kernel that does not tell of each CPU tells nothing.
func TestBusyTimeOfSomeCPUs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usage")
	if err := os.WriteFile(file, []byte("30 29 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file string
		cpus []int
		want time.Duration
	}{
		{file, []int{1}, 29}, {file, []int{0, 1}, 59}, {file, []int{0, 2}, 0}, {file + "x", []int{0}, 0},
	} {
		if got := busyIn(tt.file, tt.cpus, parseUsagePerCPU); got != tt.want {
			t.Errorf("CPUs %v of %s: got %d ns, want %d", tt.cpus, tt.file, got, tt.want)
		}
	}
}

func TestQuietestCPUsAreThoseAllowed(t *testing.T) {
	got, want := QuietestCPUs(t.Context(), 0), AllowedCPUs()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What several CPUs spent is that of each, added up, and no more than there was.
func TestWhatSeveralCPUsSpent(t *testing.T) {
	all := AllowedCPUs()
	each := func() (sum CPUSpent) {
		for _, cpu := range all {
			s := SpentBy([]int{cpu})
			sum.Unused, sum.Busy = sum.Unused+s.Unused, sum.Busy+s.Busy
		}
		return sum
	}
	least := each()
	got := SpentBy(all)
	most := each()
	if least.Unused <= 0 || got.Unused < least.Unused || got.Unused > most.Unused ||
		got.Busy < least.Busy || got.Busy > most.Busy {
		t.Errorf("%d CPUs: %v, want %v to %v", len(all), got, least, most)
	}
}

// A thread that may use one CPU has no choice, and watches nothing.
func TestTheOnlyCPUIsNotWatched(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	one := AllowedCPUs()[:1]
	back, err := PinThread(one)
	if err != nil {
		t.Fatal(err)
	}
	defer back()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got := QuietestCPUs(ctx, time.Hour); !slices.Equal(got, one) || ctx.Err() != nil {
		t.Errorf("got %v, want %v at once: %v", got, one, ctx.Err())
	}
}
