package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/stat"
)

// Who cannot tell says why: a wait for a CPU, or an interval that is too wide.
func TestConfirmSaysWhyItCannotTell(t *testing.T) {
	ratio := func(center, spread float64) stat.Comparison {
		var a, b []float64
		for i := range 20 {
			a, b = append(a, 1), append(b, center*math.Exp(spread*math.Sin(float64(i))))
		}
		c, err := stat.RatioOfBlocks(b, a, 1-ConfirmedAt)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	p := Past{Confirms: &Confirms{Detect: 0.05}, confidence: 1 - ConfirmedAt}
	for _, tt := range []struct {
		what string
		x    advise.Contrast
		want string
	}{
		{"a wait", advise.Contrast{Response: "rtt", Ratio: ratio(1, 0.01), Allowance: 1.06}, "alone would say not " +
			"confirmed, but programs waited for a CPU, which may cause a ratio of up to 1.06; " +
			"confirm again on a quieter machine"},
		{"a wait that hides a change", advise.Contrast{Response: "rtt", Ratio: ratio(1.2, 0.01), Allowance: 1.5},
			"alone would say confirmed worse, but programs waited"},
		{"too few blocks", advise.Contrast{Response: "rtt", Ratio: ratio(1, 0.2), Allowance: 1},
			"holds a change of 5 % or more, and that of 99.9 % no change; confirm again with more blocks"},
		{"no figure", advise.Contrast{Response: "rtt", Doubt: "new: too few values"}, "new: too few values"},
	} {
		if got := history.Decide(tt.x.Ratio, 0.05, tt.x.Allowance, false); tt.x.Doubt == "" && got != history.CannotTell {
			t.Fatalf("%s: got %s: the test tests nothing", tt.what, got)
		}
		if got := p.open(tt.x, 1); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
	if whyOpen(history.Worse, "x") != "" || whyOpen(history.CannotTell, "x") != "x" {
		t.Error("a reason belongs to what is open")
	}
}
