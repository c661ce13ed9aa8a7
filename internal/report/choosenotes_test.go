package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// asked is what choose makes of an objective and a requirement, level by level.
func asked(t *testing.T, r *Report, objective, requirement string) Chosen {
	t.Helper()
	term, err := advise.ParseTerm(objective)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := advise.ParseRequirement(requirement)
	if err != nil {
		t.Fatal(err)
	}
	var out Chosen
	for _, l := range r.Levels() {
		o := []advise.Objective{{Term: l.Headline(term)}}
		c, err := advise.Choose(l.Series, o, []advise.Condition{bound}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		out.Levels = append(out.Levels, LevelChoice{Name: l.Name, Choice: c,
			Notes: r.ChoiceNotes(l, []advise.Objective{{Term: term}}, c)})
	}
	return out
}

// twoSided is a report of two stacks: the mean and the median of the client's and of the server's total time, a p95
// of the response time that is far off in one trial, and of stack few none.
func twoSided(t *testing.T, client, server [2]float64) *Report {
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		of := func(side measure.Side, response string, mean, median, p95 float64) store.Result {
			by := wobble(block)
			return store.Result{Side: side, Response: response, Unit: "s", N: 100, Mean: mean * by, SD: mean / 10,
				Median: median * by, P95: p95, Min: 0.9 * median, Max: 3 * mean, Method: store.Measured}
		}
		p95 := map[bool]float64{true: 0.2, false: 0.030}[block == 3]
		if at["stack"] == "few" {
			p95 = math.NaN()
		}
		return []store.Result{of(measure.Client, "total_time", client[0], client[1], 0.2),
			of(measure.Server, "total_time", server[0], server[1], 0.2), of(measure.Client, "response_time", 0.01, 0.01, p95)}
	}
	r := reportOf(t, w.write(t, "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [many, few]}\n"+
		"design: {replications: 8, seed: 1}\n"))
	r.Facts.Placement = map[string]study.Pin{}
	if err := r.chooseHeadlines(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Choose shows the mean or the median as the report does of the side that counts, and says why it is the median.
func TestChooseShowsWhatTheReportShows(t *testing.T) {
	even, skewed, quick := [2]float64{0.1, 0.1}, [2]float64{0.13, 0.1}, [2]float64{0.002, 0.001}
	const why = "total_time.median: medians, as in the report, since trials are skewed"
	for _, tt := range []struct {
		what           string
		client, server [2]float64
		figure         string
	}{
		{"the server's is skewed, and the client's counts", even, quick, "mean"},
		{"the client's is skewed", skewed, even, "median"},
	} {
		r := twoSided(t, tt.client, tt.server)
		c := asked(t, r, "total_time", "total_time < 9s").Levels[0]
		cell, _ := r.Cell(0, measure.Client, "total_time")
		if got := c.Candidates[0].Objectives[0]; got.Figure != tt.figure || got.Side != measure.Client ||
			got.Center.Center != cell.Headline().Center {
			t.Errorf("%s: got %s, %v; the report shows %v", tt.what, got.Term, got.Center.Center, cell.Headline().Center)
		}
		said := strings.Join(c.Notes, "\n")
		if strings.Contains(said, why) != (tt.figure == "median") {
			t.Errorf("%s: said %q", tt.what, said)
		}
		if strings.Contains(said, "total_time < 9s: the value is the mean, which a requirement is held against; the report "+
			"shows the median: many ") != (tt.figure == "median") {
			t.Errorf("%s: said %q", tt.what, said)
		}
	}
}

// The p95 that a requirement is held against is the mean of the trials', the report's their median: that is said. Who
// has none shows none.
func TestChooseSaysWhichP95(t *testing.T) {
	c := asked(t, twoSided(t, [2]float64{0.1, 0.1}, [2]float64{0.01, 0.01}), "total_time", "response_time.p95 < 9s")
	var b, data bytes.Buffer
	if err := c.Text(&b); err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{
		"response_time.p95 < 9s: the value is the mean of the trials' p95, which a requirement is held against; the report " +
			"shows the median of the trials' p95: many 30.0 ms.",
		"few client – undecided", "next: few, response_time.p95 < 9s: a trial has no p95"} {
		if !strings.Contains(flat, want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(flat, "0 to 0") {
		t.Errorf("an interval of nothing: %s", b.String())
	}
	if err := c.JSON(&data); err != nil || !strings.Contains(data.String(), `"notes": [`) ||
		!strings.Contains(data.String(), `"mean": null`) {
		t.Errorf("%v: %s", err, data.String())
	}
}

// Who is within noise of the best, and beaten all the same, is so by another, which is named.
func TestFrontNamesWhoBeats(t *testing.T) {
	c := LevelChoice{Choice: advise.Choice{Candidates: []advise.Candidate{{Name: "a", Front: true},
		{Name: "b", Front: true}, {Name: "c", Noise: true, BeatBy: "b"}, {Name: "d", Noise: true, BeatBy: "a", Unsure: true},
		{Name: "e", BeatBy: "a"}}}}
	for i, want := range []string{"yes", "yes", "no, 2 beats it", "perhaps", "no"} {
		if got := c.frontWord(c.Candidates[i]); got != want {
			t.Errorf("%s: got %q, want %q", c.Candidates[i].Name, got, want)
		}
	}
}

// Who chooses by medians reads how sure that is: a median of few trials has no interval, and none shows slow requests.
func TestChooseSaysWhatMediansDoNotTell(t *testing.T) {
	for _, tt := range []struct {
		figure     string
		trials     int
		interval   bool
		slow, none bool
	}{
		{"median", 5, false, true, true},
		{"median", 6, true, true, false},
		{"p95", 5, false, false, true},
		{"mean", 2, true, false, false},
	} {
		term := advise.Term{Response: "rtt", Figure: tt.figure}
		values := []float64{1, 2, 3, 4, 5, 6}[:tt.trials]
		center, err := stat.Quantile(values, 0.5, 0.95)
		if tt.figure == "mean" {
			center, err = stat.Mean(values, 0.95)
		}
		if err != nil || center.HasInterval() != tt.interval {
			t.Fatalf("%+v: %v", center, err)
		}
		c := advise.Choice{Confidence: 0.95, Objectives: []advise.Objective{{Term: term}}, Candidates: []advise.Candidate{{
			Name: "a", Objectives: []advise.Estimate{{Term: term, Center: center, Values: values}}}}}
		said := strings.Join(medianNotes(c, 0), "\n")
		if strings.Contains(said, "no interval here: the median of 5 trials has none, that of 6 has") != tt.none ||
			strings.Contains(said, "no median shows what a few slow requests take") != tt.slow {
			t.Errorf("%s of %d trials: said %q", tt.figure, tt.trials, said)
		}
	}
}

// Where a value is not above 0 candidates are compared by difference, and JSON calls that no ratio: 1 J more than
// hardly anything would be "as much as the best".
func TestJSONCallsNoDifferenceARatio(t *testing.T) {
	of := func(name string, joules ...float64) advise.Series {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{name}, Side: measure.Client, Response: "energy",
			Unit: "J"}
		for i, x := range joules {
			s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: x, Median: x})
		}
		return s
	}
	for _, tt := range []struct {
		of         []advise.Series
		ratio      bool
		difference float64
	}{
		{[]advise.Series{of("a", 0.001, -0.001, 0.002, 0, 0.001), of("b", 1.001, 1, 1.002, 0.99, 1.01)}, false, 1},
		{[]advise.Series{of("a", 0.501, 0.5, 0.502, 0.5, 0.5), of("b", 1.001, 1, 1.002, 0.99, 1.01)}, true, 0},
	} {
		c, err := advise.Choose(tt.of, []advise.Objective{{Term: advise.Term{Response: "energy", Figure: "mean"}}}, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		var got struct {
			Candidates []struct {
				Treatment  string
				Ratio      *float64  `json:"ratio_to_best"`
				RatioCI    []float64 `json:"ratio_ci"`
				Difference *struct {
					Value    float64
					Interval []float64
					Unit     string
				} `json:"difference_to_best"`
			}
		}
		if err := errors.Join((Chosen{Levels: []LevelChoice{{Choice: c}}}).JSON(&out),
			json.Unmarshal(out.Bytes(), &got)); err != nil || len(got.Candidates) != 2 {
			t.Fatal(err, out.String())
		}
		x := got.Candidates[1]
		if x.Treatment != "b" || (x.Ratio != nil) != tt.ratio || (x.RatioCI != nil) != tt.ratio ||
			(x.Difference != nil) == tt.ratio {
			t.Errorf("%+v", x)
		}
		if d := x.Difference; d != nil && (math.Abs(d.Value-tt.difference) > 1e-9 || d.Unit != "J" || len(d.Interval) != 2 ||
			!(d.Interval[0] > 0.98 && d.Interval[0] < d.Value && d.Interval[1] < 1.02)) {
			t.Errorf("%+v", d)
		}
		if x.Ratio != nil && !(*x.Ratio > 1.9 && *x.Ratio < 2.1) {
			t.Errorf("a ratio of %v", *x.Ratio)
		}
	}
}
