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
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range verdictbench.Rates() {
		if strings.Contains(x.Name, "equal treatments") &&
			!strings.Contains(x.Name, "11 equal treatments, 5 blocks, two-humped") {
			continue
		}
		const studies = 4
		hits, err := x.Count(t.TempDir(), studies, verdictbench.Runner(t.Context(), exe))
		if err != nil {
			t.Fatal(err)
		}
		got := 100 * float64(hits) / studies
		slack := x.Slack(studies)
		if x.Lo == x.Hi {
			slack = 0
		}
		if got < x.Lo-slack || got > x.Hi+slack {
			t.Errorf("%s: got %g %% of %d, want %g to %g", x.Name, got, studies, x.Lo, x.Hi)
		}
	}
}
