package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// A treatment that cannot be told from the best is not also said to be the
// last, and so many times as much.
func TestVerdictNamesAsLastOnlyWhatItCanTell(t *testing.T) {
	r := &Report{}
	r.Study.Design.Confidence = 0.95
	for i, x := range []struct {
		name  string
		means []float64
	}{
		{"best", []float64{1.0e-3, 1.01e-3, 0.99e-3}},
		{"second", []float64{2.0e-3, 2.02e-3, 1.99e-3}},
		{"third", []float64{3.0e-3, 3.03e-3, 2.98e-3}},
		{"wild", []float64{1e-3, 2e-3, 30e-3}},
	} {
		r.Treatments = append(r.Treatments, Treatment{Levels: []string{x.name}, Floor: -1, Wanted: 3, Valid: 3})
		c := Cell{Treatment: i, Side: measure.Client, Response: "rtt", Unit: "s"}
		for b, m := range x.means {
			c.Points = append(c.Points, Point{Trial: 4*b + i + 1, Block: b + 1, Mean: m})
		}
		if err := c.summarize(0.95); err != nil {
			t.Fatal(err)
		}
		r.Cells = append(r.Cells, c)
	}
	got := strings.Join(r.Verdict(), " ")
	for _, want := range []string{"Quickest: best", "no significant difference from it: wild", "next is second",
		"last is third"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
