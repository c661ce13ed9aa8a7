package stat

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Numbers of blocks that benches did.
var (
	equalBlocks   = []int{5, 5, 5, 5, 5, 5, 5, 5}
	unequalBlocks = []int{2, 3, 3, 4, 5, 6, 8, 9}
	fewBenches    = []int{2, 10, 20}
)

func TestSimulatedBenches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	var rows []simulation
	for _, x := range []struct {
		words  string
		blocks []int
	}{{"8 benches of 5 blocks", equalBlocks}, {"8 benches of 2 to 9 blocks", unequalBlocks},
		{"3 benches of 2, 10 and 20 blocks", fewBenches}} {
		for _, inter := range []float64{0, 0.05} {
			say := ", they agree"
			if inter > 0 {
				say = ", they differ by 5 %"
			}
			contrast := func(kind BenchKind) func(r *rand.Rand) bool {
				return func(r *rand.Rand) bool {
					f := fleet{bench: 0.2, inter: inter, block: 0.03, error: 0.03}
					b := f.draw(r, 4, x.blocks)
					truth := 0.0
					if kind == FixedBenches {
						truth = meanOf(f.own[1]) - meanOf(f.own[0])
					}
					return spans(got(b.Difference(kind, f.ys[1], f.ys[0], 0.95)), truth)
				}
			}
			rows = append(rows,
				simulation{"ratio for these benches: " + x.words + say, 93, 97, 4000, contrast(FixedBenches), ""},
				simulation{"ratio for benches like these: " + x.words + say, 93, 97, 4000, contrast(RandomBenches), ""})
		}
		rows = append(rows, simulation{"benches rank treatments differently: " + x.words + ", they agree", 3, 7, 4000,
			func(r *rand.Rand) bool {
				f := fleet{bench: 0.2, block: 0.03, error: 0.03}
				return f.draw(r, 4, x.blocks).Model(f.ys, 0.95).P < 0.05
			}, "false alarms"})
	}
	simulate(t, rows)
}

// A queue is a way in which trials reach benches, and the analysis that follows.
type queue struct {
	how, analysis string
	inter         float64 // treatment×bench
	low, high     float64 // per cent, of intervals that hold the truth for benches in general
	once          func(r *rand.Rand, f *fleet) Comparison
}

var queues = []queue{
	{"trial to whoever is free", "pooled Welch", 0, 90, 97, func(r *rand.Rand, f *fleet) Comparison {
		return singleTrials(r, f, func(_, trial int) int { return r.IntN(8) })
	}},
	{"each bench keeps its favourite stacks", "pooled Welch", 0, 10, 35, func(r *rand.Rand, f *fleet) Comparison {
		return singleTrials(r, f, func(treatment, trial int) int { return 2*treatment + trial%2 })
	}},
	{"whole blocks", "paired by block", 0, 93, 97, pairedByBlock},
	{"whole blocks", "t over benches", 0, 93, 97, overBenches},
	{"whole blocks, and benches rank stacks differently (5 %)", "paired by block", 0.05, 50, 75, pairedByBlock},
	{"whole blocks, and benches rank stacks differently (5 %)", "t over benches", 0.05, 93, 97, overBenches},
}

// singleTrials measures 40 trials of each of 4 treatments on the benches that where names.
func singleTrials(r *rand.Rand, f *fleet, where func(treatment, trial int) int) Comparison {
	bench := normal(r, 8, 0, f.bench)
	xs := make([][]float64, 4)
	for t := range xs {
		for i := range 40 {
			xs[t] = append(xs[t], math.Exp(bench[where(t, i)]+f.error*r.NormFloat64()))
		}
	}
	return got(RatioWelch(xs[0], xs[1], 0.95))
}

func pairedByBlock(r *rand.Rand, f *fleet) Comparison {
	f.draw(r, 4, equalBlocks)
	return got(RatioPaired(each(f.ys[0], math.Exp), each(f.ys[1], math.Exp), 0.95))
}

func overBenches(r *rand.Rand, f *fleet) Comparison {
	b := f.draw(r, 4, equalBlocks)
	return got(b.Ratio(RandomBenches, each(f.ys[0], math.Exp), each(f.ys[1], math.Exp), 0.95))
}

