package lab

import (
	"testing"
	"time"
)

// The longest time between two ticks is known, at the end as well.
func TestStallWatchTellsForHowLongNothingRan(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		ticks []time.Duration // when each is felt
		ended time.Duration
		want  time.Duration
	}{
		{[]time.Duration{1 * s, 2 * s, 3 * s}, 3 * s, s},
		{[]time.Duration{1 * s, 6 * s, 7 * s}, 8 * s, 5 * s},
		{[]time.Duration{1 * s}, 4 * s, 3 * s},
		{nil, 2 * s, 2 * s},
	} {
		at := time.Duration(0)
		ticks, ended, stall := make(chan time.Time), make(chan struct{}), make(chan time.Duration)
		begun := make(chan struct{}, len(tt.ticks)+2)
		go func() {
			stall <- longestStall(func() time.Duration {
				now := at
				begun <- struct{}{}
				return now
			}, ticks, ended)
		}()
		<-begun
		for _, b := range tt.ticks {
			at = b
			ticks <- time.Time{}
			<-begun
		}
		at = tt.ended
		close(ended)
		if got := <-stall; got != tt.want {
			t.Errorf("ticks at %v until %v: %v, not %v", tt.ticks, tt.ended, got, tt.want)
		}
	}
	if stall := watchForStalls().stop(); stall < 0 {
		t.Errorf("got %v", stall)
	}
}
