package paper

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// Limits of a ratio that tell nothing are not printed, wherever a claim's reason has a figure of ours.
func TestWideIntervalsAreUntold(t *testing.T) {
	wide, narrow := stat.Comparison{Estimate: 2, Lo: 0.0003, Hi: 4000}, stat.Comparison{Estimate: 2, Lo: 0.5, Hi: 4}
	for _, kind := range []string{"ratio", "spread ratio", "share", "difference", "slope", "exponent"} {
		for _, x := range []stat.Comparison{wide, narrow} {
			f := Evidence{Kind: kind, Comparison: x}
			j := Judged{Parts: []Part{{Where: "at a", Ours: f, Holds: 1, bounds: []float64{1}}}}
			untold := x.Lo == wide.Lo && (kind == "ratio" || kind == "spread ratio" || kind == "share")
			if got := j.openest(); strings.Contains(got, "at a is 2 ("+advise.Untold+")") != untold ||
				strings.Contains(got, " to ") == untold {
				t.Errorf("%s %+v: got %q", kind, x, got)
			}
		}
	}
	apart := []advise.Stratum{{Levels: []string{"small"}, Comparison: stat.Comparison{Estimate: 1e5, Lo: 5e4, Hi: 2e5}},
		{Levels: []string{"large"}, Comparison: wide}}
	if got := ratiosAt(apart); got != " 1e+05 (5e+04 to 2e+05) at small, 2 ("+advise.Untold+") at large" {
		t.Errorf("got %q", got)
	}
}
