package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The same by numpy and scipy (testdata/capacity.py).
func TestFitCapacityIsThatOfScipy(t *testing.T) {
	blocks := [][]CapacityTrial{
		{{95, 1.12}, {101, 0.97}, {106, 0.93}}, {{94, 1.09}, {99, 1.05}, {104, 0.94}},
		{{97, 1.02}, {100, 1.01}, {107, 0.88}}, {{93, 1.15}, {102, 0.99}, {105, 0.91}},
	}
	c, err := FitCapacity(blocks, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"rate", c.Rate, oracleRate}, {"lower end", c.Lo, oracleLo}, {"upper end", c.Hi, oracleHi},
		{"slope", c.Slope, oracleSlope}, {"noise", c.Noise, oracleNoise}, {"p of a parabola", c.Bent, oracleBent},
	} {
		if !(math.Abs(x.got/x.want-1) < 1e-9) {
			t.Errorf("%s: %.12g, not %.12g", x.what, x.got, x.want)
		}
	}
	if c.Below == 0 || c.Above == 0 || c.Below >= c.Above || c.Trials != 12 || !c.Fits() {
		t.Errorf("%+v", c)
	}
}

// Blocks that agree by chance, although trials within them differ, do not make the rate
// better known than so many trials can.
func TestFitCapacityDistrustsEqualBlocks(t *testing.T) {
	var blocks [][]CapacityTrial
	for range 6 {
		blocks = append(blocks, []CapacityTrial{{95, 1.12}, {100, 0.94}, {105, 1 / (1.12 * 0.94)}})
	}
	c, err := FitCapacity(blocks, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if least := tCritical(0.95, 5) * c.Noise / math.Sqrt(18); !((c.Hi-c.Lo)/2/c.Rate >= least) {
		t.Errorf("half-width %.4f of noise %.4f, less than %.4f", (c.Hi-c.Lo)/2/c.Rate, c.Noise, least)
	}
}

// Among much noise the interval may reach below 0, where no rate is.
func TestNoCapacityIsBelowZero(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	bounded := 0
	for range 2000 {
		blocks := make([][]CapacityTrial, 3)
		for i := range blocks {
			for _, rate := range []float64{80, 100, 120} {
				margin := math.Exp((100-rate)/100 + 0.15*random.NormFloat64())
				blocks[i] = append(blocks[i], CapacityTrial{rate, margin})
			}
		}
		c, err := FitCapacity(blocks, 0.95)
		if err != nil {
			continue
		}
		if c.Lo < 0 || c.Hi < c.Lo {
			t.Fatalf("%g (%g to %g) requests/s", c.Rate, c.Lo, c.Hi)
		}
		if c.Lo == 0 {
			bounded++
		}
	}
	if bounded == 0 {
		t.Error("no interval reached 0")
	}
}

func TestFitCapacityRefuses(t *testing.T) {
	flat := [][]CapacityTrial{{{95, 1}, {100, 1}, {105, 1}}, {{95, 1}, {100, 1}, {105, 1}}, {{95, 1}, {100, 1}, {105, 1}}}
	if _, err := FitCapacity(flat, 0.95); !errors.Is(err, ErrNoKnee) {
		t.Error(err)
	}
	if _, err := FitCapacity(flat[:2], 0.95); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
	if _, err := FitCapacity([][]CapacityTrial{flat[0], flat[1], flat[2][:2]}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Error(err)
	}
}

// A parabola is seen, and a bend to both sides is not one.
func TestFitCapacitySeesABend(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	make := func(f func(x float64) float64) [][]CapacityTrial {
		blocks := [][]CapacityTrial{}
		for range 8 {
			var b []CapacityTrial
			for _, x := range []float64{-1, -0.5, 0, 0.5, 1} {
				x += 0.2 * r.NormFloat64()
				b = append(b, CapacityTrial{100 + 10*x, math.Exp(f(x) + 0.01*r.NormFloat64())})
			}
			blocks = append(blocks, b)
		}
		return blocks
	}
	for what, tt := range map[string]struct {
		f    func(float64) float64
		fits bool
	}{
		"line":     {func(x float64) float64 { return -0.1 * x }, true},
		"s":        {func(x float64) float64 { return -0.2 * math.Atan(3*x) }, true},
		"parabola": {func(x float64) float64 { return -0.1*x - 0.05*x*x }, false},
	} {
		c, err := FitCapacity(make(tt.f), 0.95)
		if err != nil || c.Fits() != tt.fits {
			t.Errorf("%s: p %g, %v", what, c.Bent, err)
		}
	}
}

func search() CapacitySearch {
	return CapacitySearch{First: 30, Least: 1, Most: 100000, Precision: 0.025, Budget: 60, Confidence: 0.95, Seed: 3}
}

// run asks f for the margin at each rate until the search ends.
func (s CapacitySearch) run(f func(rate float64) float64) (CapacityStep, []CapacityTrial) {
	var trials []CapacityTrial
	for {
		step := s.Next(trials)
		if len(step.Rates) == 0 {
			return step, trials
		}
		for _, rate := range step.Rates {
			trials = append(trials, CapacityTrial{rate, f(rate)})
		}
	}
}

// The interval of the whole search, its stopping included, holds the truth in 94.5 to 98.75 % of searches: of servers
// whose margin falls in a curve, by trials that differ. That is refuted where so few, or so many, hold it as would in
// one of 100,000 tests if the share were one of these. Of 12,000 searches each, of three seeds, 94.8, 98.5 and 97.8 %
// did, by noise; where that is the truth the test fails for less than one seed of 100,000.
func TestSearchHoldsTheTruth(t *testing.T) {
	searchesHold(t, 8, testing.Short())
}

func searchesHold(t *testing.T, seed uint64, short bool) {
	t.Helper()
	const least, most, chance = 0.945, 0.9875, 1e-5
	noises, n := []float64{0.005, 0.02, 0.05}, 4000
	if short {
		noises, n = noises[:1], 800
	}
	r := rand.New(rand.NewPCG(seed, 8))
	for _, noise := range noises {
		held, none := 0, 0
		for i := range n {
			s := search()
			s.Seed = seed<<32 + uint64(i)
			step, _ := s.run(func(rate float64) float64 {
				return (1300 - rate*math.Exp(noise*r.NormFloat64())) / 300
			})
			switch c := step.Capacity; {
			case c.Trials == 0 || math.IsNaN(c.Lo):
				none++
			case c.Lo <= 1000 && 1000 <= c.Hi:
				held++
			}
		}
		of := n - none
		t.Logf("seed %d, noise %g: %d of %d, %.2f %%, none %d", seed, noise, held, of, 100*float64(held)/float64(of), none)
		if few, many := 1-AtLeast(held+1, of, least), AtLeast(held, of, most); few < chance || many < chance || none > n/10 {
			t.Errorf("seed %d, noise %g: %d of %d intervals hold the truth, of which %g to %g %% should (p %.2g, %.2g), %d "+
				"searches have none", seed, noise, held, of, 100*least, 100*most, few, many, none)
		}
	}
}

// queueing is a server whose margin falls in a curve, and refusing one with a cliff: both bear 1000 requests/s. Trials
// differ by noise.
func queueing(r *rand.Rand, noise float64) func(float64) float64 {
	return func(rate float64) float64 { return max(0, (1300-rate*math.Exp(noise*r.NormFloat64()))/300) }
}

func refusing(r *rand.Rand, noise float64) func(float64) float64 {
	return func(rate float64) float64 {
		if rate*math.Exp(noise*r.NormFloat64()) > 1000 {
			return 0
		}
		return math.Inf(1)
	}
}

// A search whose budget ends soon after the pilot has an interval by all of its blocks, which holds the truth at least
// as often as it says; and one that goes on with a larger budget is that of the larger budget.
func TestASmallBudgetGivesAnInterval(t *testing.T) {
	const n, chance = 200, 1e-5
	for budget, least := range map[int]float64{15: 0.5, 20: 0.9, 30: 0.97} { // share that has one
		for i, of := range []func(*rand.Rand, float64) func(float64) float64{queueing, refusing} {
			some, held := 0, 0
			for k := range uint64(n) {
				s := search()
				r := rand.New(rand.NewPCG(k, 21))
				s.First, s.Budget, s.Seed = 100+500*r.Float64(), budget, k
				step, trials := s.run(of(r, 0.01))
				if len(step.Blocks) < leastBlocks && len(trials) != len(step.Blocks)*CapacityBlock+step.Starts[0] {
					t.Fatalf("%d blocks of %d trials count", len(step.Blocks), len(trials))
				}
				if c := step.Capacity; c.Trials > 0 && !math.IsNaN(c.Lo) {
					some++
					if c.Lo <= 1000 && 1000 <= c.Hi {
						held++
					}
				}
				if step.Stage != Exhausted {
					continue
				}
				s.Budget = 60
				whole, more := s.run(replayed(trials, of(r, 0.01)))
				if len(whole.Blocks) < leastBlocks || !slices.Equal(more[:len(trials)], trials) {
					t.Fatalf("%d trials of the larger budget, of which %d blocks count, do not begin with those of the smaller",
						len(more), len(whole.Blocks))
				}
			}
			t.Logf("budget %d, server %d: %d of %d have an interval, %d hold the truth", budget, i, some, n, held)
			if 1-AtLeast(some+1, n, least) < chance || 1-AtLeast(held+1, some, 0.95) < chance {
				t.Errorf("budget %d, server %d: %d of %d have an interval, %d hold the truth", budget, i, some, n, held)
			}
		}
	}
}

// A pilot whose window was much too wide counts no longer once enough blocks have followed.
func TestAPilotOfAnotherWindowIsLeftOut(t *testing.T) {
	const n = 50
	left := 0
	for k := range uint64(n) {
		s := search()
		r := rand.New(rand.NewPCG(k, 23))
		s.Budget, s.Precision, s.Seed = 45, 1e-4, k
		step, trials := s.run(queueing(r, 0.002))
		rest, _ := s.bracket(new(CapacityStep), trials)
		if step.Stage != Exhausted || len(step.Blocks) < leastBlocks {
			t.Fatalf("stage %d, %d blocks count", step.Stage, len(step.Blocks))
		}
		if len(step.Blocks) <= len(rest)/CapacityBlock-pilotBlocks {
			left++
		}
	}
	if t.Logf("%d of %d", left, n); left < n*7/10 {
		t.Errorf("the pilot of %d of %d searches is left out", left, n)
	}
}

// replayed gives the margins of trials first.
func replayed(trials []CapacityTrial, then func(float64) float64) func(float64) float64 {
	i := -1
	return func(rate float64) float64 {
		if i++; i < len(trials) {
			return trials[i].Margin
		}
		return then(rate)
	}
}

// Few blocks of a pilot lie beside the knee that the bracket has found: from one that does, the search goes to where
// trials before say that it is.
func TestFewBlocksLieBesideTheKnee(t *testing.T) {
	const n = 400
	blocks := 0
	for k := range uint64(n) {
		s := search()
		r := rand.New(rand.NewPCG(k, 22))
		s.First, s.Seed = 100+500*r.Float64(), k
		_, trials := s.run(refusing(r, 0))
		rest, _ := s.bracket(new(CapacityStep), trials)
		for ; beside(rest[:CapacityBlock]) != 0; rest = rest[CapacityBlock:] {
			blocks++
		}
	}
	t.Logf("%d blocks of %d searches", blocks, n)
	if blocks < n/10 || blocks > n*4/10 {
		t.Errorf("%d blocks of %d searches", blocks, n)
	}
}

// A step without noise: the rate at which a server begins to refuse.
func TestSearchFindsACliff(t *testing.T) {
	step, trials := search().run(func(rate float64) float64 {
		if rate <= 777 {
			return math.Inf(1)
		}
		return 0
	})
	c := step.Capacity
	if step.Stage != Precise || !(c.Lo <= 777 && 777 <= c.Hi) || !c.Precise(0.025) || len(trials) > 45 {
		t.Errorf("stage %d after %d trials: %+v", step.Stage, len(trials), c)
	}
}

// With much noise pilots lie beside the knee, and near a bound of the search: no rate is beyond one, and the step says
// which of the trials its blocks are.
func TestSearchStaysWithinItsBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	skipped, ended := 0, 0
	for i := range 400 {
		s := search()
		s.Seed, s.Most, s.Least = uint64(i), 1000, 20
		knee := 900 + 300*r.Float64()
		step, trials := s.run(func(rate float64) float64 {
			if rate < s.Least || rate > s.Most {
				t.Fatalf("%g is outside of %g to %g", rate, s.Least, s.Most)
			}
			return knee / (rate * math.Exp(0.06*r.NormFloat64()))
		})
		if len(step.Starts) != len(step.Blocks) {
			t.Fatalf("%d blocks, %d starts", len(step.Blocks), len(step.Starts))
		}
		for k, start := range step.Starts {
			if !slices.Equal(trials[start:start+len(step.Blocks[k])], step.Blocks[k]) {
				t.Fatalf("block %d is not at %d", k, start)
			}
			if k > 0 && start != step.Starts[k-1]+CapacityBlock {
				skipped++
			}
		}
		if step.Stage == AboveMost {
			ended++
		}
	}
	if skipped == 0 || ended == 0 {
		t.Errorf("%d blocks were skipped between others, %d searches ended above: the test sees nothing", skipped, ended)
	}
}

