package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/study"
)

// What waiting for a CPU may explain of a ratio is said beside it, and of one that lies beyond that nothing.
func TestRatiosOfFindingsSayWhatWaitingMayExplain(t *testing.T) {
	cell := func(mean, waiting float64) *Cell {
		c := &Cell{Response: "rtt", Unit: "s", Waiting: waiting}
		for block := range 8 {
			c.Points = append(c.Points, Point{Block: block, Mean: mean * (1 + 0.01*float64(block%3))})
		}
		return c
	}
	const says = "; waiting for a CPU may explain a factor of up to "
	for _, x := range []struct {
		a, b *Cell
		want bool
	}{
		{cell(1.1, 0.2), cell(1, 0.2), true},
		{cell(1.1, 0.09), cell(1, 0.01), true}, // neither starved, and yet they waited unlike
		{cell(1.1, 0.09), cell(1, 0.09), false},
		{cell(5, 0.2), cell(1, 0.2), false},
	} {
		x.b.Points[0].Mean *= 1.001
		if got, err := timesAs(x.a, x.b, 0.95); err != nil || strings.Contains(got, says) != x.want {
			t.Errorf("%g over %g, waiting %g and %g: got %q, %v", x.a.Points[0].Mean, x.b.Points[0].Mean, x.a.Waiting,
				x.b.Waiting, got, err)
		}
	}
}

// Of several parts the least and the largest load are said.
func TestTablesSayOnWhat(t *testing.T) {
	var parts [2]Report
	for i, load := range []string{"0.5", "5"} {
		facts := fmt.Sprintf(`{"devices": {"local": {"model": "AMD EPYC", "load": %s, "cpus": 2}}}`, load)
		if err := json.Unmarshal([]byte(facts), &parts[i].Facts); err != nil {
			t.Fatal(err)
		}
	}
	const want = "a machine with 2 CPUs (AMD EPYC) at load 0.5 to 5.0 (in part that of the trials before)"
	if got := ranOn(&parts[0], &parts[1]); got != want {
		t.Errorf("got %q", got)
	}
}

// Tables and pictures leave out the rows that they are told to, by patterns.
func TestTablesOfFindingsLeaveRowsOut(t *testing.T) {
	r := fakeReport(t, 4, 1, 8)
	r.Dir = "kept/fake"
	q := openQuestion{Name: "q", Parts: []*Report{r}, files: new([]File)}
	table, err := q.Table("rtt", "client", "stack", "", "stack-[01]")
	if err != nil || strings.Contains(table, "stack-0") || !strings.Contains(table, "stack-2") ||
		!strings.Contains(table, "floor-tcp") {
		t.Errorf("got %v and\n%s", err, table)
	}
	picture, err := q.Pareto("message_size", "rtt", "stack", "encoding-0", "stack-*")
	if err != nil || strings.Contains(picture, "stack-") || !strings.Contains(picture, "floor-tcp") ||
		!strings.Contains(picture, "](q-pareto-encoding-0.svg)") {
		t.Errorf("got %v and %s", err, picture)
	}
	if got := q.Rows("stack-0"); got != "[fake](../../findings/fake/summary.csv)" {
		t.Errorf("all rows are at %s", got)
	}
}

// The page of a question names the runs that starved, and how many requests its treatments had.
func TestPagesOfQuestionsSayWhatStarved(t *testing.T) {
	r, quiet := fakeReport(t, 2, 1, 3), fakeReport(t, 2, 1, 3)
	r.Dir, quiet.Dir, r.Started = "kept/busy", "kept/quiet", time.Unix(1, 0)
	for i, requests := range []int{5, 20} {
		r.Treatments[i].setup, quiet.Treatments[i].setup = &study.Setup{Requests: requests}, &study.Setup{Requests: 7}
	}
	r.Starved = []Starvation{{0, "client", 0.177}}
	r.Study.Name, quiet.Study.Name = "narrow-radio", "narrow-radio"
	q := openQuestion{Name: "narrow-radio", Parts: []*Report{r, quiet}, files: new([]File)}
	page, err := filled("question.md", q.Name, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n- `findings/busy`: CPU starvation: in 1 of 2 treatments threads were ready to run and had no CPU",
		"| `findings/busy` | 2 | 6 of 6 | 3 | 15 to 60 |", "| `findings/quiet` | 2 | 6 of 6 | 3 | 21 |",
		"edgegauge run --like findings/busy --out again-narrow-radio\n"} {
		if strings.Count(page, want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, page)
		}
	}
	if strings.Contains(page, "`findings/quiet`: CPU starvation") {
		t.Errorf("a quiet run starved:\n%s", page)
	}
}

// A page begins with its answer; then come the figure, the scorecard and the rest, and what was run last.
func TestPagesOfFindingsBeginWithTheirAnswer(t *testing.T) {
	r := reportOf(t, simulated(t, pies, piesAsPublished))
	files, err := Findings([]*Report{r})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		var b strings.Builder
		if f.Name != "frameworks-on-raspberry-pi.md" {
			continue
		}
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		rest := b.String()
		for _, part := range []string{"\n## The question\n", "\n## In short\n", "\n## Theirs and ours\n", "![",
			"\n## The scorecard\n",
			"| For the short list, Axis2 takes less time at the server than CXF.<br>total\\_time at the server: axis2 below cxf",
			"\n## Differences that matter\n", "\n## Details\n", "\n### What we did\n"} {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Fatalf("no %q where it belongs in\n%s", part, b.String())
			}
			rest = after
		}
	}
}

// A claim stands in a plain sentence, in the paper's words where they are known, and as it is judged.
func TestClaimsStandInPlainSentences(t *testing.T) {
	for want, c := range map[string]paper.Claim{
		"A is quicker.<br>rtt: a below b": {Response: "rtt", Less: []string{"a", "b"}, Plain: "A is quicker."},
		"A is quicker.<br>the paper: “a wins”<br>rtt: a below b": {Response: "rtt", Less: []string{"a", "b"},
			Plain: "A is quicker.", Says: "a wins"},
		"rtt: a below b": {Response: "rtt", Less: []string{"a", "b"}},
	} {
		if got := claimCell(c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
