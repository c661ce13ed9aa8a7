package main

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
)

// How long the driver waited for a CPU is of the time for which that was counted: one request of 0.2 ms in it is not
// that time. A run that is too short does not tell.
func TestProbeDividesWaitingByItsOwnTime(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		waited, elapsed, watched time.Duration
		share                    float64
		said                     string
	}{
		{54 * ms / 10, ms, 2 * ms, 1, ""},
		{2 * ms, ms / 5, 4 * ms, 0.5, ""},
		{2 * ms, ms / 5, 40 * ms, 0.05, ""},
		{20 * ms, ms / 5, 40 * ms, 0.5, "waited for a CPU for 0.5 s of each second"},
		{90 * ms, 35 * ms, 40 * ms, 1, "waited for a CPU for 1 s of each second"}, // two threads at once
		{-1, ms / 5, 40 * ms, 0, ""},
	} {
		x := figures{sent: 1, rtt: []int64{1}, quality: drive.DriverStats{RunQueueWait: tt.waited, Elapsed: tt.elapsed,
			Watched: tt.watched}}
		share, _ := x.starved()
		said := strings.Join(totalOf([]figures{x, x, x}).warnings(), " ")
		if share != tt.share || (tt.said == "") != (said == "") || !strings.Contains(said, tt.said) {
			t.Errorf("%v of %v (%v): got %g, said %q", tt.waited, tt.watched, tt.elapsed, share, said)
		}
	}
}
