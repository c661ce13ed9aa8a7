package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// An interval of a ratio that reaches from a hundredth to a hundred times says nothing, and its limits are not printed:
// those of two trials have been 0.0000174 and 187894. One that excludes something is.
func TestAnIntervalThatSaysNothingIsNotPrinted(t *testing.T) {
	for _, tt := range []struct {
		lo, hi  float64
		nothing bool
	}{{0.0000174, 187894, true}, {0.009, 101, true}, {0.02, 5000, false}, {0.0001, 50, false}, {0.9, 1.2, false}} {
		x := stat.Comparison{Estimate: 1.8, Lo: tt.lo, Hi: tt.hi}
		var together nameList
		together.add("soap", x)
		for _, said := range []string{together.span(true), timesAsMuch(x, true, ""), ratioRange(x)} {
			if strings.Contains(said, ratioText(tt.lo)+" to "+ratioText(tt.hi)) == tt.nothing ||
				strings.Contains(said, "the trials do not tell") != tt.nothing {
				t.Errorf("%g to %g: said %q", tt.lo, tt.hi, said)
			}
		}
		if said := timesAsMuch(x, false, "s"); strings.Contains(said, "do not tell") {
			t.Errorf("a difference of %g to %g: said %q", tt.lo, tt.hi, said)
		}
	}

	r := reportOfRan(t, ran{"rest", 1, []float64{1e-3, 40e-3}}, ran{"soap", 1, []float64{30e-3, 12e-3}})
	if got := strings.Join(r.Verdict(), " "); !strings.Contains(got, " (the trials do not tell how many times as much)") {
		t.Errorf("two trials: got %q", got)
	}
}
