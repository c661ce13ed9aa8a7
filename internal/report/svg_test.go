package report

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
)

func figureWith(rows ...ChartRow) Chart {
	return Chart{ID: "rtt-client", Title: "RTT, client", Unit: "s", Rows: rows}
}

func row(points []float64, center, lo, hi, floor float64) ChartRow {
	return ChartRow{Name: "a <b> & c", Value: "v", Points: points, Center: center, Lo: lo, Hi: hi, Floor: floor,
		Published: math.NaN()}
}

func TestSVGIsWellFormedAndShowsWhatItHas(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		what                  string
		f                     Chart
		points, cis, floors   int
		means                 int
		notThere, mustContain string
	}{
		{what: "a usual row", f: figureWith(row([]float64{1, 2, 3}, 2, 1.5, 2.5, 1)), points: 3, cis: 3, floors: 1, means: 1,
			mustContain: "a &lt;b&gt; &amp; c"},
		{what: "one trial has no interval", f: figureWith(row([]float64{2}, 2, nan, nan, nan)), points: 1, means: 1},
		{what: "all failed", f: figureWith(row(nil, nan, nan, nan, nan)), notThere: "NaN"},
		{what: "all zero", f: figureWith(row([]float64{0, 0}, 0, 0, 0, nan)), points: 2, means: 1, notThere: "NaN"},
		{what: "infinite", f: figureWith(row([]float64{1, math.Inf(1)}, math.Inf(1), nan, nan, nan)), points: 1,
			notThere: "Inf"},
		{what: "an interval below zero on a log axis, where it has no end", f: figureWith(row([]float64{1, 100}, 50, -20,
			120, 1)), points: 2, cis: 2, floors: 1, means: 1, notThere: "NaN"},
	} {
		var b strings.Builder
		if err := tt.f.File(&b); err != nil {
			t.Fatal(err)
		}
		s := b.String()
		for d := xml.NewDecoder(strings.NewReader(s)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v in %s", tt.what, err, s)
			}
		}
		for class, want := range map[string]int{"fig-pt": tt.points, "fig-ci": tt.cis, "fig-floor": tt.floors,
			"fig-mean": tt.means} {
			if got := strings.Count(s, `class="`+class+`"`); got != want {
				t.Errorf("%s: got %d of %s, want %d", tt.what, got, class, want)
			}
		}
		if tt.notThere != "" && strings.Contains(s, tt.notThere) {
			t.Errorf("%s: %s in %s", tt.what, tt.notThere, s)
		}
		if !strings.Contains(s, tt.mustContain) {
			t.Errorf("%s: no %s", tt.what, tt.mustContain)
		}
	}
}

func TestAxisTicks(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		unit   string
		want   string
	}{
		{[]float64{3e-6, 22e-6}, "s", "0 5 µs 10 µs 15 µs 20 µs"},
		{[]float64{20e-9, 900e-9}, "s", "20 ns 50 ns 100 ns 200 ns 500 ns 1 µs"},
		{[]float64{1e-6, 3}, "s", "1 µs 10 µs 100 µs 1 ms 10 ms 100 ms 1 s"},
		{[]float64{100, 108}, "B", "100 B 102 B 104 B 106 B 108 B"},          // far from 0: not from 0
		{[]float64{2, 2 + 1e-9}, "W", "1.998 W 1.999 W 2 W 2.001 W 2.002 W"}, // hardly a spread: ticks still differ
		{[]float64{0}, "s", "0 0.2 s 0.4 s 0.6 s 0.8 s 1 s"},
		{[]float64{-2, 5}, "", "-2 0 2 4"},
		{[]float64{50000, 200000}, "1/s", "0 50 k/s 100 k/s 150 k/s 200 k/s"},
	} {
		a := newAxis(tt.values)
		var got []string
		for _, v := range a.ticks() {
			got = append(got, a.label(v, tt.unit))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v: got %q, want %q", tt.values, strings.Join(got, " "), tt.want)
		}
	}
}

// Of very many trials a figure draws some, the extremes among them.
func TestFiguresHaveAtMostSoManyPoints(t *testing.T) {
	points := make([]float64, 30_000)
	for i := range points {
		points[i] = 1 + float64(i%7)/10
	}
	points[777], points[22_222] = 0.5, 3
	rows := make([]ChartRow, 3)
	for i := range rows {
		rows[i] = ChartRow{Name: "a", Points: points, Center: 1.3, Lo: 1.2, Hi: 1.4,
			Floor: math.NaN(), Published: math.NaN()}
	}
	var b strings.Builder
	if err := (Chart{ID: "x", Unit: "s", Rows: rows}).SVG(&b); err != nil {
		t.Fatal(err)
	}
	svg := b.String()
	if n := strings.Count(svg, `class="fig-pt"`); n > mostTrials || n < mostTrials*9/10 {
		t.Errorf("%d points are drawn", n)
	}
	for _, v := range []float64{0.5, 3} {
		if strings.Count(svg, "<title>"+Format(v, "s")+"</title>") != len(rows) {
			t.Errorf("the extreme %v is lost", v)
		}
	}
}

// A published interval is drawn to its ends: cut at the edge of the axis it would look as if it ended there.
func TestAPublishedIntervalIsOnTheAxis(t *testing.T) {
	x := row([]float64{10, 11, 12}, 11, 10, 12, math.NaN())
	x.Published, x.PubLo, x.PubHi = 12, 9, 15
	a := newAxis(figureWith(x).values())
	if !a.shows(9) || !a.shows(15) {
		t.Errorf("the axis is %+v", a)
	}
	x.PubLo = -3 // no time is negative: zero is as far as it goes
	if a := newAxis(figureWith(x).values()); a.lo < 0 || !a.shows(15) {
		t.Errorf("below zero: the axis is %+v", a)
	}
	none := row([]float64{10, 11, 12}, 11, 10, 12, math.NaN())
	if got, want := newAxis(figureWith(none).values()), newAxis([]float64{10, 12}); got != want {
		t.Errorf("nothing was published: the axis is %+v, want %+v", got, want)
	}
}
