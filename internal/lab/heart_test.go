package lab

import (
	"testing"
	"time"
)

// The longest time without a beat is known, at the end as well.
func TestHeartTellsForHowLongNothingRan(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		beats []time.Duration // when each is felt
		ended time.Duration
		want  time.Duration
	}{
		{[]time.Duration{1 * s, 2 * s, 3 * s}, 3 * s, s},
		{[]time.Duration{1 * s, 6 * s, 7 * s}, 8 * s, 5 * s},
		{[]time.Duration{1 * s}, 4 * s, 3 * s},
		{nil, 2 * s, 2 * s},
	} {
		at := time.Duration(0)
		beats, ended, still := make(chan time.Time), make(chan struct{}), make(chan time.Duration)
		begun := make(chan struct{}, len(tt.beats)+2)
		go func() {
			still <- longestStill(func() time.Duration {
				now := at
				begun <- struct{}{}
				return now
			}, beats, ended)
		}()
		<-begun
		for _, b := range tt.beats {
			at = b
			beats <- time.Time{}
			<-begun
		}
		at = tt.ended
		close(ended)
		if got := <-still; got != tt.want {
			t.Errorf("beats at %v until %v: %v, not %v", tt.beats, tt.ended, got, tt.want)
		}
	}
	if still := startHeart().stop(); still < 0 {
		t.Errorf("got %v", still)
	}
}
