package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A stopping is a treatment that is measured until its interval is narrow: what
// design.precision does on one bench. It takes two looks: with the last trial and without.
type stopping struct {
	from, most int     // trials
	share      float64 // half-width over center
	figure     func([]float64, float64) (Summary, error)
	draw       func(*rand.Rand) float64
}

func (s stopping) once(r *rand.Rand) []float64 {
	xs := draws(s.from, func() float64 { return s.draw(r) })
	precise := func(n int) bool { return got(s.figure(xs[:n], 0.95)).Precise(s.share) }
	for was := precise(s.from - 1); len(xs) < s.most; xs = append(xs, s.draw(r)) {
		is := precise(len(xs))
		if is && was {
			break
		}
		was = is
	}
	return xs
}

// twoStates draws trials of two states, the slower 20 % slower than the other, each 2 % wide.
func twoStates(slow float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		x := 1 + 0.02*r.NormFloat64()
		if r.Float64() < slow {
			x *= 1.2
		}
		return x
	}
}

// Treatments that are measured until they are known within 5 %, as the quickstart's are: how often
// their intervals, and those of ratios between two that stop at different times, hold.
func TestSimulatedStopping(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	lognormal := func(sigma float64) func(*rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return math.Exp(sigma * r.NormFloat64()) }
	}
	mean := func(from int, draw func(*rand.Rand) float64, truth float64) func(*rand.Rand) bool {
		s := stopping{from, 120, 0.05, Mean, draw}
		return func(r *rand.Rand) bool { return covers(got(Mean(s.once(r), 0.95)), truth) }
	}
	median := func(from int, draw func(*rand.Rand) float64, truth float64) func(*rand.Rand) bool {
		s := stopping{from, 120, 0.05, Median, draw}
		return func(r *rand.Rand) bool { return covers(got(Median(s.once(r), 0.95)), truth) }
	}
	// the quieter stops first, and the two are compared by the blocks that both have
	ratio := func(r *rand.Rand) bool {
		shifts := normal(r, 120, 0, 0.03) // of the blocks
		trials := func(sigma float64) []float64 {
			b := -1
			s := stopping{12, 120, 0.05, Mean, func(r *rand.Rand) float64 {
				b++
				return math.Exp(shifts[b] + sigma*r.NormFloat64())
			}}
			return s.once(r)
		}
		x, y := trials(0.06), trials(0.15)
		n := min(len(x), len(y))
		return spans(got(RatioPaired(x[:n], y[:n], 0.95)), 1)
	}
	simulate(t, []simulation{
		{"until ±5 %, 12 to 120 trials: mean, lognormal, spread 8 %", 93, 96, 8000,
			mean(12, lognormal(0.08), math.Exp(0.08*0.08/2)), ""},
		{"until ±5 %, 12 to 120 trials: mean, lognormal, spread 15 %", 93, 96, 8000,
			mean(12, lognormal(0.15), math.Exp(0.15*0.15/2)), ""},
		{"until ±5 %, 12 to 120 trials: mean, half of the trials 20 % slower", 92, 96, 8000, mean(12, twoStates(0.5), 1.1), ""},
		{"until ±5 %, 12 to 120 trials: mean, 20 % of the trials 20 % slower", 92, 96, 8000, mean(12, twoStates(0.2), 1.04), ""},
		{"until ±5 %, 12 to 120 trials: median, lognormal, spread 8 %", 93, 98, 8000, median(12, lognormal(0.08), 1), ""},
		{"until ±5 %, 12 to 120 trials: median, lognormal, spread 15 %", 93, 98, 8000, median(12, lognormal(0.15), 1), ""},
		{"until ±5 %, 12 to 120 trials: ratio of spreads 6 and 15 %, by common blocks", 93, 96, 8000, ratio, ""},
	})
}
