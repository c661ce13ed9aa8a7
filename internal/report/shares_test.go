package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A share of failures is a mean, in tables and in a choice: a median of trials hides what fails in every fifth of them.
func TestBurstsOfFailuresAreSeen(t *testing.T) {
	w := exactly(nil)
	share := func(at map[string]string, block int) float64 {
		if at["stack"] == "steady" && block%5 == 2 {
			return 2.0 / 3
		}
		return 0
	}
	w.exact = func(at map[string]string, block int) []store.Result {
		v := share(at, block)
		return []store.Result{{Side: measure.Client, Response: "failed_share", Unit: "1", N: 1, Mean: v, Median: v, Min: v,
			Max: v, Method: store.Measured}}
	}
	w.quality = func(at map[string]string, block int) []store.Quality {
		return []store.Quality{{Key: "requests", Unit: "1", Value: 60},
			{Key: "failures", Unit: "1", Value: 60 * share(at, block)}}
	}
	r := reportOf(t, w.write(t, twoStacks))
	r.Facts.Placement = map[string]study.Pin{}
	if err := r.chooseHeadlines(); err != nil {
		t.Fatal(err)
	}
	bursts, ok := r.Cell(0, measure.Client, "failed_share")
	if !ok || !bursts.Skewed && !bursts.Clustered || bursts.ByMedian || bursts.Headline().Center < 0.13 {
		t.Fatalf("got %+v", bursts)
	}
	if m := bursts.Mean; !(m.Lo < 0.1333 && m.Hi > 0.1333 && m.Hi < 0.3) {
		t.Errorf("of trials of which every fifth fails by 2/3: got %+v", m)
	}
	if never, _ := r.Cell(1, measure.Client, "failed_share"); never.Mean.Center != 0 || never.Mean.Lo != 0 ||
		math.Abs(never.Mean.Hi-0.1157) > 1e-4 { // 0.025 = (1-0.1157)^30
		t.Errorf("of 30 trials without a failure: got %+v", never.Mean)
	}
	level := r.Whole()
	term := level.Headline(advise.Term{Response: "failed_share", Figure: "mean"})
	choice, err := advise.Choose(level.Series, []advise.Objective{{Term: term}}, nil, 0.95)
	if err != nil || choice.Candidates[0].Name != "spiky" || choice.Candidates[1].Same {
		t.Errorf("got %+v, %v", choice, err)
	}
	kept := []advise.Condition{{Term: term, Less: true, Bound: 0.05, Text: "failed_share < 5%"}}
	kept[0].Figure = "mean"
	choice, err = advise.Choose(level.Series, []advise.Objective{{Term: term}}, kept, 0.95)
	if err != nil || choice.Candidates[0].Meets != stat.Confirmed ||
		!strings.Contains(strings.Join(r.ChoiceNotes(level, choice.Objectives, choice), "\n"),
			"failed_share < 5%: met as far as requests fail independently of each other") {
		t.Errorf("none failed in 30 trials: got %+v, %v", choice, err)
	}
	term.Figure = "median"
	choice, err = advise.Choose(level.Series, []advise.Objective{{Term: term}}, nil, 0.95)
	if err != nil || !strings.Contains(strings.Join(r.ChoiceNotes(level, choice.Objectives, choice), "\n"),
		"a median of trials hides what happens in a few of them") {
		t.Errorf("of medians: %v", err)
	}
}

// How many requests a share is of is read from the ledger: of two failures in 1800, in two trials of 30.
func TestFewFailuresAreCounted(t *testing.T) {
	failed := func(block int) float64 {
		if block == 3 || block == 9 {
			return 1
		}
		return 0
	}
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		v := failed(block) / 60
		return []store.Result{{Side: measure.Client, Response: "failed_share", Unit: "1", N: 1, Mean: v, Median: v, Min: v,
			Max: v, Method: store.Measured}}
	}
	w.quality = func(at map[string]string, block int) []store.Quality {
		return []store.Quality{{Key: "requests", Unit: "1", Value: 60}, {Key: "failures", Unit: "1", Value: failed(block)}}
	}
	r := reportOf(t, w.write(t, twoStacks))
	c, _ := r.Cell(0, measure.Client, "failed_share")
	_, want := stat.Share{Hits: 2, N: 1800}.Interval(0.95)
	if math.Abs(c.Mean.Hi-want) > 1e-12 {
		t.Errorf("got %+v, want up to %v", c.Mean, want)
	}
	level := r.Whole()
	choice, err := advise.Choose(level.Series, []advise.Objective{{Term: advise.Term{Response: "failed_share",
		Figure: "mean"}}}, nil, 0.95)
	if err != nil || choice.Candidates[0].Objectives[0].Center.Hi != c.Mean.Hi {
		t.Errorf("choose: got %+v, %v", choice, err)
	}
}

// Of two shares of requests that failed on a busy machine, the larger one is no answer as far as its requests were late
// or nobody knows; errors are.
func TestFewestFailedExcusesLateRequestsAlone(t *testing.T) {
	share := func(at map[string]string, block int) float64 {
		if at["stack"] == "spiky" {
			return 0.2 * wobble(block)
		}
		return 0.01
	}
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		v := share(at, block)
		return []store.Result{{Side: measure.Client, Response: "failed_share", Unit: "1", N: 1, Mean: v, Median: v, Min: v,
			Max: v, Method: store.Measured}}
	}
	r := reportOf(t, w.write(t, twoStacks))
	steady, _ := r.Cell(0, measure.Client, "failed_share")
	spiky, _ := r.Cell(1, measure.Client, "failed_share")
	spiky.Waiting = 0.3
	for _, tt := range []struct {
		what  string
		late  float64 // of those that failed
		known bool
		want  bool
	}{{"errors", 0, true, false}, {"a third is late", 0.3, true, false}, {"all are late", 1, true, true},
		{"nobody knows", 0, false, true}} {
		for i, p := range spiky.Points {
			spiky.Points[i].late, spiky.Points[i].lateKnown = tt.late*p.Mean, tt.known
		}
		k, err := rankCells([]*Cell{steady, spiky}, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		x, err := k.pairs.Compare(1, 0)
		if err != nil || !(x.Lo > 1) {
			t.Fatalf("got %+v, %v", x, err)
		}
		if got := k.waitingExplains(spiky, k.cells[0], x); got != tt.want {
			t.Errorf("%s: waiting explains it: %v", tt.what, got)
		}
	}
}
