package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
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
	level := r.Whole()
	term := level.Headline(advise.Term{Response: "failed_share", Figure: "mean"})
	choice, err := advise.Choose(level.Series, []advise.Objective{{Term: term}}, nil, 0.95)
	if err != nil || choice.Candidates[0].Name != "spiky" || choice.Candidates[1].Same {
		t.Errorf("got %+v, %v", choice, err)
	}
	term.Figure = "median"
	choice, err = advise.Choose(level.Series, []advise.Objective{{Term: term}}, nil, 0.95)
	if err != nil || !strings.Contains(strings.Join(r.ChoiceNotes(level, choice.Objectives, choice), "\n"),
		"a median of trials hides what happens in a few of them") {
		t.Errorf("of medians: %v", err)
	}
}
