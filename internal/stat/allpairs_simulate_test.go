package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// worlds are the distributions of equal treatments: one value of treatment i.
var worlds = []struct {
	name string
	draw func(r *rand.Rand, i int) float64
}{
	{"normal, spread 5 %", func(r *rand.Rand, _ int) float64 { return 1 + 0.05*r.NormFloat64() }},
	{"log-normal, spread 50 %", func(r *rand.Rand, _ int) float64 { return math.Exp(0.5 * r.NormFloat64()) }},
	{"two humps, 40 % of trials 30 % slower", func(r *rand.Rand, _ int) float64 { return math.Exp(hump(r)) }},
	{"spikes, 7 % of trials 20 times slower", func(r *rand.Rand, _ int) float64 {
		v := 0.02 * r.NormFloat64()
		if r.Float64() < 0.07 {
			v += 3
		}
		return math.Exp(v)
	}},
	{"normal, spread 2 % and 20 % in turn", func(r *rand.Rand, i int) float64 {
		return math.Exp(0.02 * math.Pow(10, float64(i%2)) * r.NormFloat64())
	}},
}

func hump(r *rand.Rand) float64 {
	v := 0.01 * r.NormFloat64()
	if r.Float64() < 0.4 {
		v += math.Log(1.3)
	}
	return v
}

// bestIsToldApart reports whether the treatment with the least mean is called
// better than any of its equals.
func bestIsToldApart(r *rand.Rand, draw func(*rand.Rand, int) float64, k, n int) bool {
	rows := make([][]float64, k)
	best, least := 0, math.Inf(1)
	for i := range rows {
		sum := 0.0
		for range n {
			v := draw(r, i)
			rows[i], sum = append(rows[i], v), sum+v
		}
		if sum < least {
			best, least = i, sum
		}
	}
	p, err := NewAllPairs(rows, 0.95)
	if err != nil {
		panic(err)
	}
	for i := range rows {
		if i == best {
			continue
		}
		if c, err := p.Interval(i, best); err == nil && c.Lo > 1 {
			return true
		}
	}
	return false
}

func TestSimulatedBestOfEquals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	var rows []simulation
	for _, w := range worlds {
		for _, k := range []int{2, 3, 5, 11, 30} {
			for _, n := range []int{5, 10, 30} {
				runs := 8_000
				if k == 30 {
					runs = 2_000
					if !*full {
						continue
					}
				}
				high, why := 5.0, ""
				if k == 30 && n == 5 && w.name == "normal, spread 2 % and 20 % in turn" {
					high, why = 8, "five blocks are few for 30 spreads: take 10"
				}
				rows = append(rows, simulation{words: fmt.Sprintf("best of %d equal treatments called better, %d blocks; %s",
					k, n, w.name),
					low: 0, high: high, why: why, runs: runs,
					once: func(r *rand.Rand) bool { return bestIsToldApart(r, w.draw, k, n) }})
			}
		}
	}
	simulate(t, rows)
}

// holdsTruth counts how often an interval of n draws holds the truth.
func holdsTruth(n int, truth float64, draw func(*rand.Rand) float64,
	interval func([]float64, float64) (Summary, error)) func(*rand.Rand) bool {
	return func(r *rand.Rand) bool {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = draw(r)
		}
		s, err := interval(xs, 0.95)
		return err == nil && s.Lo <= truth && truth <= s.Hi
	}
}

func TestSimulatedClusters(t *testing.T) {
	slow := func(r *rand.Rand) float64 {
		v := math.Exp(0.01 * r.NormFloat64())
		if r.Float64() < 0.3 {
			v *= 1.4
		}
		return v
	}
	mean := math.Exp(0.00005) * (0.7 + 0.3*1.4) // of log-normal noise of 1 %
	found := func(n int, draw func(*rand.Rand) float64) func(*rand.Rand) bool {
		return holdsTruth(n, 1, draw, func(xs []float64, _ float64) (Summary, error) {
			_, ok := FindClusters(xs)
			return Summary{Lo: 1, Hi: map[bool]float64{true: 1, false: 0}[ok]}, nil
		})
	}
	wide := func(r *rand.Rand) float64 { return math.Exp(0.3 * r.NormFloat64()) }
	spread := func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64() - 0.5) }
	// The median of two humps lies among the quick trials: the one with rank 0.5/0.7 of them.
	median := math.Exp(0.01 * 0.5659)
	simulate(t, []simulation{
		{words: "mean, t: 5 trials, 30 % of them 40 % slower", low: 79, high: 84, once: holdsTruth(5, mean, slow, Mean),
			why: "in 17 of 100 studies all five are quick: the interval is narrow and wrong"},
		{words: "mean, t: 10 trials, 30 % of them 40 % slower", low: 92, high: 98, once: holdsTruth(10, mean, slow, Mean)},
		{words: "median: 6 trials, 30 % of them 40 % slower", low: 95, high: 99, once: holdsTruth(6, median, slow, Median),
			why: "order statistics know no shape"},
		{words: "median: 10 trials, 30 % of them 40 % slower", low: 95, high: 99, once: holdsTruth(10, median, slow, Median),
			why: "order statistics know no shape"},
		{words: "two clusters found: 5 trials, 30 % of them 40 % slower", low: 30, high: 70, once: found(5, slow),
			why: "power: three of five, or two"},
		{words: "two clusters found: 10 trials, 30 % of them 40 % slower", low: 75, high: 100, once: found(10, slow),
			why: "power"},
		{words: "two clusters found: 5 log-normal trials, spread 30 %", low: 0.5, high: 1.5, once: found(5, wide),
			why: "false alarms, at 1 %"},
		{words: "two clusters found: 10 log-normal trials, spread 30 %", low: 0.5, high: 1.5, once: found(10, wide),
			why: "false alarms, at 1 %"},
		{words: "positive mean: 10 lognormal trials, spread 130 %", low: 75, high: 95,
			once: holdsTruth(10, 1, spread, PositiveMean),
			why:  "an order of magnitude; the t interval, which reaches below 0, covers no more"},
	})
}
