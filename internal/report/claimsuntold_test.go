package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
)

// A scorecard does not print limits that tell nothing, of one figure or of several.
func TestClaimsOfWideIntervals(t *testing.T) {
	for kind, untold := range map[string]bool{"ratio": true, "spread ratio": true, "share": true, "difference": false} {
		f := paper.Evidence{Kind: kind, Unit: "s", Comparison: stat.Comparison{Estimate: 2, Lo: 0.0003, Hi: 4000}}
		for _, got := range []string{oursText(paper.Judged{Ours: f}),
			partsText(paper.Judged{Parts: []paper.Part{{Where: "x", Ours: f}}})} {
			if strings.Contains(got, "(the trials do not tell)") != untold ||
				strings.Contains(got, " to ") == untold {
				t.Errorf("%s: got %q", kind, got)
			}
		}
	}
}
