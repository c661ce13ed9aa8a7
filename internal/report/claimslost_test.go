package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// claimed is a study of two stacks, and oneClaim a paper that claims that one of them is quicker.
const claimed = "study: s\nservice: monitor\nrequests: 200\nfactors: {stack: [{name: rest, stack: a}, " +
	"{name: axis2, stack: b}]}\ndesign: {replications: 6, seed: 1}\ntimeouts: {request: 2s}\n"

func oneClaim(t *testing.T) paper.Paper {
	t.Helper()
	p, err := paper.Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	p.Claims = []paper.Claim{{ID: "x", Response: "transmission_rtt", Less: []string{"rest", "axis2"}}}
	return p
}

// A claim of a paper knows which requests failed, in trials that count and in attempts that did not for that, and how
// long an answer was waited for: what those may turn is undecided, with the reason.
func TestClaimsKnowWhatFailed(t *testing.T) {
	p := oneClaim(t)
	refused := func(of string, blocks int, failed float64) func(map[string]string, int) []store.Quality {
		return func(at map[string]string, block int) []store.Quality {
			if at["stack"] != of || block > blocks {
				return nil
			}
			return append(ofRequests(failed), store.Quality{Key: store.FailuresRefused, Unit: "1", Value: 1})
		}
	}
	for name, tt := range map[string]struct {
		failed  float64 // in the trials of rest that count
		refused func(map[string]string, int) []store.Quality
		none    int // blocks in which rest has no valid trial
		lost    float64
		want    stat.Verdict
	}{
		"none failed":                      {0, nil, 0, 0, stat.Confirmed},
		"2 % failed":                       {4, nil, 0, 0.02, stat.Undecided},
		"attempts were refused for 2 %":    {0, refused("rest", 6, 8), 0, 0.02, stat.Undecided},
		"of the slower one":                {0, refused("axis2", 6, 8), 0, 0, stat.Confirmed},
		"in one block nothing was counted": {0, refused("rest", 1, 8), 1, 1, stat.Undecided},
	} {
		w := exactly(func(at map[string]string, block int) float64 {
			switch {
			case at["stack"] != "rest":
				return 2e-3 * wobble(block+1)
			case block <= tt.none:
				return math.NaN()
			}
			return 1e-3 * wobble(block)
		})
		w.quality = func(at map[string]string, _ int) []store.Quality {
			if at["stack"] != "rest" {
				return ofRequests(0)
			}
			return ofRequests(tt.failed)
		}
		w.refused = tt.refused
		r := reportOf(t, w.write(t, claimed+"failures: 50%\n"))
		for _, s := range r.Series() {
			if s.Response != "rtt" || s.Level("stack") != "rest" {
				continue
			}
			if math.Abs(s.Lost[1]-tt.lost) > 1e-9 || s.Limit != 2 {
				t.Errorf("%s: lost %v, limit %g s", name, s.Lost, s.Limit)
			}
		}
		j := p.Judge(r.Series(), r.mapping(), 0.95).Claims[0]
		if j.Verdict != tt.want || strings.Contains(strings.Join(j.Why, " "), "requests of rest failed") !=
			(tt.want == stat.Undecided) || j.Needs.Answers != (tt.want == stat.Undecided) {
			t.Errorf("%s: %s: %q, %q", name, j.Verdict, j.Why, j.Decides)
		}
	}
	lost := Treatment{lost: map[int]stat.Share{1: {Hits: 1, N: 10}}}
	for response, want := range map[string]int{"rtt": 1, "delay": 1, "message_size": 0, "cpu": 0} {
		if got := lost.lostOf(Cell{Side: measure.Client, Response: response}); len(got) != want {
			t.Errorf("%s: lost %v, of those answered: %v", response, got, advise.OfAnswered(response))
		}
	}
}
