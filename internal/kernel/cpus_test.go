package kernel

import (
	"slices"
	"testing"
	"time"
)

func TestIdleTimeOfEachCPU(t *testing.T) {
	got := parseIdle([]byte("cpu  9 9 9 900 9 0 0 0 0 0\ncpu0 1 2 3 400 5 6 7 8 0 0\ncpu11 1 2 3 40 1 6 7 8 0 0\n" +
		"intr 1 2 3 4 5 6\ncpux 1 2 3 4 5\ncpu2 1 2\n"))
	if len(got) != 2 || got[0] != 405 || got[11] != 41 {
		t.Errorf("got %v, want 405 of CPU 0 and 41 of CPU 11", got)
	}
}

func TestQuietestCPUsAreThoseAllowed(t *testing.T) {
	got, want := QuietestCPUs(t.Context(), 0), AllowedCPUs()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The idle time of several CPUs is that of each, added up.
func TestIdleOfSeveralCPUs(t *testing.T) {
	all := AllowedCPUs()
	each := func() (sum time.Duration) {
		for _, cpu := range all {
			sum += Idle([]int{cpu})
		}
		return sum
	}
	least := each()
	got := Idle(all)
	if most := each(); least <= 0 || got < least || got > most {
		t.Errorf("%d CPUs: %v, want %v to %v", len(all), got, least, most)
	}
}
