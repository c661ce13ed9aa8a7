package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Why order is randomized: two stacks that are equal in truth, 10 trials each,
// 1 % spread, on a bench that changes while they run.
func TestSimulatedOrders(t *testing.T) {
	benches := []struct {
		words string
		slow  func(slot int, r *rand.Rand) float64 // factor on the RTT
	}{
		{"a steady bench", func(int, *rand.Rand) float64 { return 1 }},
		{"a bench that warms up by 15 %", func(i int, _ *rand.Rand) float64 { return 1.15 - 0.15*math.Exp(-float64(i)/8) }},
		{"a bench disturbed in every other trial, by 5 %",
			func(i int, _ *rand.Rand) float64 { return 1 + 0.05*float64(i%2) }},
	}
	orders := []struct {
		words  string
		first  func(r *rand.Rand) []bool // which of 20 slots the first stack gets
		blocks bool
	}{
		{"one stack after the other, Welch", func(*rand.Rand) []bool { return slots(func(i int) bool { return i < 10 }) },
			false},
		{"alternating, paired", func(*rand.Rand) []bool { return slots(func(i int) bool { return i%2 == 0 }) }, true},
		{"random throughout, Welch", func(r *rand.Rand) []bool {
			place := r.Perm(20)
			return slots(func(i int) bool { return place[i] < 10 })
		}, false},
		{"random in blocks, paired", func(r *rand.Rand) []bool {
			flip := draws(10, r.Float64)
			return slots(func(i int) bool { return (i%2 == 0) == (flip[i/2] < 0.5) })
		}, true},
	}
	want := map[string][2]float64{ // the bands of the full run, per cent
		"one stack after the other, Welch; a bench that warms up by 15 %":                  {95, 100},
		"alternating, paired; a bench that warms up by 15 %":                               {10, 100},
		"alternating, paired; a bench disturbed in every other trial, by 5 %":              {95, 100},
		"random throughout, Welch; a bench that warms up by 15 %":                          {3.5, 6},
		"random in blocks, paired; a bench that warms up by 15 %":                          {3.5, 6},
		"random in blocks, paired; a bench disturbed in every other trial, by 5 %":         {1, 6},
		"random throughout, Welch; a bench disturbed in every other trial, by 5 %":         {1, 6},
		"one stack after the other, Welch; a bench disturbed in every other trial, by 5 %": {0, 6},
	}
	var rows []simulation
	for _, o := range orders {
		for _, b := range benches {
			words := o.words + "; " + b.words
			band, ok := want[words]
			if !ok {
				band = [2]float64{4, 6}
			}
			rows = append(rows, simulation{words, band[0], band[1], 0, func(r *rand.Rand) bool {
				var x, y []float64
				for i, first := range o.first(r) {
					rtt := b.slow(i, r) * math.Exp(0.01*r.NormFloat64())
					if first {
						x = append(x, rtt)
					} else {
						y = append(y, rtt)
					}
				}
				if o.blocks {
					return got(RatioPaired(x, y, 0.95)).P < 0.05
				}
				return got(RatioWelch(x, y, 0.95)).P < 0.05
			}, ""})
		}
	}
	simulate(t, rows)
}

func slots(first func(int) bool) []bool {
	out := make([]bool, 20)
	for i := range out {
		out[i] = first(i)
	}
	return out
}
