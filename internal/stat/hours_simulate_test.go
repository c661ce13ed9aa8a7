package stat

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A machine whose speed wanders from hour to hour: an Ornstein-Uhlenbeck process of standard deviation 5 % whose
// correlation falls to 1/e within an hour. A trial adds a scatter of 1 %. coversHours is the share of runs of 10 blocks
// whose 95 % interval has the long-run mean in it, where the blocks begin a gap apart.
func coversHours(runs int, gap time.Duration) float64 {
	const wander, scatter, blocks = 0.05, 0.01, 10
	r := rand.New(rand.NewPCG(1, uint64(gap)))
	keep := math.Exp(-gap.Hours())
	hits := 0
	for range runs {
		xs := make([]float64, blocks)
		at := wander * r.NormFloat64()
		for i := range xs {
			xs[i] = 1 + at + scatter*r.NormFloat64()
			at = keep*at + wander*math.Sqrt(1-keep*keep)*r.NormFloat64()
		}
		if m, err := Mean(xs, 0.95); err == nil && covers(m, 1) {
			hits++
		}
	}
	return float64(hits) / float64(runs)
}

// The figures of doc/method.md, "What an interval covers".
func TestBlocksSpreadOverADayCoverItsHours(t *testing.T) {
	runs := 20_000
	if testing.Short() {
		runs = 5000
	}
	for _, c := range []struct {
		spread    time.Duration
		low, high float64
	}{{27 * time.Minute, 0.2, 0.45}, {6 * time.Hour, 0.7, 0.9}, {24 * time.Hour, 0.91, 0.96}} {
		got := coversHours(runs, c.spread/9)
		t.Logf("blocks spread over %v: %.1f %% of intervals cover the long-run mean", c.spread, 100*got)
		if got < c.low || got > c.high {
			t.Errorf("blocks spread over %v: %.3f of intervals cover the long-run mean, want %v to %v", c.spread, got, c.low, c.high)
		}
	}
}
