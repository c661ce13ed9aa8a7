package lab

import (
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/store"
)

// At a rate, throughput is of the whole schedule where that ends after the last answer: 5 of 5 per second are 5 per
// second, not 6.25.
func TestThroughputAtARate(t *testing.T) {
	for _, tt := range []struct {
		rate    float64
		arrival string
		last    time.Duration
		want    float64
	}{
		{0, "", 800 * time.Millisecond, 6.25},
		{5, "constant", 800 * time.Millisecond, 5},
		{5, "constant", 2 * time.Second, 2.5}, // the last answer came late
		{5, "poisson", 500 * time.Millisecond, 5},
		{5, "poisson", 1250 * time.Millisecond, 4},
	} {
		e := sound()
		e.setup.Rate, e.setup.Arrival, e.setup.Duration, e.setup.Requests = tt.rate, tt.arrival, time.Second, 0
		e.sides[atClient].n, e.sides[atClient].failed, e.sides[atClient].last = 5, 0, int64(tt.last)
		e.summarize()
		i := slices.IndexFunc(e.findings.results, func(x store.Result) bool { return x.Response == "throughput" })
		if i < 0 || e.findings.results[i].Mean != tt.want {
			t.Errorf("%+v: got %+v", tt, e.findings.results)
		}
	}
}
