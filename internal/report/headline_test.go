package report

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// Where a few slow requests weigh much, the headline is the median, for all
// treatments of that response, and the column says so; of earlier results it is the mean.
func TestHeadlineOfSkewedTrials(t *testing.T) {
	r := fakeReport(t, 2, 1, 10)
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Response != "rtt" || c.Treatment > 0 {
			continue
		}
		for k := range c.Points {
			c.Points[k].Median = c.Points[k].Mean * 0.8
		}
		if err := c.summarize(0.95); err != nil {
			t.Fatal(err)
		}
	}
	for _, now := range []bool{false, true} {
		if now {
			r.Facts.Placement = map[string]study.Pin{}
		}
		if err := r.chooseHeadlines(); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Cells {
			if want := now && c.Response == "rtt"; c.ByMedian != want {
				t.Errorf("%s of treatment %d, results of today %v: by median %v", c.Response, c.Treatment, now, c.ByMedian)
			}
		}
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "rtt (median)"); got != now {
			t.Errorf("results of today %v: the column says so: %v", now, got)
		}
	}
	if c := r.Cells[0]; c.Headline().Center != c.Median.Center || c.Mean.Center == c.Median.Center {
		t.Errorf("got %v, want %v", c.Headline(), c.Median)
	}
}

// Papers print means: beside a published figure ours is the mean, however skewed trials are.
func TestHeadlineBesideAPublishedFigure(t *testing.T) {
	r := reportOf(t, simulated(t, pies, piesAsPublished))
	r.Facts.Placement = map[string]study.Pin{}
	printed := 0
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Published != nil {
			printed++
		}
		for k := range c.Points {
			c.Points[k].Median = c.Points[k].Mean * 0.8
		}
		if err := c.summarize(0.95); err != nil {
			t.Fatal(err)
		}
	}
	if printed == 0 {
		t.Fatal("nothing is published")
	}
	for _, repeats := range []bool{true, false} {
		if !repeats {
			r.Study.Published.Table.Text = ""
		}
		if err := r.chooseHeadlines(); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Cells {
			if want := c.Skewed && !(repeats && c.Published != nil); c.Published != nil && c.ByMedian != want {
				t.Errorf("%s of treatment %d, repeats a paper %v: by median %v", c.Response, c.Treatment, repeats, c.ByMedian)
			}
		}
	}
}

// Trials that are skewed over one link decide nothing about another: there the mean remains, with its narrower
// interval.
func TestHeadlineOfEachLevel(t *testing.T) {
	file := "study: s\nservice: monitor\nrequests: 100\nfactors:\n  stack: [a, b, floor-tcp]\n  link: [none, {name: far, " +
		"delay: 20ms}]\nexclude: [{link: far, stack: floor-tcp}]\ndesign: {replications: 10, seed: 1}\n"
	r := reportOf(t, fabricated(t, file, func(at map[string]string, block int) float64 {
		if at["link"] == "none" && at["stack"] == "a" && block > 7 {
			return 3e-3 * wobble(block)
		}
		return 1e-3 * wobble(block)
	}))
	r.Facts.Placement = map[string]study.Pin{}
	if err := r.chooseHeadlines(); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		if want := r.Treatments[c.Treatment].Levels[1] == "none"; c.ByMedian != want {
			t.Errorf("%s: by median %v, want %v", r.Treatments[c.Treatment].Name(), c.ByMedian, want)
		}
	}
	if got := r.byMedian(measure.Client, "rtt"); got != " (median: link none)" {
		t.Errorf("titled %q", got)
	}
	for _, l := range r.Levels() {
		want := map[string]string{"link none": "median", "link far": ""}[l.Name]
		if got := l.Headline(advise.Term{Response: "rtt"}).Figure; got != want {
			t.Errorf("%s is chosen by %q, want %q", l.Name, got, want)
		}
	}
	if got := r.Whole().Headline(advise.Term{Response: "rtt"}).Figure; got != "median" {
		t.Errorf("all levels together are chosen by %q, want the median", got)
	}
}

// Two programs on one CPU wait for each other: only waiting for others counts.
func TestWaitingForEachOtherIsNotStarved(t *testing.T) {
	trial := map[string]float64{"span": 2, "run_queue_wait_client": 0.8}
	if got := waitShare([]map[string]float64{trial}, "client"); got != 0.4 {
		t.Errorf("got %v, want 0.4", got)
	}
	trial["run_queue_wait_others"] = 0.1
	if got := waitShare([]map[string]float64{trial}, "client"); got != 0.05 {
		t.Errorf("on one CPU: got %v, want 0.05", got)
	}
	trial["usage_span"] = 4 // for which waits were counted, which is more than one short request takes
	if got := waitShare([]map[string]float64{trial}, "client"); got != 0.025 {
		t.Errorf("of the time between the readings: got %v, want 0.025", got)
	}
}

// nameInPareto is the name of a point: its class, its place in per cent of the width and in px, and its text.
var nameInPareto = regexp.MustCompile(`<text class="(fig-name[^"]*)" x="([0-9.]+)%" y="([0-9]+)">([^<]*)<`)

func TestParetoPicture(t *testing.T) {
	r := fakeReport(t, 4, 1, 5) // the last is a floor; bytes and time grow together
	at := func(v float64) stat.Summary { return stat.Summary{Center: v, Lo: v, Hi: v} }
	g := r.groups()[0]
	points := r.paretoPoints(g, "message_size", "rtt")
	if len(points) != 3 || !points[0].front || points[1].front || points[2].front {
		t.Fatalf("got %+v, want the first of three on the front", points)
	}
	points = append(points, paretoPoint{name: "same <place>", x: at(points[0].x.Center),
		y: at(points[0].y.Center), front: true})
	p := paretoPicture("pareto-1", "link far", "message size", "RTT", points)
	var b strings.Builder
	if err := p.File(&b); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, b.String())
		}
	}
	if n := strings.Count(b.String(), `class="fig-front"`); n != 2 {
		t.Errorf("got %d filled points, want 2", n)
	}
	if !strings.Contains(b.String(), ">Link far: RTT and message size</text>") {
		t.Errorf("got %s", b.String())
	}
	names := map[string]bool{} // places of names
	for _, m := range nameInPareto.FindAllStringSubmatch(b.String(), -1) {
		if names[m[3]] {
			t.Errorf("two names at %s", m[3])
		}
		names[m[3]] = true
	}
	if len(names) != 4 {
		t.Errorf("got %d names, want 4", len(names))
	}
}

// What is measured over one link says nothing of another: each is chosen by itself.
func TestLevelsOfAChoice(t *testing.T) {
	file := "study: s\nservice: monitor\nrequests: 100\nfactors:\n  stack: [a, b]\n  link: [none, {name: far, delay: " +
		"20ms}]\ndesign: {replications: 5, seed: 1}\n"
	r := reportOf(t, fabricated(t, file, func(at map[string]string, block int) float64 { return 1e-3 * wobble(block) }))
	levels := r.Levels()
	if len(levels) != 2 || levels[0].Name != "link none" || levels[1].Name != "link far" {
		t.Fatalf("got %+v", levels)
	}
	for _, l := range levels {
		for _, s := range l.Series {
			if "link "+s.Level("link") != l.Name {
				t.Errorf("%s has %s", l.Name, s.Name())
			}
		}
		if len(l.Series) != 2 {
			t.Errorf("%s: got %d series, want 2", l.Name, len(l.Series))
		}
	}
}
