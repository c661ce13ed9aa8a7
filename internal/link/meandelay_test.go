package link

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// The mean that is told of a spread is that of the delays which are drawn.
func TestMeanDelayIsThatOfDrawnDelays(t *testing.T) {
	const draws = 100_000
	const ms = time.Millisecond
	for _, s := range []Shape{{Delay: 10 * ms}, {Delay: ms, DelayStdDev: 100 * ms}, {Delay: 50 * ms, DelayStdDev: 50 * ms},
		{Delay: 100 * ms, DelayStdDev: 10 * ms}} {
		p := pipe{Shape: s, rng: rand.New(rand.NewPCG(30, 11))}
		sum := 0.0
		for range draws {
			sum += float64(p.delay()) / draws
		}
		bound := 4*float64(s.DelayStdDev)/math.Sqrt(draws) + 1
		if d := sum - float64(s.MeanDelay()); math.Abs(d) > bound {
			t.Errorf("%v: drawn %v, told %v", s, time.Duration(sum), s.MeanDelay())
		}
	}
}
