package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// No hollow point lies over a filled one, and what names points stays within the picture where it is narrow.
func TestParetoShowsItsFrontAndItsNames(t *testing.T) {
	at := func(v float64) stat.Summary { return stat.Summary{Center: v, Lo: v, Hi: v} }
	for _, names := range [][]string{{"rest", "soap", "cbor"}, {"per-request mqtt-json", "keep-alive rest-json", "soap"},
		{"a treatment of which the name is far too long 1 x", "a treatment of which the name is far too long 2 x",
			"b treatment of which the name is far too long 1 x"}} {
		points := []paretoPoint{{name: names[0], x: at(100), y: at(1e-3)}, {name: names[1], x: at(100), y: at(1.001e-3)},
			{name: names[2], x: at(300), y: at(3e-3)}}
		byCenter(points)
		text := paretoPicture("pareto-1", "", "wire bytes", "RTT", points).body
		filled, hollow := strings.LastIndex(text, `class="fig-front"`), strings.LastIndex(text, `class="fig-open"`)
		if filled < hollow || hollow < 0 {
			t.Errorf("%q: a hollow point is drawn over the filled one", names)
		}
		found := nameInPareto.FindAllStringSubmatch(text, -1)
		if len(found) != len(names) {
			t.Fatalf("%q: got names %q", names, found)
		}
		for _, m := range found {
			x, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			end := x/100*paretoLeast + nameWidth*float64(utf8.RuneCountInString(m[4]))
			if ends := strings.Contains(m[1], "fig-last"); ends && x != 100 || !ends && end > paretoLeast {
				t.Errorf("%q begins at %v %% and ends at %.0f px of %d", m[4], x, end, paretoLeast)
			}
		}
	}
}

// byCenter marks the front of figures that are known for certain.
func byCenter(points []paretoPoint) {
	onFront(points, func(i, j int) bool { return points[i].x.Center < points[j].x.Center },
		func(i, j int) bool { return points[i].y.Center < points[j].y.Center })
}

// A paretoRan is a treatment with bytes and times of its trials, each in a block of its own.
type paretoRan struct {
	bytes, rtts []float64
	waiting     float64
}

func reportOfPareto(t *testing.T, all ...paretoRan) *Report {
	t.Helper()
	r := &Report{}
	r.Study.Design.Confidence = 0.95
	for i, x := range all {
		n := len(x.rtts)
		r.Treatments = append(r.Treatments, Treatment{Levels: []string{string(rune('a' + i))}, Floor: -1, Wanted: n,
			Valid: n})
		for _, of := range []struct {
			response, unit string
			values         []float64
		}{{"rtt", "s", x.rtts}, {"message_size", "B", x.bytes}} {
			c := Cell{Treatment: i, Side: measure.Client, Response: of.response, Unit: of.unit, Waiting: x.waiting}
			for b, v := range of.values {
				c.Points = append(c.Points, Point{Trial: len(all)*b + i + 1, Block: b + 1, Mean: v, Median: v, P95: v})
			}
			if err := c.summarize(0.95); err != nil {
				t.Fatal(err)
			}
			r.Cells = append(r.Cells, c)
		}
	}
	return r
}

