package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report/pagetest"
	"edgegauge.example/edgegauge/internal/store"
)

// summarizedAnew recomputes a cell after its points were changed.
func summarizedAnew(t *testing.T, c *Cell) {
	t.Helper()
	c.Warnings = nil
	if err := c.summarize(0.95); err != nil {
		t.Fatal(err)
	}
}

// badReports are results with little in them, and what their page must say.
var badReports = []struct {
	what   string
	make   func(t *testing.T) *Report
	says   []string
	charts bool
}{
	{what: "one trial", make: func(t *testing.T) *Report { return fakeReport(t, 2, 1, 1) },
		says: []string{"No answer: the study asks for one trial of each treatment, and one shows no spread",
			"one trial shows no spread between trials, so there is no interval"}, charts: true},
	{what: "zero variance", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 4)
		for i := range r.Cells {
			for k := range r.Cells[i].Points {
				r.Cells[i].Points[k].Mean, r.Cells[i].Points[k].Median = 5e-5, 5e-5
			}
			summarizedAnew(t, &r.Cells[i])
		}
		return r
	}, says: []string{"no spread"}, charts: true},
	{what: "a treatment is missing", make: func(t *testing.T) *Report {
		r := fakeReport(t, 3, 1, 3)
		r.Cells = r.Cells[6:] // the first treatment's six
		r.Distributions = r.Distributions[5:]
		r.Treatments[0].Valid = 0
		r.doubts()
		return r
	}, says: []string{"no valid trial", "stack-0 encoding-0: 0 of 3 trials are valid"}, charts: true},
	{what: "all failed", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 3)
		r.Cells, r.Distributions = nil, nil
		for i := range r.Trials {
			r.Trials[i].State, r.Trials[i].Reason = store.Invalid,
				"trial 1: start the stack: stack-0 did not say \"ready\" within 10s"
		}
		for i := range r.Treatments {
			r.Treatments[i].Valid = 0
		}
		r.doubts()
		return r
	}, says: []string{"No answer:", "0 of 3 trials are valid", "did not say &#34;ready&#34; within 10s"}},
	{what: "NaN", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 3)
		nan := math.NaN()
		for i := range r.Cells {
			c := &r.Cells[i]
			c.Mean.Center, c.Mean.Lo, c.Mean.Hi, c.SD, c.P95, c.Median.Center = nan, nan, nan, nan, nan, nan
			for k := range c.Points {
				c.Points[k].Mean = nan
			}
		}
		return r
	}, charts: true},
	{what: "infinity and zero", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 3)
		r.Cells[0].Points[0].Mean, r.Cells[0].Mean.Hi = math.Inf(1), math.Inf(1)
		r.Cells[1].Points[0].Mean, r.Cells[1].Mean.Center = 0, 0
		return r
	}, charts: true},
	{what: "a power trace of one reading", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 3)
		r.fakeTrace(0, measure.Client, store.Measured)
		r.Traces[0].Points, r.Traces[0].Phases = r.Traces[0].Points[:1], nil
		return r
	}, charts: true},
	{what: "texts that are markup", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 3)
		r.Treatments[0].Levels[0] = `</script><script>alert("no")</script>`
		r.Trials[0].Treatment[0].Text = r.Treatments[0].Levels[0]
		r.Warnings = append(r.Warnings, "<img src=x onerror=alert(1)>")
		return r
	}, says: []string{"&lt;img src=x"}, charts: true},
	{what: "damaged", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 3)
		r.Damage = []string{"results/fake/exchanges/0001-1-client.parquet: changed since the lab wrote it"}
		return r
	}, says: []string{"These results have changed since the lab wrote them; do not trust what follows.",
		"0001-1-client.parquet"},
		charts: true},
	{what: "not readable", make: func(t *testing.T) *Report {
		r := fakeReport(t, 2, 1, 3)
		r.Damage, r.Unread = []string{"results/fake/exchanges/0001-1-client.parquet: permission denied"}, true
		return r
	}, says: []string{"These results cannot be compared with what the lab wrote; do not trust what follows.",
		"permission denied"}, charts: true},
}

func TestPagesOfBadResults(t *testing.T) {
	b := pagetest.Start(t)
	b.Size(t, 800, 700)
	for _, tt := range badReports {
		t.Run(tt.what, func(t *testing.T) {
			r := tt.make(t)
			path, _ := written(t, r)
			var html strings.Builder
			if err := r.HTML(&html); err != nil {
				t.Fatal(err)
			}
			static, _, _ := strings.Cut(html.String(), "<script>")
			for _, want := range tt.says {
				if !strings.Contains(static, want) {
					t.Errorf("the page does not say %q", want)
				}
			}
			for _, not := range []string{"NaN", "Infinity", "+Inf", "<img", "alert(\"no\")</script>"} {
				if strings.Contains(static, not) {
					i := strings.Index(static, not)
					t.Errorf("the page says %q: …%s…", not, static[max(0, i-120):min(len(static), i+60)])
				}
			}
			for _, p := range r.Pictures() {
				if strings.Contains(p.body, "NaN") || strings.Contains(p.body, "Inf") {
					t.Errorf("%s: a NaN is drawn", p.ID)
				}
			}
			b.Open(t, "file://"+path)
			p := pageUnderTest{t, b}
			if !tt.charts {
				if n := p.count("html.js"); n != 0 {
					t.Error("nothing is there to be explored, yet it is offered")
				}
				b.Clean(t, "file://")
				return
			}
			for _, view := range []string{"trials", "distribution", "course", "power"} {
				b.Eval(t, nil, `document.querySelector('input[name="view"][value="`+view+
					`"]')?.click(); document.getElementById("x-log").click()`)
				if n := p.count("#explore .chart > *"); n != 1 {
					t.Errorf("%s: %d charts", view, n)
				}
				if s := p.b.Text(t, `document.querySelector("#explore .chart").innerHTML`); strings.Contains(s, "NaN") {
					t.Errorf("%s: the chart has a NaN: …%s…", view, s[max(0, strings.Index(s, "NaN")-100):strings.Index(s, "NaN")])
				}
			}
			b.Clean(t, "file://")
		})
	}
}

// Of much damage a line has the first, and how much more there is.
func TestDamageOnOneLine(t *testing.T) {
	for n, want := range map[int]string{1: "a", 3: "a; b; c", 4: "a; b; c; and 1 more, which edgegauge report lists"} {
		all := []string{"a", "b", "c", "d"}
		if got := DamageText(all[:n]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if !slices.Equal(all, []string{"a", "b", "c", "d"}) {
			t.Errorf("the damage is another now: %v", all)
		}
	}
}