// One trial at a bound that goes wrong by chance, as the first does here, does not end a search.
func TestOneTrialDoesNotEndASearch(t *testing.T) {
	for name, tt := range map[string]struct{ first, knee, by float64 }{
		"at the lowest rate": {20, 30, 0.5}, "at the highest": {1000, 900, 2},
	} {
		s := search()
		s.First, s.Least, s.Most = tt.first, 20, 1000
		r := rand.New(rand.NewPCG(11, 11))
		n := 0
		step, trials := s.run(func(rate float64) float64 {
			if n++; n == 1 {
				return tt.by
			}
			return tt.knee * math.Exp(0.02*r.NormFloat64()) / rate
		})
		if c := step.Capacity; step.Stage != Precise || c.Lo > tt.knee || c.Hi < tt.knee {
			t.Errorf("%s: stage %d after %d trials, %g to %g, not %g", name, step.Stage, len(trials), c.Lo, c.Hi, tt.knee)
		}
	}
}

// How often a search says that the knee lies beyond a bound of it, where trials differ by 5 %: seldom if it lies as
// much within, where one trial in six says so; and nearly always if it lies as much beyond.
func TestSearchIsSeldomWrongAtItsBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	const n, noise = 600, 0.05
	for _, tt := range []struct {
		what          string
		first, knee   float64
		stage         CapacityStage
		least, atMost float64 // share of the searches
	}{
		{"the knee is above the lowest rate", 30, 105, BelowLeast, 0, 0.03},
		{"the knee is below the lowest rate", 30, 95, BelowLeast, 0.85, 1},
		{"the knee is below the highest rate", 300, 950, AboveMost, 0, 0.03},
		{"the knee is above the highest rate", 300, 1050, AboveMost, 0.85, 1},
	} {
		if testing.Short() && tt.stage == AboveMost {
			continue
		}
		said := 0
		for i := range n {
			s := search()
			s.First, s.Least, s.Most, s.Seed = tt.first, 100, 1000, uint64(i)
			step, _ := s.run(func(rate float64) float64 { return tt.knee * math.Exp(noise*r.NormFloat64()) / rate })
			if step.Stage == tt.stage {
				said++
			}
		}
		share := float64(said) / n
		t.Logf("%s: %.1f %%", tt.what, 100*share)
		if share < tt.least || share > tt.atMost {
			t.Errorf("%s: said in %.1f %% of searches", tt.what, 100*share)
		}
	}
}

