package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

const pies = `study: pies
service: sort
factors:
  stack: [axis2, cxf, other]
  message: [{name: small, size: 100kB}, {name: large, size: 500kB}]
design: {replications: 8}
published:
  table: frameworks-on-raspberry-pi
  columns:
    framework: stack
    message_kb: {message: {small: 100, large: 500}}
`

// The published figures themselves, with 1 % spread.
func piesAsPublished(at map[string]string, side measure.Side, response string) (float64, float64) {
	table := map[string][4]float64{ // axis2 small, large, cxf small, large
		"total_time server":   {15.48, 84.79, 18.39, 81.62},
		"total_time client":   {30, 128.15, 38.64, 125.22},
		"energy_gross server": {31.98, 164.41, 35.01, 157.68},
		"energy_gross client": {58.73, 233.87, 70.72, 223.66},
	}
	row, ok := table[response+" "+string(side)]
	if !ok {
		return math.NaN(), 0
	}
	if at["stack"] == "other" {
		return row[0], row[0] / 100
	}
	i := 0
	if at["stack"] == "cxf" {
		i = 2
	}
	if at["message"] == "large" {
		i++
	}
	return row[i], row[i] / 100
}

func TestPublishedStandsBesideOurs(t *testing.T) {
	r := reportOf(t, simulated(t, pies, piesAsPublished, store.Modelled))
	beside := 0
	for _, c := range r.Cells {
		name := r.Treatments[c.Treatment].Name()
		if strings.HasPrefix(name, "other") != (c.Published == nil) {
			t.Errorf("%s %s: got %v beside it", name, c.Response, c.Published)
		}
		if c.Published == nil {
			continue
		}
		beside++
		if got := c.Published.Ratio; !(got.Lo < 1.01 && got.Hi > 0.99 && math.Abs(got.Estimate-1) < 0.02) {
			t.Errorf("%s %s %s: got ratio %v (%v to %v), want 1", name, c.Side, c.Response, got.Estimate, got.Lo, got.Hi)
		}
	}
	if beside != 16 {
		t.Errorf("got %d published figures beside ours, want 16", beside)
	}
	c, _ := r.Cell(0, measure.Server, "total_time")
	if p := c.Published; p.Mean != 15.48 || p.HalfWidth != 0.29 || p.Unit != "s" ||
		!strings.Contains(p.Ratio.Method, "delta") {
		t.Errorf("got %+v", p)
	}
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Compared with the figures of", "15.5 s ±290 ms", "J (modelled)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if got := pageOf(t, r); !strings.Contains(got, ". Energy is in joules") {
		t.Error("the page does not say what a reader must know about the figures, as a sentence")
	}
	f := r.Charts()
	if got := f[0].Rows[0]; !(got.PubLo < got.Published && got.Published < got.PubHi) ||
		!math.IsNaN(f[0].Rows[4].Published) {
		t.Errorf("the figure has %v (%v to %v), and %v for what was not published", got.Published, got.PubLo, got.PubHi,
			f[0].Rows[4].Published)
	}
}
