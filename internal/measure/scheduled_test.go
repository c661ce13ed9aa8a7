package measure

import (
	"testing"
	"time"
)

// Of n requests at a constant rate, the interval after the last one belongs to their time; random arrivals begin with
// one.
func TestScheduled(t *testing.T) {
	for _, tt := range []struct {
		rate    float64
		random  bool
		n, most int
		lasts   time.Duration
		want    time.Duration
	}{
		{0, false, 100, 100, time.Second, 0}, // a closed loop
		{5, false, 5, 0, time.Second, time.Second},
		{3, false, 3, 0, time.Second, time.Second},
		{100, false, 1000, 1000, 0, 10 * time.Second},
		{3.5, false, 4, 0, time.Second, 1142857142}, // the fourth is due within the second
		{0.001, false, 1, 0, time.Second, 1000 * time.Second},
		{1e-12, false, 1, 0, time.Second, 1 << 62},
		{100, true, 93, 0, time.Second, time.Second},
		{100, true, 93, 1000, time.Second, time.Second},
		{100, true, 50, 50, time.Second, 0}, // their number ended it
		{100, true, 50, 50, 0, 0},
	} {
		if got := Scheduled(tt.rate, tt.random, tt.n, tt.most, tt.lasts); got != tt.want {
			t.Errorf("%+v: got %v", tt, got)
		}
	}
}