// Points that only noise parts, or waiting for a CPU may, share the front. One is beaten where another is shown to be
// lower, and in no figure higher.
func TestParetoFrontLeavesNoiseUndecided(t *testing.T) {
	about := func(v float64, noise []float64) []float64 {
		out := make([]float64, len(noise))
		for i, x := range noise {
			out[i] = v * (1 + x)
		}
		return out
	}
	sure := func(v float64) []float64 { return about(v, make([]float64, 8)) }
	noise := []float64{0.05, -0.04, 0.02, -0.06, 0.03, 0.01, -0.05, 0.04}
	other := slices.Clone(noise)
	slices.Reverse(other)
	wide := []float64{0.3, -0.3, 0.31, -0.3, 0.3, -0.31, 0.3, -0.3}
	blocks := []float64{0, 1, 2, 4, 8, 0, 1, 2}
	for _, x := range []struct {
		name  string
		ran   []paretoRan
		front []bool
	}{
		{"as many bytes, times apart by less than noise",
			[]paretoRan{{sure(219), about(838, noise), 0}, {sure(219), about(839, other), 0}}, []bool{true, true}},
		{"as many bytes, times apart by more",
			[]paretoRan{{sure(219), about(838, noise), 0}, {sure(219), about(1838, other), 0}}, []bool{true, false}},
		{"more bytes, and no quicker",
			[]paretoRan{{sure(219), about(838, noise), 0}, {sure(448), about(839, other), 0}}, []bool{true, false}},
		{"more bytes, and quicker by noise",
			[]paretoRan{{sure(219), about(838, noise), 0}, {sure(448), about(837, other), 0}}, []bool{true, true}},
		{"one trial each", []paretoRan{{sure(1)[:1], sure(1)[:1], 0}, {sure(1)[:1], sure(1.01)[:1], 0}}, []bool{true, true}},
		{"apart in each block, far more than blocks are",
			[]paretoRan{{sure(219), about(838, blocks), 0}, {sure(219), about(900, blocks), 0}}, []bool{true, false}},
		{"a wide interval, and a narrow one, both apart by noise", []paretoRan{{sure(219), about(838, noise), 0},
			{sure(219), about(850, other), 0}, {sure(219), about(1000, wide), 0}}, []bool{true, true, true}},
		{"slower, and waiting may explain it",
			[]paretoRan{{sure(219), about(838, noise), 0.3}, {sure(219), about(1000, other), 0.3}}, []bool{true, true}},
		{"slower than waiting may explain",
			[]paretoRan{{sure(219), about(838, noise), 0.3}, {sure(219), about(8380, other), 0.3}}, []bool{true, false}},
	} {
		r := reportOfPareto(t, x.ran...)
		for i, p := range r.paretoPoints(r.groups()[0], "message_size", "rtt") {
			if p.front != x.front[i] {
				t.Errorf("%s: point %d on the front: %v", x.name, i, p.front)
			}
		}
	}
}

// Of two treatments with as many bytes, the picture leaves open the one that the answer calls the next, and no other.
func TestParetoFrontIsThatOfTheAnswer(t *testing.T) {
	rnd := rand.New(rand.NewPCG(10, 1))
	open, next := 0, 0
	for n := range 400 {
		off, noise := 0.15*rnd.Float64(), 0.1*rnd.Float64()
		waiting := max(0, rnd.Float64()-0.7)
		var a, b paretoRan
		for range 3 + rnd.IntN(8) {
			a.bytes, b.bytes = append(a.bytes, 219), append(b.bytes, 219)
			a.rtts = append(a.rtts, 1e-3*math.Exp(noise*rnd.NormFloat64()))
			b.rtts = append(b.rtts, 1e-3*math.Exp(off+noise*rnd.NormFloat64()))
		}
		a.waiting, b.waiting = waiting, waiting
		r := reportOfPareto(t, a, b)
		points := r.paretoPoints(r.groups()[0], "message_size", "rtt")
		says := r.Verdict()[0]
		beaten, isNext := !points[0].front || !points[1].front, strings.Contains(says, "; next is ")
		if beaten != isNext {
			t.Errorf("study %d: one of the two is open: %v; got %q", n, beaten, says)
		}
		if beaten {
			open++
		}
		if isNext {
			next++
		}
	}
	if open < 50 || next > 350 {
		t.Errorf("of 400 studies %d have one that is beaten, %d one that is next", open, next)
	}
}

// However many points there are and wherever they lie, each name stands within the picture; of many points only those
// on the front have one. The title ends within the picture where it is narrow, too.
func TestParetoNamesStandWithinIt(t *testing.T) {
	for _, x := range []struct {
		points, named int
		front         bool // all are on it
		which         string
	}{{8, 8, false, "; filled: on"}, {19, 19, false, "; filled: on"}, {20, 1, false, "; filled and named: on"},
		{58, 1, false, "; filled and named: on"}, {30, 30, true, "; filled and named: on"}} {
		var points []paretoPoint
		for i := range x.points {
			v := 1 + float64(i)/1e6 // all in one place
			if points = append(points, paretoPoint{name: "p" + strconv.Itoa(i)}); x.front {
				points[i].x, points[i].y = stat.Summary{Center: v}, stat.Summary{Center: 1 / v}
			} else {
				points[i].x, points[i].y = stat.Summary{Center: v}, stat.Summary{Center: v}
			}
		}
		if !x.front { // one far above, so that the others are at the bottom
			points[x.points-1].y.Center = 10
		}
		byCenter(points)
		p := paretoPicture("pareto-1", strings.Repeat("a level of a long name ", 9), "wire bytes", "RTT", points)
		found := nameInPareto.FindAllStringSubmatch(p.body, -1)
		if len(found) != x.named || !strings.Contains(p.body, x.which) {
			t.Errorf("%d points: got %d names, want %d and %q in %s", x.points, len(found), x.named, x.which, p.body[:600])
		}
		for _, m := range found {
			if y, _ := strconv.Atoi(m[3]); y < 20 || y > p.Height-4 {
				t.Errorf("%d points: %q is at %d px of %d", x.points, m[4], y, p.Height)
			}
		}
		_, title, _ := strings.Cut(p.body, `y="14">`)
		title, _, _ = strings.Cut(title, "<")
		if wide := float64(utf8.RuneCountInString(title)) * nameWidth; wide > paretoLeast ||
			!strings.HasSuffix(title, ": RTT and wire bytes") {
			t.Errorf("the title is %q", title)
		}
	}
}

