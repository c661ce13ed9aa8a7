package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// Without a condition, a figure that is undecided is skipped, and no test that passed.
func TestJUnitSkipsUndecidedFigures(t *testing.T) {
	of := func(change advise.Change) advise.Contrast {
		return advise.Contrast{Treatment: string(change), Side: measure.Client, Response: "rtt", Unit: "s", Change: change}
	}
	c := Compared{Comparison: advise.Comparison{Contrasts: []advise.Contrast{of(advise.Higher), of(advise.Unknown),
		of(advise.Equal), of(advise.Unknown), of(advise.Same)}}}
	var b strings.Builder
	if err := c.JUnit(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `tests="5" failures="0" errors="0" skipped="2"`) ||
		strings.Count(b.String(), `<skipped message="undecided: RTT of undecided at the client`) != 2 {
		t.Errorf("got\n%s", b.String())
	}
}