func TestSearchEnds(t *testing.T) {
	always := func(m float64) func(float64) float64 { return func(float64) float64 { return m } }
	for margin, want := range map[float64]struct {
		stage CapacityStage
		rate  float64
	}{2: {AboveMost, 100000}, 0.5: {BelowLeast, 1}} {
		step, trials := search().run(always(margin))
		at := 0
		for _, x := range trials {
			if x.Rate == want.rate {
				at++
			}
		}
		if step.Stage != want.stage || trials[len(trials)-1].Rate != want.rate || at != CapacitySure {
			t.Errorf("margin %g: %d trials at %g, %+v", margin, at, want.rate, step)
		}
	}
	r := rand.New(rand.NewPCG(14, 1))
	for range 200 { // bounds are what the driver does, and have more digits than rates
		s := search()
		s.Least, s.Most = 20*math.Exp(r.Float64()), 1e4*math.Exp(3*r.Float64())
		s.First = s.Least * math.Exp(3*r.Float64())
		for margin, want := range map[float64]CapacityStage{2: AboveMost, 0.5: BelowLeast} {
			var trials []CapacityTrial
			step := s.Next(nil)
			for ; len(step.Rates) > 0 && len(trials) < 40; step = s.Next(trials) {
				for _, rate := range step.Rates {
					if rate < s.Least || rate > s.Most {
						t.Fatalf("%g is outside of %g to %g", rate, s.Least, s.Most)
					}
					trials = append(trials, CapacityTrial{Rate: rate, Margin: margin})
				}
			}
			if step.Stage != want {
				t.Fatalf("%g to %g, margin %g: stage %d after %d trials", s.Least, s.Most, margin, step.Stage, len(trials))
			}
		}
	}
	// Much noise: no search may say that it knows better than it can.
	r = rand.New(rand.NewPCG(1, 1))
	wrong, exhausted := 0, 0
	const n = 400
	for i := range n {
		s := search()
		s.Seed = uint64(i)
		step, trials := s.run(func(rate float64) float64 { return math.Exp(r.NormFloat64()) * 500 / rate })
		if len(trials) > 60 {
			t.Errorf("%d trials", len(trials))
		}
		if step.Stage == Exhausted {
			exhausted++
		} else if c := step.Capacity; !(c.Lo <= 500 && 500 <= c.Hi) {
			wrong++
		}
	}
	t.Logf("much noise: %d of %d exhausted, %d wrong", exhausted, n, wrong)
	if exhausted < n*9/10 || wrong > n*4/100 {
		t.Errorf("much noise: %d of %d exhausted, %d wrong", exhausted, n, wrong)
	}
}

// What comes next follows from the trials alone, also within a block.
func TestSearchIsResumed(t *testing.T) {
	f := func(rate float64) float64 { return 500 / rate }
	_, all := search().run(f)
	for n := range all {
		step := search().Next(all[:n])
		if len(step.Rates) == 0 || step.Rates[0] != all[n].Rate {
			t.Fatalf("after %d trials %v is next, not %g", n, step.Rates, all[n].Rate)
		}
	}
	rates := map[float64]bool{}
	for _, x := range all {
		rates[x.Rate] = true
	}
	if len(rates) < len(all)-3 {
		t.Errorf("%d rates in %d trials", len(rates), len(all))
	}
	if slices.ContainsFunc(all, func(x CapacityTrial) bool { return x.Rate <= 0 }) {
		t.Error("a rate of 0")
	}
}

// Printed by testdata/capacity.py.
const (
	oracleRate  = 100.35226487001484
	oracleLo    = 99.05073138065562
	oracleHi    = 101.6633767589156
	oracleSlope = -0.0168775417589051
	oracleNoise = 0.013846793743652802
	oracleBent  = 0.9193540080087167
)
