package link

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A measurement is ahead of others while it lasts, and leaves no thread so.
func TestAheadEndsWithItsFunction(t *testing.T) {
	capable(t)
	policies := func() map[uint32]int {
		out := map[uint32]int{}
		threads, _ := os.ReadDir("/proc/self/task")
		for _, x := range threads {
			tid, _ := strconv.Atoi(x.Name())
			if a, err := unix.SchedGetAttr(tid, 0); err == nil {
				out[a.Policy]++
			}
		}
		return out
	}
	before := policies()
	wanted := errors.New("its own error")
	could, err := Ahead(func() error {
		if in := policies(); in[unix.SCHED_FIFO] == 0 || in[unix.SCHED_NORMAL] > 0 {
			t.Errorf("threads have the policies %v, want all ahead", in)
		}
		return wanted
	})
	if !could || !errors.Is(err, wanted) {
		t.Errorf("got %v, %v; root may be ahead", could, err)
	}
	if after := policies(); after[unix.SCHED_FIFO] > 0 || before[unix.SCHED_FIFO] > 0 {
		t.Errorf("threads have the policies %v afterwards, and had %v", after, before)
	}
}
