package report

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
)

// Digits of an interval that knows nothing would look like knowledge.
func TestIntervalsThatKnowNothing(t *testing.T) {
	for v, want := range map[float64]string{1.002: "1.002", 11.48: "11.5", 5888: "5888", 3.6e18: ">1000000",
		2.4e-10: "<0.000001", 0.05: "0.0500", 1: "1.000", 1.00042: "1.0004", 0.99996: "0.99996", 1.0000000001: "1.000"} {
		if got := ratioText(v); got != want {
			t.Errorf("ratio %g: got %q, want %q", v, got, want)
		}
	}
	for hi, want := range map[float64]string{1.02: "±2.0%", 1.5: "±50%", 1e6: "±>1000%"} {
		if got := interval(stat.Summary{Center: 1, Lo: 2 - hi, Hi: hi}, "s"); got != want {
			t.Errorf("1 ± %g: got %q, want %q", hi-1, got, want)
		}
	}
}

// ± of the center would be another interval where the sides differ, and reach below 0: 1 s of 289 ms to 3.46 s is no
// 1 s ± 159 %.
func TestLopsidedIntervalsHaveEnds(t *testing.T) {
	for _, x := range []struct {
		lo, hi      float64
		want, known string
	}{
		{0.9, 1.1, "±10%", "within 10.0 %"},
		{0.9, 1.124, "±11%", "within 11.2 %"},
		{0.9, 1.126, "(900 ms to 1.13 s)", "to lie at 900 ms to 1.13 s (half-width 11.3 %)"},
		{0.874, 1.1, "(874 ms to 1.10 s)", "to lie at 874 ms to 1.10 s (half-width 11.3 %)"},
		{1, 1.3, "(1.00 s to 1.30 s)", "to lie at 1.00 s to 1.30 s (half-width 15.0 %)"},
		{1, 1.1, "±5.0%", "within 5.00 %"}, // narrow

		{1, 1.0028, "±0.1%", "within 0.140 %"},
	} {
		s := stat.Summary{Center: 1, Lo: x.lo, Hi: x.hi}
		if got := interval(s, "s"); got != x.want {
			t.Errorf("%v to %v: got %q, want %q", x.lo, x.hi, got, x.want)
		}
		if got := Known(s, "s"); got != x.known {
			t.Errorf("%v to %v: got %q, want %q", x.lo, x.hi, got, x.known)
		}
	}
}

// No interval holds with certainty, however it is rounded.
func TestNoConfidenceIsCertainty(t *testing.T) {
	for confidence, want := range map[float64]string{0.95: "95 %", 0.975: "97.5 %", 0.99: "99 %", 0.995: "99.5 %",
		0.999: "99.9 %", 1 - ConfirmedAt/30: "99.9967 %"} {
		r := fakeReport(t, 2, 1, 3)
		r.Study.Design.Confidence = confidence
		var text, page strings.Builder
		if err := r.Text(&text); err != nil {
			t.Fatal(err)
		}
		if err := r.HTML(&page); err != nil {
			t.Fatal(err)
		}
		two, one := Compared{Confidence: confidence}, Compared{Confidence: confidence, Paired: true}
		for _, said := range []string{text.String(), page.String(), two.how(), one.how()} {
			if !strings.Contains(said, want+" interval") || strings.Contains(said, "100 % interval") {
				t.Errorf("%v: want %q in %.300s", confidence, want, said)
			}
		}
	}
	p := Past{Confirms: &Confirms{Detect: 0.05}, confidence: 1 - ConfirmedAt/30, Took: 40*time.Minute + 12e9}
	var b strings.Builder
	if err := p.ConfirmationText(&b); err != nil || !strings.Contains(b.String(), "intervals of 99.9967 %") ||
		!strings.Contains(b.String(), "0 trials in 40m12s") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// Where a clock ticks, an interval of medians may have no width though trials differ: it is not said that they do not.
func TestTicksAreNoLackOfSpread(t *testing.T) {
	ticks, err := stat.Median([]float64{31e-9, 31e-9, 31e-9, 31e-9, 31e-9, 31e-9, 31e-9, 31e-9, 31e-9, 32e-9}, 0.95)
	if got := range2(ticks, "s"); err != nil || got != "31.0 ns to 31.0 ns" {
		t.Errorf("got %q, %v", got, err)
	}
	equal, err := stat.Median([]float64{31e-9, 31e-9, 31e-9, 31e-9, 31e-9, 31e-9}, 0.95)
	if got := range2(equal, "s"); err != nil || got != "no spread" {
		t.Errorf("got %q, %v", got, err)
	}
}
