package main

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
)

// timesOf is a run of requests that take so long.
func timesOf(requests int, took func() time.Duration) figures {
	x := figures{sent: requests, last: time.Second}
	x.quality.Elapsed = time.Second
	for range requests {
		d := int64(took())
		x.rtt, x.response = append(x.rtt, d), append(x.response, d)
	}
	return x
}

// Of runs of which only some have a slow request, or slow ones, the p99 is of two kinds, and its interval is one of
// neither: nothing is said of a bound that lies between them, where the service's p99 may be either. What lies beyond
// all runs is decided as before, and so is a bound on runs of one kind.
func TestBoundsBetweenTwoKindsOfRuns(t *testing.T) {
	const probes = 300
	quick := func(r *rand.Rand) float64 { return 1e6 * math.Exp(0.1*r.NormFloat64()) } // ns
	slow := func(share float64) func(*rand.Rand) func() time.Duration {
		return func(r *rand.Rand) func() time.Duration {
			return func() time.Duration {
				d := quick(r)
				if r.Float64() < share {
					d *= 50
				}
				return time.Duration(d)
			}
		}
	}
	slowRuns := func(runs, share float64) func(*rand.Rand) func() time.Duration {
		return func(r *rand.Rand) func() time.Duration {
			if r.Float64() < runs {
				return slow(share)(r)
			}
			return slow(0)(r)
		}
	}
	smooth := func(draw func(r *rand.Rand) float64) func(*rand.Rand) func() time.Duration {
		return func(r *rand.Rand) func() time.Duration {
			return func() time.Duration { return time.Duration(1e6 * draw(r)) }
		}
	}
	for _, tt := range []struct {
		what           string
		run            func(*rand.Rand) func() time.Duration
		runs, requests int
		condition      string
		wrong          stat.Verdict
		before, most   float64      // share of probes that said so, at least; that say so
		right          stat.Verdict // empty: none is looked for
		least          float64      // share of probes that say so
	}{
		{"2 % are slow", slow(0.02), 6, 100, "p99>40ms", stat.Contradicted, 0.1, 0.01, "", 0},
		{"2 % are slow", slow(0.02), 10, 100, "p99>40ms", stat.Contradicted, 0.1, 0.01, "", 0},
		{"1 % are slow, seldom seen twice", slow(0.01), 10, 100, "p99>2ms", stat.Confirmed, 0.2, 0.01, "", 0},
		{"half of the runs are slow", slowRuns(0.5, 0.03), 6, 300, "p99>40ms", stat.Contradicted, 0.3, 0.06, "", 0},
		{"2 % are slow, beyond all", slow(0.02), 6, 100, "p99>1s", stat.Confirmed, 0, 0, stat.Contradicted, 0.9},
		{"2 % are slow, below all", slow(0.02), 6, 1000, "p99>2ms", stat.Contradicted, 0, 0.05, stat.Confirmed, 0.9},
		{"log-normal", smooth(func(r *rand.Rand) float64 { return math.Exp(0.5 * r.NormFloat64()) }), 6, 100, "p99>2ms",
			stat.Contradicted, 0, 0.01, stat.Confirmed, 0.95},
		{"exponential", smooth(func(r *rand.Rand) float64 { return r.ExpFloat64() }), 6, 100, "p99>8ms",
			stat.Confirmed, 0, 0.01, stat.Contradicted, 0.95},
	} {
		b, err := parseBound(tt.condition)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(30, 11))
		before, wrong, right := 0, 0, 0
		for range probes {
			var all []figures
			var values []float64
			for range tt.runs {
				all = append(all, timesOf(tt.requests, tt.run(r)))
				v, _ := b.ofRun(all[len(all)-1])
				values = append(values, v)
			}
			if b.over(values, 0.95).Verdict == tt.wrong { // knows nothing of medians, and parts no runs
				before++
			}
			switch judgeAll([]bound{b}, all, 0.95)[0].Verdict {
			case tt.wrong:
				wrong++
			case tt.right:
				right++
			}
		}
		share := func(n int) float64 { return float64(n) / probes }
		t.Logf("%s, %d runs of %d, %s: %s in %.0f %%, before in %.0f %%; right in %.0f %%", tt.what, tt.runs, tt.requests,
			tt.condition, tt.wrong, 100*share(wrong), 100*share(before), 100*share(right))
		if share(before) < tt.before || share(wrong) > tt.most || share(right) < tt.least {
			t.Errorf("%s, %d runs of %d: %s is %s in %d of %d probes, before in %d; %s in %d", tt.what, tt.runs, tt.requests,
				tt.condition, tt.wrong, wrong, probes, before, tt.right, right)
		}
	}
}

