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
	return toldApart(rowsOf(r, draw, k, n), false)
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

// Of equals of few blocks whose trials fall into two kinds, in at most one study in twenty some treatment is told
// apart from the best, from three blocks and three treatments on; with the lower quartile of all variances
// it was one in ten. Of normal trials as many differences are found as with that. The rates of doc/method.md are those
// of -stat.full.
func TestSimulatedBestOfFewBlocks(t *testing.T) {
	studies := 200
	if *full {
		studies = 10_000
	}
	kinds := func(share, times, noise float64) func(*rand.Rand, int) float64 {
		return func(r *rand.Rand, _ int) float64 {
			v := math.Exp(noise * r.NormFloat64())
			if r.Float64() < share {
				v *= times
			}
			return v
		}
	}
	slower := func(r *rand.Rand, i int) float64 {
		return math.Exp(0.02*r.NormFloat64()) * map[bool]float64{true: 1.2, false: 1}[i == 0]
	}
	for _, w := range []struct {
		words  string
		draw   func(*rand.Rand, int) float64
		equals bool
		keeps  bool // as many differences are found as before
	}{
		{"equals, 30 % of trials 40 % longer, spread 0.2 %", kinds(0.3, 1.4, 0.002), true, false},
		{"equals, 40 % of trials 30 % longer, spread 1 %", kinds(0.4, 1.3, 0.01), true, false},
		{"equals, half of the trials 40 % longer, spread 0.2 %", kinds(0.5, 1.4, 0.002), true, false},
		{"equals, normal, spread 5 %", worlds[0].draw, true, false},
		{"one takes 1.2 times as long, spread 2 %", slower, false, true},
		{"one takes 1.5 times as long, every other spreads by 20 %, else 2 %", func(r *rand.Rand, i int) float64 {
			return worlds[4].draw(r, i) * map[bool]float64{true: 1.5, false: 1}[i == 0]
		}, false, false},
	} {
		for _, k := range []int{2, 3, 4, 5, 10, 20} {
			for _, n := range []int{2, 3} {
				r, before, now := rand.New(rand.NewPCG(30, uint64(k))), 0, 0
				for range studies {
					rows := rowsOf(r, w.draw, k, n)
					if toldApart(rows, true) {
						before++
					}
					if toldApart(rows, false) {
						now++
					}
				}
				share := func(hits int) float64 { return 100 * float64(hits) / float64(studies) }
				t.Logf("%s: %d treatments, %d blocks: told apart in %.1f %%, now in %.1f %%", w.words, k, n, share(before),
					share(now))
				holds, keeps := w.equals && n == 3 && k > 2, w.keeps && n == 3 && k > 3
				if holds && AtLeast(now, studies, 0.05) < 1e-4 || keeps && share(now) < share(before)-5 {
					t.Errorf("%s: %d treatments, %d blocks: told apart in %d of %d, before in %d", w.words, k, n, now, studies,
						before)
				}
			}
		}
	}
}

// rowsOf draws the values of k treatments of n blocks.
func rowsOf(r *rand.Rand, draw func(*rand.Rand, int) float64, k, n int) [][]float64 {
	rows := make([][]float64, k)
	for i := range rows {
		for range n {
			rows[i] = append(rows[i], draw(r, i))
		}
	}
	return rows
}

// toldApart reports whether the treatment with the least mean is called better than another; quartile: by the lower
// quartile of all variances, however few blocks there are.
func toldApart(rows [][]float64, quartile bool) bool {
	p, err := NewAllPairs(rows, 0.95)
	if err != nil {
		panic(err)
	}
	if quartile {
		p.usual = [4]float64{p.usual[1], p.usual[1], p.usual[1], p.usual[1]}
	}
	best := 0
	for i := range rows {
		if meanOf(rows[i]) < meanOf(rows[best]) {
			best = i
		}
	}
	for i := range rows {
		if c, err := p.Interval(i, best); i != best && err == nil && c.Lo > 1 {
			return true
		}
	}
	return false
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
