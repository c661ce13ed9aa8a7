package stat

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// full repeats every simulation 20 times as often; doc/method.md's tables come
// from `go test ./internal/stat -run Simulat -v -stat.full`.
var full = flag.Bool("stat.full", false, "run the simulations at full size")

// A simulation draws data with a known truth again and again and counts how
// often a procedure says a certain thing.
type simulation struct {
	words     string
	low, high float64 // per cent, within which the count must lie
	runs      int     // of a full run; 0 is 40,000
	once      func(r *rand.Rand) bool
	why       string // where the band is not the nominal one
}

// published reads the tables of doc/method.md: per cent by row.
func published(t *testing.T) map[string]float64 {
	t.Helper()
	b, err := os.ReadFile("../../doc/method.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| ([0-9.]+) \| [0-9]+ \|`).FindAllStringSubmatch(string(b), -1) {
		out[m[1]], err = strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// simulate prints one row a simulation. The seed is the row's name, so a row
// does not change when others do.
func simulate(t *testing.T, rows []simulation) {
	doc := published(t)
	for _, s := range rows {
		runs := s.runs
		if runs == 0 {
			runs = 40_000
		}
		if !*full {
			runs /= 20
		}
		h := fnv.New64a()
		h.Write([]byte(s.words))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		hits := 0
		for range runs {
			if s.once(r) {
				hits++
			}
		}
		got := 100 * float64(hits) / float64(runs)
		// four standard errors of the count itself
		mid := min(max((s.low+s.high)/200, 0.005), 0.995)
		slack := 400 * math.Sqrt(mid*(1-mid)/float64(runs))
		if got < s.low-slack || got > s.high+slack {
			t.Errorf("%s: got %.2f %% of %d, want %v to %v", s.words, got, runs, s.low, s.high)
		}
		if said, ok := doc[s.words]; !ok || math.Abs(got-said) > slack+0.1 {
			t.Errorf("%s: got %.2f %%, doc/method.md has %v (%v); run with -stat.full and copy the tables", s.words,
				got, said, ok)
		}
		t.Logf("| %s | %.1f | %d | %s |", s.words, got, runs, s.why)
	}
}

func draws(n int, draw func() float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = draw()
	}
	return out
}

func normal(r *rand.Rand, n int, mean, sd float64) []float64 {
	return draws(n, func() float64 { return mean + sd*r.NormFloat64() })
}

func lognormal(r *rand.Rand, n int, median, sigma float64) []float64 {
	return draws(n, func() float64 { return median * math.Exp(sigma*r.NormFloat64()) })
}

// got panics on an error: simulated data is never refused.
func got[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func covers(s Summary, truth float64) bool { return s.Lo <= truth && truth <= s.Hi }

func spans(c Comparison, truth float64) bool { return c.Lo <= truth && truth <= c.Hi }

func TestSimulatedCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const few = "few values, skewed: the mean itself is hard to know"
	const steps = "steps between order statistics: never below 95"
	mean := func(r *rand.Rand, n int) Summary { return got(Mean(normal(r, n, 10, 1), 0.95)) }
	simulate(t, []simulation{
		{"mean, t: 5 normal trials", 94.5, 95.5, 0, func(r *rand.Rand) bool { return covers(mean(r, 5), 10) }, ""},
		{"mean, t: 10 normal trials", 94.5, 95.5, 0, func(r *rand.Rand) bool { return covers(mean(r, 10), 10) }, ""},
		{"mean, t: 10 lognormal trials, spread 10 %", 94, 96, 0, func(r *rand.Rand) bool {
			return covers(got(Mean(lognormal(r, 10, 1, 0.1), 0.95)), math.Exp(0.005))
		}, ""},
		{"mean, t: 10 lognormal trials, spread 50 %", 91, 94, 0, func(r *rand.Rand) bool {
			return covers(got(Mean(lognormal(r, 10, 1, 0.5), 0.95)), math.Exp(0.125))
		}, few},
		{"mean, t, trials added until the half-width is 2 % (spread 3 %, 5 to 50 trials)", 91, 95, 0,
			func(r *rand.Rand) bool { return untilPrecise(r, 5) }, "stopping at a lucky small spread costs 2 %"},
		{"the same, 10 to 50 trials", 93, 95.5, 0, func(r *rand.Rand) bool { return untilPrecise(r, 10) },
			"costs less: start with 10"},
		{"median: 6 trials", 96.6, 97.2, 0, func(r *rand.Rand) bool {
			return covers(got(Median(normal(r, 6, 3, 1),
				0.95)), 3)
		}, steps},
		{"median: 10 trials", 97.6, 98.2, 0, func(r *rand.Rand) bool {
			return covers(got(Median(normal(r, 10, 3, 1),
				0.95)), 3)
		}, steps},
		{"median: 30 lognormal trials, spread 50 %", 95.4, 96, 0,
			func(r *rand.Rand) bool { return covers(got(Median(lognormal(r, 30, 3, 0.5), 0.95)), 3) }, ""},
		{"p95 of 400 exponential values", 95, 96, 0, func(r *rand.Rand) bool {
			return covers(got(Quantile(draws(400, r.ExpFloat64), 0.95, 0.95)), -math.Log(0.05))
		}, steps},
		{"difference, Welch: 10 and 10, spreads 1 and 3", 94, 96, 0, func(r *rand.Rand) bool {
			return spans(got(DifferenceWelch(normal(r, 10, 5, 1), normal(r, 10, 3, 3), 0.95)), 2)
		}, ""},
		{"difference, Welch: 5 and 20, spreads 3 and 1", 93.5, 96, 0, func(r *rand.Rand) bool {
			return spans(got(DifferenceWelch(normal(r, 5, 5, 3), normal(r, 20, 3, 1), 0.95)), 2)
		}, ""},
		{"difference, paired: 10 blocks that differ 5 times as much as trials", 94, 96, 0, func(r *rand.Rand) bool {
			a, b := inBlocks(r, 10, 5, 1)
			return spans(got(DifferencePaired(a, b, 0.95)), 2)
		}, ""},
		{"ratio, paired: 10 blocks, spread 10 %", 94, 96, 0, func(r *rand.Rand) bool {
			a, b := inBlocks(r, 10, 0.5, 0.1)
			return spans(got(RatioPaired(each(a, math.Exp), each(b, math.Exp), 0.95)), math.Exp(2))
		}, ""},
		{"ratio, Welch: 10 and 10, spreads 5 and 20 %", 94, 96, 0, func(r *rand.Rand) bool {
			return spans(got(RatioWelch(lognormal(r, 10, 2, 0.05), lognormal(r, 10, 1, 0.2), 0.95)), 2)
		}, ""},
		{"ratio of means known by mean and half-width: 10 and 50, spread 10 %", 94, 96, 0, func(r *rand.Rand) bool {
			return spans(got(RatioOfMoments(momentsOf(normal(r, 10, 2, 0.2)), momentsOf(normal(r, 50, 1, 0.1)), 0.95)), 2)
		}, ""},
		{"effect in an analysis of variance, 3 x 2, 4 blocks", 94, 96, 20_000, func(r *rand.Rand) bool {
			a := got(AnalyzeVariance(factorial(r, 3, 2, 4, true, 0), AnovaOptions{}))
			return a.Effects[1].Lo <= -1 && -1 <= a.Effects[1].Hi // the first of three levels 0, 1, 2
		}, ""},
	})
}

func untilPrecise(r *rand.Rand, n int) bool {
	xs := normal(r, n, 100, 3)
	for len(xs) < 50 && !got(Mean(xs, 0.95)).Precise(0.02) {
		xs = append(xs, 100+3*r.NormFloat64())
	}
	return covers(got(Mean(xs, 0.95)), 100)
}

// inBlocks draws pairs that differ by 2 on average.
func inBlocks(r *rand.Rand, n int, blockSD, sd float64) (a, b []float64) {
	for range n {
		shift := blockSD * r.NormFloat64()
		a = append(a, 2+shift+sd*r.NormFloat64())
		b = append(b, shift+sd*r.NormFloat64())
	}
	return a, b
}

// factorial draws a table whose factor a adds its level's number, whose factor
// b does nothing, in random order within each block; drop rows go missing.
func factorial(r *rand.Rand, a, b, reps int, blocked bool, drop int) Table {
	t := Table{Factors: []string{"a", "b"}}
	for k := range reps {
		block, shift := "", 0.0
		if blocked {
			block, shift = fmt.Sprint("b", k), 2*r.NormFloat64()
		}
		for _, i := range r.Perm(a * b) {
			t.Rows = append(t.Rows, Row{[]string{fmt.Sprint(i / b), fmt.Sprint(i % b)}, block,
				float64(i/b) + shift + r.NormFloat64()})
		}
	}
	for range drop {
		i := r.IntN(len(t.Rows))
		t.Rows = append(t.Rows[:i], t.Rows[i+1:]...)
	}
	return t
}

func TestSimulatedFalsePositives(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	rejects := func(test Test, err error) bool { return got(test, err).P < 0.05 }
	differs := func(c Comparison, err error) bool { return got(c, err).P < 0.05 }
	rounded := func(r *rand.Rand, n int) []float64 {
		return each(normal(r, n, 5, 2), math.Round)
	}
	term := func(name string, tab Table) bool {
		for _, l := range got(AnalyzeVariance(tab, AnovaOptions{})).Terms {
			if l.Term == name {
				return l.P < 0.05
			}
		}
		panic("no term " + name)
	}
	simulate(t, []simulation{
		{"difference, Welch: 10 and 10", 4, 6, 0, func(r *rand.Rand) bool {
			return differs(DifferenceWelch(normal(r, 10, 5, 1), normal(r, 10, 5, 2), 0.95))
		}, ""},
		{"ratio, paired: 10 blocks", 4, 6, 0, func(r *rand.Rand) bool {
			return differs(RatioPaired(lognormal(r, 10, 1, 0.1), lognormal(r, 10, 1, 0.1), 0.95))
		}, ""},
		{"ratio, Welch: 6 and 12", 4, 6, 0, func(r *rand.Rand) bool {
			return differs(RatioWelch(lognormal(r, 6, 1, 0.1), lognormal(r, 12, 1, 0.1), 0.95))
		}, ""},
		{"any of 10 paired contrasts of 5 equal treatments, Holm", 3, 5, 8000, func(r *rand.Rand) bool {
			tab := Table{Factors: []string{"a"}}
			for k := range 50 {
				tab.Rows = append(tab.Rows, Row{[]string{fmt.Sprint(k % 5)}, fmt.Sprint(k / 5), math.Exp(0.1 * r.NormFloat64())})
			}
			for _, c := range got(Analyze(tab, AnovaOptions{})).Contrasts {
				if c.PHolm < 0.05 {
					return true
				}
			}
			return false
		}, "contrasts that share a treatment depend on each other: below 5"},
		{"equivalence within 5 %, the truth exactly 5 % off: 30 and 30, spread 3 %", 4, 6, 0, func(r *rand.Rand) bool {
			c := got(RatioWelch(lognormal(r, 30, 1.05, 0.03), lognormal(r, 30, 1, 0.03), 0.95))
			return got(c.Equivalent(1/1.05, 1.05)).Equivalent
		}, ""},
		{"analysis of variance: main effect, 3 x 2, 4 replications", 4, 6, 20_000, func(r *rand.Rand) bool {
			return term("b", factorial(r, 3, 2, 4, false, 0))
		}, ""},
		{"analysis of variance: interaction, 3 x 2, 5 blocks", 4, 6, 20_000, func(r *rand.Rand) bool {
			return term("a:b", factorial(r, 3, 2, 5, true, 0))
		}, ""},
		{"analysis of variance, type III: main effect, 4 of 30 trials missing", 4, 6, 20_000, func(r *rand.Rand) bool {
			return term("b", factorial(r, 3, 2, 5, true, 4))
		}, ""},
		{"normality: 20 normal values", 4, 6, 0,
			func(r *rand.Rand) bool { return rejects(Normality(normal(r, 20, 5, 1))) }, ""},
		{"normality of residuals: 3 treatments of 10", 4, 6, 20_000,
			func(r *rand.Rand) bool { return checked(r, "Anderson-Darling", false) }, ""},
		{"equal variance of residuals: 3 treatments of 10", 3, 6, 20_000,
			func(r *rand.Rand) bool { return checked(r, "Brown-Forsythe", false) }, "cautious in small groups"},
		{"drift of residuals: 3 treatments of 10", 4, 6, 20_000,
			func(r *rand.Rand) bool { return checked(r, "drift of the residuals with the order of the rows", false) }, ""},
		{"drift of residuals: 3 treatments in 10 blocks", 2.5, 5.5, 20_000,
			func(r *rand.Rand) bool { return checked(r, "drift of the residuals with the order of the rows", true) },
			"p comes in coarse steps"},
		{"drift of the means of 10 blocks", 4, 6, 20_000,
			func(r *rand.Rand) bool { return checked(r, "drift of the blocks' means", true) }, ""},
		{"drift of blocks: a, b, c in blocks 1-10, b, c, d in 11-20, each of another size", 3.5, 6, 20_000,
			func(r *rand.Rand) bool { return blocksDrift(r, 20, 0, 0, exchanged) }, ""},
		{"the same, blocks differ by ten times as much as trials", 3.5, 6, 20_000,
			func(r *rand.Rand) bool { return blocksDrift(r, 20, 10, 0, exchanged) }, ""},
		{"drift of blocks: a until block 6, b until 12, c and d in all 20", 3.5, 6, 20_000,
			func(r *rand.Rand) bool { return blocksDrift(r, 20, 0, 0, ending) }, ""},
		{"drift of blocks: 6 treatments, 10 blocks, a fifth of the trials missing", 3, 6, 20_000,
			func(r *rand.Rand) bool { return blocksDrift(r, 10, 1, 0, missing(r, 0.2)) }, ""},
		{"drift of blocks: a, b, c in blocks 1-10, b, c, d in 11-20, spread 5 % of 1, 2, 3 and 5", 3.5, 6, 20_000,
			func(r *rand.Rand) bool {
				t := incomplete(r, 20, 0, 0, exchanged)
				for i := range t.Rows {
					size := map[string]float64{"0": 1, "1": 2, "2": 3, "3": 5}[t.Rows[i].Levels[0]]
					t.Rows[i].Y = size * math.Exp(0.05*r.NormFloat64())
				}
				return checkFinds(t, "drift of the blocks' means")
			}, ""},
		{"drift of 20 complete blocks, by 1.5 standard deviations of a trial from first to last", 80, 100, 2000,
			func(r *rand.Rand) bool { return blocksDrift(r, 20, 0, 1.5, all) }, "power"},
		{"the same, a, b, c in blocks 1-10, b, c, d in 11-20", 60, 100, 2000,
			func(r *rand.Rand) bool { return blocksDrift(r, 20, 0, 1.5, exchanged) }, "power"},
		{"the same, a fifth of the trials missing", 80, 100, 2000,
			func(r *rand.Rand) bool { return blocksDrift(r, 20, 0, 1.5, missing(r, 0.2)) }, "power; 6 treatments"},
		{"place in the block: a, b, c in blocks 1-10, b, c, d in 11-20", 4, 6, 8000, func(r *rand.Rand) bool {
			place, _, err := OrderEffects(incomplete(r, 20, 1, 0, exchanged), false)
			return rejects(place, err)
		}, ""},
		{"treatment run before: a, b, c in blocks 1-10, b, c, d in 11-20", 4, 6, 8000, func(r *rand.Rand) bool {
			_, before, err := OrderEffects(incomplete(r, 20, 1, 0, exchanged), false)
			return rejects(before, err)
		}, ""},
		{"drift of residuals within blocks: a, b, c in blocks 1-10, b, c, d in 11-20", 2, 6, 20_000,
			func(r *rand.Rand) bool {
				return checkFinds(incomplete(r, 20, 1, 0, exchanged), "drift of the residuals with the order of the rows")
			}, ""},
		{"trend, exact: 20 values", 4, 5.2, 0, func(r *rand.Rand) bool { return rejects(Trend(normal(r, 20, 5, 1))) }, ""},
		{"trend, normal approximation: 40 values, many ties", 4, 6, 0,
			func(r *rand.Rand) bool { return rejects(Trend(rounded(r, 40))) }, ""},
		{"place in the block: 4 treatments, 8 blocks", 4, 6, 8000, func(r *rand.Rand) bool {
			place, _, err := OrderEffects(factorial(r, 2, 2, 8, true, 0), false)
			return rejects(place, err)
		}, ""},
		{"treatment run before: 4 treatments, 8 blocks", 4, 6, 8000, func(r *rand.Rand) bool {
			_, before, err := OrderEffects(factorial(r, 2, 2, 8, true, 0), false)
			return rejects(before, err)
		}, ""},
		{"stationary, trial by trial: thirds of 10 trials of 300 requests correlated 0.9", 4, 6, 8000,
			func(r *rand.Rand) bool {
				var first, last []float64
				for range 10 {
					f, l, err := Thirds(autocorrelated(r, 300, 0.9))
					first, last = append(first, got(f, err)), append(last, l)
				}
				return differs(RatioPaired(last, first, 0.95))
			}, ""},
	})
}

// checked makes an analysis of variance of data that is as it should be and
// reports whether the named check says otherwise at 5 %.
func checked(r *rand.Rand, name string, blocked bool) bool {
	return checkFinds(factorial(r, 3, 1, 10, blocked, 0), name)
}

// incomplete are blocks that have a treatment or not: values of a standard deviation of 1 around 10 times the
// treatment's number, in blocks that differ by a spread, and rise by drift from the first to the last.
func incomplete(r *rand.Rand, blocks int, spread, drift float64, has func(treatment, block int) bool) Table {
	t := Table{Factors: []string{"treatment"}}
	for b := range blocks {
		shift := spread*r.NormFloat64() + drift*float64(b)/float64(blocks-1)
		for _, i := range r.Perm(6) {
			if has(i, b) {
				t.Rows = append(t.Rows, Row{[]string{fmt.Sprint(i)}, fmt.Sprint(b), 10*float64(i) + shift + r.NormFloat64()})
			}
		}
	}
	return t
}

func all(treatment, _ int) bool { return treatment < 4 }

// exchanged lacks the fourth treatment in the first half of 20 blocks, and the first one in the second.
func exchanged(treatment, block int) bool {
	return treatment < 4 && !(treatment == 3 && block < 10) && !(treatment == 0 && block >= 10)
}

// ending are treatments of which some are measured no more, as those that are known as precisely as asked for.
func ending(treatment, block int) bool {
	return treatment < 4 && block < []int{6, 12, 20, 20}[treatment]
}

func missing(r *rand.Rand, share float64) func(int, int) bool {
	return func(int, int) bool { return r.Float64() >= share }
}

func blocksDrift(r *rand.Rand, blocks int, spread, drift float64, has func(treatment, block int) bool) bool {
	return checkFinds(incomplete(r, blocks, spread, drift, has), "drift of the blocks' means")
}

// checkFinds reports whether the named check finds something at 5 %.
func checkFinds(t Table, name string) bool {
	for _, c := range got(AnalyzeVariance(t, AnovaOptions{})).Checks {
		if c.Name == name {
			return c.P < 0.05
		}
	}
	panic("no check " + name)
}

// autocorrelated draws requests each of which resembles the one before, 30 %
// spread around 1.
func autocorrelated(r *rand.Rand, n int, phi float64) []float64 {
	state := r.NormFloat64()
	return draws(n, func() float64 {
		state = phi*state + math.Sqrt(1-phi*phi)*r.NormFloat64()
		return math.Exp(0.3 * state)
	})
}