// The table has no limits of what the runs do not tell, and says why; runs that are slow as a whole are another matter.
func TestTableOfTwoKindsOfRuns(t *testing.T) {
	const ms = time.Millisecond
	run := func(slow int, all time.Duration) figures {
		n := 0
		return timesOf(100, func() time.Duration {
			if n++; n <= slow {
				return 50 * ms
			}
			return all
		})
	}
	parted := []figures{run(0, ms), run(3, ms), run(0, ms), run(3, ms)}
	for condition, want := range map[string]string{
		"p99>20ms": "p99>20ms: undecided, 25.5 ms, the arithmetic mean of runs; p99 is at most 1.00 ms in 2 runs and at least " +
			"50.0 ms in 2 runs, as where some have a slow request more: the runs do not tell which the service has; longer " +
			"runs would",
		"p99>2s":     "p99>2s: not met, 25.5 ms, the arithmetic mean of runs",
		"p99<20ms":   "p99<20ms: undecided",
		"median>2ms": "median>2ms: not met, 1.00 ms;",
	} {
		text, _ := probe{}.printed(t, parted, condition)
		for _, want := range []string{want, "rtt p99 ? 25.5 ms – – ", "response time p99 ? 25.5 ms – – ",
			"? the arithmetic mean of runs: response time p99 is at most 1.00 ms in 2 runs and at least 50.0 ms in 2 runs"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in %s", condition, want, text)
			}
		}
	}
	for _, x := range (&probe{confidence: 0.95}).table(parted) { // as JSON has them
		if strings.HasSuffix(x.Name, "p99") && x.CI != nil || x.Name == "rtt" && x.CI == nil {
			t.Errorf("%s: limits %v", x.Name, x.CI)
		}
	}
	b, err := parseBound("p99>2s")
	if err != nil {
		t.Fatal(err)
	}
	if j := judgeAll([]bound{b}, parted, 0.95)[0]; j.CI != nil || j.Verdict != stat.Contradicted {
		t.Errorf("limits %v, %s", j.CI, j.Verdict)
	}
	for what, all := range map[string][]figures{
		"slow as a whole": {run(0, ms), run(0, 50*ms), run(0, ms), run(0, 50*ms)},
		"of one kind":     {run(0, 1*ms), run(0, 2*ms), run(0, 3*ms), run(3, 25*ms)},
	} {
		if text, _ := (probe{}).printed(t, all, "p99>20ms"); strings.Contains(text, "do not tell which") {
			t.Errorf("%s: %s", what, text)
		}
	}
	if x := partingOf([]float64{5, 1, 13, 1}, [][]float64{{1, 1, 1, 1}}); !slices.Equal(x.low, []float64{1, 1}) ||
		!slices.Equal(x.high, []float64{5, 13}) {
		t.Errorf("got %v", x)
	}
	for _, values := range [][]float64{{4, 2, 1.5, 4.2}, {0, 0, 2, 2}, {1}, nil} {
		if x := partingOf(values, [][]float64{{1, 1, 1, 1}}); len(x.low) > 0 {
			t.Errorf("%v has runs of two kinds: %v", values, x)
		}
	}
	if x := partingOf([]float64{1, 9}, nil); len(x.low) > 0 { // medians
		t.Errorf("got %v", x)
	}
}

