package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// What lost requests stands against what sent them again: the sentence that names the quickest says of how many of its
// requests that is.
func TestTheQuickestOfThoseAnswered(t *testing.T) {
	for _, tt := range []struct {
		what, want string
		failed     float64 // of 200 requests, of b
	}{
		{"7 % of the quickest are lost", ", of the 93 % of its requests that were answered (others: 100 %)", 14},
		{"none are", "", 0},
		{"too few to tell of", "", 1},
	} {
		w := exactly(func(at map[string]string, block int) float64 {
			return map[string]float64{"a": 2e-3, "b": 1e-3}[at["stack"]] * wobble(block)
		})
		w.quality = func(at map[string]string, _ int) []store.Quality {
			return []store.Quality{{Key: "requests", Unit: "1", Value: 200},
				{Key: "failures", Unit: "1", Value: map[string]float64{"b": tt.failed}[at["stack"]]}}
		}
		r := reportOf(t, w.write(t, oneTreatment))
		said := r.Verdict()[0]
		if !strings.HasPrefix(said, "Quickest: b, 1") || strings.Contains(said, "were answered") != (tt.want != "") ||
			!strings.Contains(said, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, said, tt.want)
		}
		least := []advise.Objective{{Term: advise.Term{Response: "rtt", Figure: "mean"}}}
		c, err := advise.Choose(r.Series(), least, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		chosen := LevelChoice{Choice: c}
		if said := chosen.answer(); strings.Contains(said, "were answered") != (tt.want != "") ||
			!strings.Contains(said, tt.want) {
			t.Errorf("%s: choose says %q, want %q", tt.what, said, tt.want)
		}
	}
	if got := ofAnswered("total_time", []float64{0.01, 0.2, 0, 0.1}); got !=
		", of the 99 % of its requests that were answered (others: 80 % to 100 %)" {
		t.Errorf("got %q", got)
	}
	if got := ofAnswered("cpu", []float64{0.2, 0}); got != "" {
		t.Errorf("CPU time is of all requests: got %q", got)
	}
}

// Throughput counts right answers: the answer says of how many of the requests, as of a time.
func TestThroughputSaysWhoIsAnswered(t *testing.T) {
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		v := map[string]float64{"a": 100, "b": 300}[at["stack"]] * wobble(block)
		return []store.Result{{Side: measure.Client, Response: "throughput", Unit: "1/s", N: 1, Mean: v, SD: math.NaN(),
			Median: v, P95: math.NaN(), Min: v, Max: v, Method: store.Measured}}
	}
	w.quality = func(at map[string]string, _ int) []store.Quality {
		return ofRequests(map[string]float64{"b": 160}[at["stack"]])
	}
	r := reportOf(t, w.write(t, oneTreatment+"failures: 90%\nresponses: [throughput]\n"))
	const want = ", of the 20 % of its requests that were answered (others: 100 %)"
	if said := strings.Join(r.Verdict(), "\n"); !strings.Contains(said, "Highest throughput of the client: b, 3") ||
		!strings.Contains(said, want) {
		t.Errorf("report says %q, want %q", said, want)
	}
	most := []advise.Objective{{Term: advise.Term{Response: "throughput", Figure: "mean"}, Maximize: true}}
	c, err := advise.Choose(r.Series(), most, nil, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	chosen := LevelChoice{Choice: c}
	if said := chosen.answer(); !strings.Contains(said, "b: largest throughput") || !strings.Contains(said, want) {
		t.Errorf("choose says %q, want %q", said, want)
	}
	if got := chosen.json(nil).Candidates[0].Objectives[0].Failed; got != 0.8 {
		t.Errorf("choose --json says that %g failed, want 0.8", got)
	}
}

// A choice says which share of the requests has no time: in the place of "met" where only the answered ones keep to a
// bound, and beside it where so many may fail.
func TestAChoiceSaysWhoIsAnswered(t *testing.T) {
	w := exactly(nil)
	lost := map[string]float64{"b": 0.03}
	w.exact = func(at map[string]string, block int) []store.Result {
		of := func(response, unit string, v float64) store.Result {
			return store.Result{Side: measure.Client, Response: response, Unit: unit, N: 200, Mean: v, SD: v / 10, Median: v,
				P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}
		}
		took := map[string]float64{"a": 2e-3, "b": 1e-3}[at["stack"]]
		return []store.Result{of("rtt", "s", took*wobble(block)),
			of("failed_share", "1", lost[at["stack"]]*wobble(block))}
	}
	w.quality = func(at map[string]string, _ int) []store.Quality {
		return []store.Quality{{Key: "requests", Unit: "1", Value: 200},
			{Key: "failures", Unit: "1", Value: 200 * lost[at["stack"]]}}
	}
	r := reportOf(t, w.write(t, oneTreatment))
	for _, tt := range []struct {
		bounds       []string
		choice, says string
	}{
		{[]string{"rtt < 100ms"}, "a", "next: b, rtt < 100ms: kept by the answered requests; 3 % failed, and have no time"},
		{[]string{"rtt < 100ms", "failed_share < 1%"}, "a", "Choose a"},
		{[]string{"rtt < 100ms", "failed_share < 5%"}, "b",
			"rtt < 100ms: kept by the answered requests; failed: 3 % of b."},
	} {
		var bounds []advise.Condition
		for _, text := range tt.bounds {
			k, err := advise.ParseRequirement(text)
			if err != nil {
				t.Fatal(err)
			}
			bounds = append(bounds, k)
		}
		least := []advise.Objective{{Term: advise.Term{Response: "rtt", Figure: "mean"}}}
		l := r.Levels()[0]
		c, err := advise.Choose(l.Series, least, bounds, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		chosen := Chosen{Levels: []LevelChoice{{Choice: c, Notes: r.ChoiceNotes(l, least, c)}}}
		var text, out strings.Builder
		if err := chosen.Text(&text); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(said, tt.says) ||
			!strings.Contains(said, "Choose "+tt.choice) {
			t.Errorf("%q: want %s, %q in\n%s", tt.bounds, tt.choice, tt.says, text.String())
		}
		var read chosenLevel
		if err := chosen.JSON(&out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out.String()), &read); err != nil {
			t.Fatal(err)
		}
		for _, x := range read.Candidates {
			if got := x.Checks[0].Figure.Failed; got != lost[x.Treatment] {
				t.Errorf("%q: %s: JSON says that a share of %g failed, want %g", tt.bounds, x.Treatment, got,
					lost[x.Treatment])
			}
		}
	}
}
