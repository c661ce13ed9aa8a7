package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
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