// An interval that reaches below 0 does not press all times, which are above it, to one end of the axis.
func TestParetoAxisOfTimesIsLogarithmic(t *testing.T) {
	var points []paretoPoint
	for i, y := range []stat.Summary{{Center: 1e-4, Lo: 9e-5, Hi: 1.1e-4}, {Center: 1e-3, Lo: -2e-3, Hi: 4e-3}} {
		points = append(points, paretoPoint{name: strconv.Itoa(i), x: stat.Summary{Center: 100}, y: y})
	}
	if body := paretoPicture("pareto-1", "", "wire bytes", "RTT", points).body; strings.Contains(body, ">-") ||
		!strings.Contains(body, ">200 µs<") {
		t.Errorf("got %s", body)
	}
}

// Where figures are medians, the page says so above them and below the chart that explores them.
func TestPageSaysWhereFiguresAreMedians(t *testing.T) {
	r := fakeReport(t, 2, 1, 10)
	r.Facts.Placement = map[string]study.Pin{}
	for i := range r.Cells {
		r.Cells[i].ByMedian = r.Cells[i].Response == "rtt"
	}
	var page strings.Builder
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for says, want := range map[string]bool{"<h3>RTT at the client (median) <button": true,
		"<h3>CPU time at the client (median)": false, "<h3>CPU time at the client <button": true} {
		if strings.Contains(page.String(), says) != want {
			t.Errorf("%q there: %v", says, !want)
		}
	}
	for _, p := range r.Panels() {
		for _, row := range r.dataPanel(p).Rows {
			if want := p.Side == measure.Client && p.Response == "rtt"; row.Median != want {
				t.Errorf("%s: by median %v", p.ID(), row.Median)
			}
		}
	}
	for _, words := range []string{"intervals of the ${centers(rows())} of trials", `"median" : "mean or median"`} {
		if !strings.Contains(pageJS, words) {
			t.Errorf("the caption of the explorer does not say whether it shows medians: no %s", words)
		}
	}
}

// A terminal says of a warning which figure is the first that it concerns.
func TestTextWarningsNameTheirFigure(t *testing.T) {
	r := fakeReport(t, 2, 1, 10)
	for i := range r.Cells {
		r.Cells[i].Warnings = nil
	}
	r.Cells[1].Warnings = []string{"outliers: 1 of 6 trials"}
	r.Cells[2].Warnings = []string{"outliers: 2 of 6 trials", "one thing more"}
	want := []string{
		"outliers: 1 of 6 trials (the first of 2 such figures: serialization of stack-0 encoding-0 at the client)",
		"one thing more (1 figure: deserialization of stack-0 encoding-0 at the client)"}
	if got := r.warnings(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The picture says of both axes where they are medians, whichever treatments have the figure.
func TestParetoSaysWhichAxesAreMedians(t *testing.T) {
	for _, x := range []struct {
		medians []string
		title   string
	}{{nil, "RTT and message size<"}, {[]string{"rtt"}, "RTT (median) and message size<"},
		{[]string{"rtt", "message_size"}, "RTT (median) and message size (median)<"}} {
		r := fakeReport(t, 5, 1, 10)
		r.Cells = slices.DeleteFunc(r.Cells, func(c Cell) bool { return c.Treatment == 0 && c.Response == "rtt" })
		for i := range r.Cells {
			r.Cells[i].ByMedian = slices.Contains(x.medians, r.Cells[i].Response)
		}
		if all := r.paretos(); len(all) != 1 || !strings.Contains(all[0].body, ">"+x.title) {
			t.Errorf("%v: want %q in %+v", x.medians, x.title, all)
		}
	}
}
