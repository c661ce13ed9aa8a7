package report

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	made "edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// losing writes results of two stacks that are alike, of which the slowest so many of 100 requests of stack a fail in
// each trial. It returns the RTTs of each trial of a, in order, those that failed last.
func losing(t *testing.T, dir string, fail int, benches ...string) (sorted map[int][]float64) {
	t.Helper()
	return losingBeside(t, dir, "b", fail, benches...)
}

// losingBeside is losing with another name of stack b.
func losingBeside(t *testing.T, dir, b string, fail int, benches ...string) (sorted map[int][]float64) {
	t.Helper()
	kept, plan, err := made.Create(dir, []byte("study: s\nservice: echo\nn: 5\nfactors: {stack: [a, "+b+
		"]}\nrequests: 100\n"+
		"failures: 20%\ndesign: {replications: 6, seed: 1}\nresponses: [rtt]\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	r, sorted := rand.New(rand.NewPCG(29, 25)), map[int][]float64{}
	for _, trial := range plan.Trials {
		var on store.Bench
		if len(benches) > 0 {
			on = store.Bench{Name: benches[(trial.Block-1)%len(benches)], Boot: "1"}
		}
		a, err := kept.BeginOn(trial.ID, on)
		if err != nil {
			t.Fatal(err)
		}
		ofA := trial.Cell == 0
		var order []int
		took := make([]time.Duration, 100)
		for i := range took {
			took[i], order = time.Duration(1e6*math.Exp(0.5*r.NormFloat64())), append(order, i)
		}
		slices.SortFunc(order, func(i, j int) int { return int(took[i] - took[j]) })
		var xs []measure.Exchange
		var answered []float64
		at := time.Duration(0)
		for i, d := range took {
			x := measure.Exchange{Seq: uint64(i + 1), Due: at, Sent: at, Done: at + d, Total: d}
			if ofA && slices.Index(order, i) >= 100-fail {
				x.Done, x.Total, x.Failure = 0, 0, "no answer in time"
			} else {
				answered = append(answered, d.Seconds())
			}
			xs, at = append(xs, x), at+d+time.Millisecond
		}
		w, err := a.Exchanges(measure.Client)
		if err != nil || w.Append(xs) != nil || w.Close() != nil {
			t.Fatal("exchanges cannot be written", err)
		}
		in, err := stat.WithinTrial(slices.Clone(answered))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Sort(answered); ofA {
			sorted[trial.ID] = answered
		}
		err = a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: int64(in.N),
			Method: store.Measured, Mean: in.Mean, SD: in.SD, Median: in.Median, P95: in.P95, Min: in.Min, Max: in.Max}},
			[]store.Quality{{Key: "requests", Unit: "1", Value: 100},
				{Key: "failures", Unit: "1", Value: float64(100 - len(answered))}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sorted
}

// A median and a p95 among all requests are read from the exchanges: those that failed come last. So choose does not
// take for quicker who loses the slow ones, and says of what its figures are; the report shows those of the answered.
func TestQuantilesAmongAllRequests(t *testing.T) {
	for _, fail := range []int{0, 3, 6} {
		dir := filepath.Join(t.TempDir(), "results")
		sorted := losing(t, dir, fail)
		r := reportOf(t, dir)
		cell, ok := r.Cell(0, measure.Client, "rtt")
		if !ok || len(cell.Points) != 6 || len(sorted) != 6 {
			t.Fatalf("%d fail: got %+v", fail, cell)
		}
		for _, p := range cell.Points {
			xs := sorted[p.Trial]
			median, p95 := xs[49]+0.5*(xs[50]-xs[49]), math.Inf(1)
			if fail < 6 {
				p95 = xs[94] + 0.05*(xs[95]-xs[94])
			}
			if fail == 0 {
				median, p95 = 0, 0
			}
			if math.Abs(p.AllMedian-median) > 1e-9*median || p.AllP95 != p95 && !(math.Abs(p.AllP95-p95) < 1e-9*p95) {
				t.Errorf("%d fail, trial %d: got %g and %g, want %g and %g", fail, p.Trial, p.AllMedian, p.AllP95, median, p95)
			}
			if p.P95 > xs[len(xs)-1] {
				t.Errorf("%d fail: the p95 of those answered is %g", fail, p.P95)
			}
		}
		least := []advise.Objective{{Term: advise.Term{Response: "rtt", Figure: "p95", Named: true}}}
		level := r.Whole()
		c, err := advise.Choose(level.Series, least, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if left := strings.Join(c.Left, ""); (fail == 6) != strings.Contains(left, "among all requests the p95 of rtt is "+
			"one that failed") {
			t.Errorf("%d fail: left out %q", fail, left)
		}
		notes := strings.Join(r.ChoiceNotes(level, least, c), "\n")
		if said := strings.Contains(notes, "rtt.p95: of all requests, of which those that failed are the slowest: 3 % of "+
			"a"); said != (fail == 3) {
			t.Errorf("%d fail: notes %q", fail, notes)
		}
		if fail == 3 && !c.Candidates[1].Noise {
			t.Errorf("one of two equals is better: %+v", c.Candidates)
		}
	}
}

// Two stacks are alike, and one gives up its slowest 40 %: by its answered requests it takes 0.77 times as long. Levels
// and Pareto fronts are of all requests; of several benches too, where nobody is ranked whose median is one that
// failed.
func TestLevelsAndFrontsAreOfAllRequests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	sorted := losing(t, dir, 40)
	r := reportOf(t, dir)
	var medians []float64
	for _, xs := range sorted {
		medians = append(medians, xs[49]+0.5*(xs[50]-xs[49]))
	}
	slices.Sort(medians)
	want := (medians[2] + medians[3]) / 2
	points := r.paretoPoints(r.groups()[0], "rtt", "rtt")
	if len(points) != 2 || math.Abs(points[0].y.Center-want) > 1e-9*want {
		t.Errorf("fronts: got %+v, want %g of a", points, want)
	}
	if len(r.Effects) != 1 || len(r.Effects[0].Levels) != 1 {
		t.Fatalf("levels: got %+v", r.Effects)
	}
	if ratio := r.Effects[0].Levels[0].Estimate; math.Abs(math.Log(ratio)) > 0.13 {
		t.Errorf("levels: equals have a ratio of %g", ratio)
	}
	for fail, ranked := range map[int]bool{40: true, 60: false} {
		dir := filepath.Join(t.TempDir(), "benches")
		losing(t, dir, fail, "b1", "b2", "b3")
		r := reportOf(t, dir)
		said := strings.Join(r.Verdict(), " ")
		not := strings.Contains(said, "not ranked, since the median among all requests of a trial is one that failed")
		if not == ranked || r.Benches == nil || len(r.Benches.Names) != 3 {
			t.Errorf("%d fail on three benches: %q", fail, said)
		}
	}
}
