package main

import (
	"os"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/bench/verdictbench"
)

// Fabricated truths through the command line: what is certain must come out so
// every time, what has a rate must keep to it. `edgegauge bench verdicts` counts
// all rows; here are the small ones.
func TestVerdictsOnFabricatedTruths(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var rates []verdictbench.Rate
	for _, g := range verdictbench.Groups() {
		rates = append(rates, g.Rates...)
	}
	for _, x := range rates {
		if strings.Contains(x.Name, "equal treatments") &&
			!strings.Contains(x.Name, "; 3 equal treatments") {
			continue
		}
		const studies = 4
		hits, err := x.Count(t.TempDir(), studies, verdictbench.Processes(t.Context(), exe))
		if err != nil {
			t.Fatal(err)
		}
		for k, asked := range x.All() {
			got := 100 * float64(hits[k]) / studies
			slack := asked.Slack(studies)
			if asked.Lo == asked.Hi {
				slack = 0
			}
			if got < asked.Lo-slack || got > asked.Hi+slack {
				t.Errorf("%s: got %g %% of %d, want %g to %g", asked.Name, got, studies, asked.Lo, asked.Hi)
			}
		}
	}
}
