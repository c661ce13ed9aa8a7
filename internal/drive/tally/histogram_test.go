package tally

import (
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	var h Histogram
	for i := range 1000 {
		h.Add(time.Duration(i+1) * time.Microsecond)
	}
	for p, want := range map[float64]time.Duration{0.5: 500 * time.Microsecond, 0.99: 990 * time.Microsecond,
		1: time.Millisecond} {
		if got := h.Quantile(p); got < want || got > want*17/16 {
			t.Errorf("quantile %g: got %v, want %v to 6 %% more", p, got, want)
		}
	}
}