// The unit of work is a whole block, not a trial: what a queue of trials costs. 8 benches
// that differ by 20 %, 4 equal treatments, 160 trials that differ by 3 %.
func TestSimulatedQueues(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	doc, err := os.ReadFile("../../doc/method.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| (.+?) \| (.+?) \| ([0-9.]+) % \| ([0-9.]+) % \|$`)
	said := row.FindAllStringSubmatch(string(doc), -1)
	runs := 4000
	if !*full {
		runs = 200
	}
	halves := map[string]float64{}
	for _, q := range queues {
		h := fnv.New64a()
		h.Write([]byte(q.how + q.analysis))
		r := rand.New(rand.NewPCG(h.Sum64(), 1))
		hits, half := 0, 0.0
		for range runs {
			c := q.once(r, &fleet{bench: 0.2, inter: q.inter, error: 0.03})
			if spans(c, 1) {
				hits++
			}
			half += 100 * (math.Log(c.Hi) - math.Log(c.Lo)) / 2 / float64(runs)
		}
		holds := 100 * float64(hits) / float64(runs)
		t.Logf("| %s | %s | %.1f %% | %.1f %% |", q.how, q.analysis, half, holds)
		halves[fmt.Sprint(q.how, q.analysis)] = half
		mid := (q.low + q.high) / 200
		slack := 400 * math.Sqrt(mid*(1-mid)/float64(runs))
		if holds < q.low-slack || holds > q.high+slack {
			t.Errorf("%s, %s: %.1f %% of %d intervals hold the truth, want %v to %v", q.how, q.analysis, holds, runs, q.low,
				q.high)
		}
		found := false
		for _, m := range said {
			wide, _ := strconv.ParseFloat(m[3], 64)
			often, _ := strconv.ParseFloat(m[4], 64)
			found = found || m[1] == q.how && m[2] == q.analysis && math.Abs(wide-half) < 0.1*half+0.1 &&
				math.Abs(often-holds) < slack+0.1
		}
		if !found {
			t.Errorf("doc/method.md has no row | %s | %s | %.1f %% | %.1f %% |; run with -stat.full and copy the table", q.how,
				q.analysis, half, holds)
		}
	}
	whole, single := halves["whole blockspaired by block"], halves["trial to whoever is freepooled Welch"]
	if whole > single/4 {
		t.Errorf("half-width of whole blocks is %.2g %%, of single trials %.2g %%: want at most a quarter", whole, single)
	}
}

// stopped measures the planned blocks on each bench, then one more on each at a time until both
// treatments' own intervals are narrow enough, or the budget is used: what design.precision
// does with benches (lab.MoreBlocks). It returns the log ratio, and the first treatment's own
// mean with what these benches would truly say.
func stopped(r *rand.Rand, kind BenchKind, bench, inter, precision float64, benches, planned,
	budget int) (ratio Comparison,
	mean Summary, own [2]float64) {
	level, dev := normal(r, benches, 0, bench), [2][]float64{normal(r, benches, 0, inter), normal(r, benches, 0, inter)}
	var names []string
	var ys [2][]float64
	round := func() {
		for i := range benches {
			names = append(names, fmt.Sprint("b", i))
			shared := 0.03 * r.NormFloat64()
			for t := range ys {
				ys[t] = append(ys[t], math.Exp(level[i]+dev[t][i]+shared+0.03*r.NormFloat64()))
			}
		}
	}
	for range planned {
		round()
	}
	for used := 0; ; used += benches {
		b := got(NewBenches(names))
		wide := false
		for t := range ys {
			s := got(Mean(b.Units(kind, ys[t]), 0.95))
			wide = wide || s.HalfWidth()/s.Center > precision
			if t == 0 {
				mean = s
			}
		}
		if !wide || used >= budget {
			for i := range benches {
				own[0] += math.Exp(level[i]+dev[0][i]+0.0009) / float64(benches) // mean of exp of 3 % and 3 %
				own[1] += (dev[0][i] - dev[1][i]) / float64(benches)
			}
			return got(b.Ratio(kind, ys[0], ys[1], 0.95)), mean, own
		}
		round()
	}
}

// The stop rule looks at widths only, and the intervals that it stops at still hold the truth.
func TestSimulatedStoppingOfBenches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	var rows []simulation
	for _, x := range []struct {
		words         string
		kind          BenchKind
		bench, inter  float64
		precision     float64
		benches, from int
	}{
		{"these benches: 4, at 1 %", FixedBenches, 0.2, 0.05, 0.01, 4, 3},
		{"these benches: 2, at 2 %", FixedBenches, 0.2, 0.05, 0.02, 2, 3},
		{"benches like these: 8, at 3 %", RandomBenches, 0.02, 0.02, 0.03, 8, 3},
		{"benches like these: 3, at 5 %", RandomBenches, 0.02, 0, 0.05, 3, 3},
	} {
		once := func(r *rand.Rand) (Comparison, Summary, [2]float64) {
			return stopped(r, x.kind, x.bench, x.inter, x.precision, x.benches, x.from, 20*x.benches)
		}
		rows = append(rows, simulation{"stop rule, ratio for " + x.words, 93, 97, 4000, func(r *rand.Rand) bool {
			ratio, _, own := once(r)
			if x.kind == RandomBenches {
				return spans(ratio, 1)
			}
			return spans(ratio, math.Exp(own[1]))
		}, ""}, simulation{"stop rule, mean for " + x.words, 93, 97, 4000, func(r *rand.Rand) bool {
			_, mean, own := once(r)
			if x.kind == RandomBenches {
				return covers(mean, math.Exp((x.bench*x.bench+x.inter*x.inter+2*0.0009)/2))
			}
			return covers(mean, own[0])
		}, ""})
	}
	simulate(t, rows)
}
