package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// clocked is a study of two treatments whose times are differences of instants that a clock of so large steps shows, in
// s, as is the time when the last request ended. Trials do not vary.
func clocked(t *testing.T, trials int, step float64, truth map[string]float64, span func(block int) float64) *Report {
	t.Helper()
	shown := func(v float64) float64 { return math.Floor(v/step+1e-9) * step }
	w := exactly(nil)
	w.exact = func(at map[string]string, _ int) []store.Result {
		v := shown(truth[at["stack"]])
		return []store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 100, Mean: v, Median: v, P95: v, Min: v,
			Max: v, Method: store.Measured}}
	}
	w.quality = func(_ map[string]string, block int) []store.Quality {
		return []store.Quality{{Key: "span", Unit: "s", Value: shown(span(block))}}
	}
	file := fmt.Sprintf("study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, b]}\n"+
		"design: {replications: %d, seed: 1}\n", trials)
	return reportOf(t, w.write(t, file))
}

// Of few times that are alike, 200 µs and 300 µs, the clock is known by what else it shows: if it has steps of a ns,
// the two differ; if it has steps of 100 µs, they may not.
func TestStepsAreThoseOfTheClock(t *testing.T) {
	span := func(block int) float64 { return 1.99858957 + 0.000123457*float64(block) }
	for step, want := range map[float64]string{1e-9: "; next is b, 1.500 times as much",
		100e-6: "; no significant difference from it: b"} {
		r := clocked(t, 5, step, map[string]float64{"a": 200e-6, "b": 300e-6}, span)
		if got := r.Verdict()[0]; !strings.Contains(got, want) {
			t.Errorf("a clock of %v s: got %q, want %q", step, got, want)
		}
		rtt := advise.Objective{Term: advise.Term{Response: "rtt", Figure: "mean"}}
		c, err := advise.Choose(r.Series(), []advise.Objective{rtt}, nil, 0.95)
		if err != nil || c.Candidates[1].Noise != (step > 1e-6) {
			t.Errorf("a clock of %v s: choose: %+v, %v", step, c.Candidates, err)
		}
	}
}

// Equals at the edge of a step are never told apart by what the clock shows, however few trials there are.
func TestEqualsAtTheEdgeOfAStepAreNotToldApart(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	rnd := rand.New(rand.NewPCG(16, 1))
	apart := 0
	const studies = 150
	for range studies {
		step := []float64{1e-9, 1e-6, 100e-6}[rnd.IntN(3)]
		edge := step * float64(2+rnd.IntN(30))
		r := clocked(t, 2+rnd.IntN(2), step, map[string]float64{"a": edge - 0.01*step, "b": edge + 0.01*step},
			func(int) float64 { return 1 + rnd.Float64() })
		if c, _ := r.Cell(0, measure.Client, "rtt"); c.step < step*(1-1e-6) {
			t.Fatalf("a clock of %v s counts as one of %v", step, c.step)
		}
		if strings.Contains(r.Verdict()[0], "; next is ") {
			apart++
		}
	}
	if apart > 0 {
		t.Errorf("equals were told apart in %d of %d studies", apart, studies)
	}
}
