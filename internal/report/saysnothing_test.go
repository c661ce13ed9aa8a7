package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/cost"
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

// So it is with the interval of a figure, which is held against the figure itself: of two trials, 1 µs and 1 s, the t
// interval of the mean's logarithm reaches from 1.5 µs to 165,000 s.
func TestAnIntervalOfAFigureThatSaysNothingIsNotPrinted(t *testing.T) {
	for _, tt := range []struct {
		center, lo, hi float64
		nothing        bool
	}{{10.6e-3, 23.9e-15, 4.74e9, true}, {10.6e-3, 0, 4.74, true}, {10.6e-3, 1e-3, 4.74, false},
		{10.6e-3, 1e-6, 1, false}, {10.6e-3, -5, 5, false}, {0, 0, 1, false}} {
		x := stat.Summary{N: 2, Center: tt.center, Lo: tt.lo, Hi: tt.hi}
		for _, said := range []string{between(x, "s"), range2(x, "s"), amountText(cost.Amount{Center: x.Center, Lo: x.Lo,
			Hi: x.Hi}, "s"), interval(x, "s"), missed(x, "s"), Known(x, "s")} {
			nothing := strings.Contains(said, "the trials do not tell") || said == "not even within a factor of 100"
			if nothing != tt.nothing || nothing && strings.ContainsAny(said, "Gf%±") && said[0] != 'n' {
				t.Errorf("%g (%g to %g): said %q", tt.center, tt.lo, tt.hi, said)
			}
		}
	}

	r := reportOfRan(t, ran{"rest", 1, []float64{1e-6, 1}}, ran{"soap", 1, []float64{2e-3, 2.1e-3}})
	var text, markdown, latex, html strings.Builder
	for _, err := range []error{r.Text(&text), r.Markdown(&markdown), r.LaTeX(&latex), r.HTML(&html)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, said := range []string{text.String(), markdown.String(), latex.String(), html.String()} {
		if !strings.Contains(said, "the trials do not tell") || strings.Contains(said, "165 ks") ||
			strings.Contains(said, ">10 ks<") { // nor does a picture's axis reach so far
			t.Errorf("said %.2000s", said)
		}
	}
	var csv strings.Builder
	if err := r.CSV(&csv); err != nil || !strings.Contains(csv.String(), ",16") {
		t.Errorf("%v: CSV keeps limits: %s", err, csv.String())
	}
}