// A write that fails is an error, whichever of the lines below the table it was.
func TestFiguresThatCannotBeWritten(t *testing.T) {
	two := parting{low: []float64{0.001}, high: []float64{0.004}}
	table := []probed{{Name: "rtt p95", Unit: "s", arithmetic: 0.0025, parts: two}, {Name: "rtt p99", Unit: "s",
		arithmetic: 0.0025, parts: two}, {Name: "rtt", Unit: "s", Mean: 1, CI: []float64{0.001, 1000}, arithmetic: 1}}
	lines := new(countedWrites)
	if err := writeFigures(lines, table, 2); err != nil || lines.n < 4 {
		t.Fatalf("%d writes, %v", lines.n, err)
	}
	for k := range lines.n {
		if err := writeFigures(&countedWrites{fails: k + 1}, table, 2); err == nil {
			t.Errorf("write %d of %d fails, and nobody says so", k+1, lines.n)
		}
	}
}

// countedWrites takes all writes but the one that fails, from 1; 0: all.
type countedWrites struct{ n, fails int }

func (w *countedWrites) Write(b []byte) (int, error) {
	if w.n++; w.n == w.fails {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

// Runs whose percentile scatters from one to the next as times do are called two kinds in 5 % of probes at most,
// however few they are: it was up to 17 %. Those of which only some have a slow request are found as before, and where
// runs differ as a whole, too.
func TestScatteredRunsAreOfOneKind(t *testing.T) {
	const probes, requests = 2000, 100
	r := rand.New(rand.NewPCG(30, 13))
	about := func(sigma float64) float64 { return math.Exp(sigma * r.NormFloat64()) }
	before := func(values, medians []float64) bool {
		wide := func(xs []float64) bool {
			xs = slices.Sorted(slices.Values(xs))
			for i := 1; i < len(xs); i++ {
				if xs[i] > 3*xs[i-1] {
					return true
				}
			}
			return false
		}
		return wide(values) && !wide(medians)
	}
	for _, tt := range []struct {
		what        string
		inside      float64    // sigma of the requests of a run
		all, tail   float64    // sigma of runs: of all times, of the percentile alone
		share, slow float64    // of the requests, so many times as long
		least, most [4]float64 // share of probes of 2, 3, 6 and 10 runs, in %
	}{
		{"runs alike", 0.5, 0, 0, 0, 1, [4]float64{}, [4]float64{0.5, 0.5, 0.5, 0.5}},
		{"runs differ in all times", 0.5, 0.5, 0, 0, 1, [4]float64{}, [4]float64{0.5, 0.5, 0.5, 0.5}},
		{"runs differ in all times, long tails", 1, 0.5, 0, 0, 1, [4]float64{}, [4]float64{1, 1, 1, 1}},
		{"runs differ in their p99", 0.1, 0, 0.5, 0, 1, [4]float64{}, [4]float64{5, 5, 5, 5}},
		{"runs differ in their p99, long tails", 0.5, 0, 0.5, 0, 1, [4]float64{}, [4]float64{5, 5, 5, 5}},
		{"2 % are slow", 0.1, 0, 0, 0.02, 50, [4]float64{45, 70, 93, 98}, [4]float64{60, 80, 98, 100}},
		{"2 % are slow, runs differ in all times", 0.1, 0.5, 0, 0.02, 50, [4]float64{40, 65, 90, 95},
			[4]float64{60, 80, 98, 100}},
	} {
		for i, runs := range []int{2, 3, 6, 10} {
			parted, was := 0, 0
			for range probes {
				var values, medians []float64
				for range runs {
					times, of := make([]float64, requests), about(tt.all)
					for k := range times {
						if times[k] = of * about(tt.inside); r.Float64() < tt.share {
							times[k] *= tt.slow
						}
					}
					slices.Sort(times)
					values = append(values, (times[98]+0.01*(times[99]-times[98]))*about(tt.tail))
					medians = append(medians, (times[49]+times[50])/2)
				}
				if len(partingOf(values, [][]float64{medians}).low) > 0 {
					parted++
				}
				if before(values, medians) {
					was++
				}
			}
			share := 100 * float64(parted) / probes
			t.Logf("%s, %d runs: of two kinds in %.1f %%, before in %.1f %%", tt.what, runs, share, 100*float64(was)/probes)
			if share < tt.least[i] || share > tt.most[i] {
				t.Errorf("%s, %d runs: of two kinds in %.1f %%", tt.what, runs, share)
			}
		}
	}
}
