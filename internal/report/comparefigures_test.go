package report

import (
	"errors"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// runsOfProbe are two responses of a probe whose runs take so many ms, in a driver that waited for its CPU.
func runsOfProbe(waiting float64, ms ...float64) []advise.Series {
	var out []advise.Series
	for _, name := range []string{"rtt", "response_time"} {
		s := advise.Series{Factors: []string{"probe"}, Levels: []string{"probe"}, Side: measure.Client, Response: name,
			Unit: "s", Waiting: waiting}
		for i, v := range ms {
			v *= 1e-3
			s.Trials = append(s.Trials, advise.TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: v, SD: v / 10})
		}
		out = append(out, s)
	}
	return out
}

// Beside the table stands how its figures are made; where the ratio of typical runs is not the quotient of the means
// shown, that is said; a finding names its responses, and stands once.
func TestFindingsOfACompare(t *testing.T) {
	var conditions []advise.Condition
	for _, text := range []string{"rtt > 10%", "response_time.p95 > 20%"} {
		k, err := advise.ParseChange(text)
		if err != nil {
			t.Fatal(err)
		}
		conditions = append(conditions, k)
	}
	// Means 10.0 and 30.0 ms, geometric means 10.0 and 18.0: one run in six took much longer.
	old := runsOfProbe(0.3, 9.9, 10, 10.1, 10, 9.9, 10.1)
	skewed := runsOfProbe(0.3, 12, 13, 12, 13, 12, 118)
	c := Compared{Old: "old.json", New: "new.json", Confidence: 0.95, Replicates: "runs"}
	var err error
	if c.Comparison, err = advise.Compare(old, skewed, conditions, 0.95, 0.05); err != nil {
		t.Fatal(err)
	}
	var text, comment strings.Builder
	if err := c.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := c.Markdown(&comment); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{text.String(), comment.String()} {
		got = strings.ReplaceAll(strings.Join(strings.Fields(got), " "), `\_`, "_")
		for _, want := range []string{
			"The columns old and new are means over runs, new/old is the ratio of their geometric means",
			"finding: probe rtt, client; probe response_time.p95, client: the ratio of the means is 3.00, and that of typical " +
				"runs 1.804",
			"finding: probe rtt, client; probe response_time.p95, client: programs waited for a CPU",
		} {
			if strings.Count(got, want) != 1 {
				t.Errorf("want once %q in %s", want, got)
			}
		}
	}
}

// A study of one treatment has no name for it: sentences and names leave no gap there.
func TestCompareOfOneTreatment(t *testing.T) {
	k, err := advise.ParseChange("rtt > 10%")
	if err != nil {
		t.Fatal(err)
	}
	old, new := runsOfProbe(0, 9.9, 10, 10.1, 10, 9.9, 10.1), runsOfProbe(0, 19.9, 20, 20.1, 20, 19.9, 20.1)
	for _, all := range [][]advise.Series{old, new} {
		for i := range all {
			all[i].Factors, all[i].Levels = nil, nil
		}
	}
	c := Compared{Old: "old", New: "new", Confidence: 0.95, All: true}
	if c.Comparison, err = advise.Compare(old, new, []advise.Condition{k}, 0.95, 0.05); err != nil {
		t.Fatal(err)
	}
	var text, junit strings.Builder
	if err := c.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := c.JUnit(&junit); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nrtt, client ", "\nresponse_time, client ",
		"\nedgegauge: worse: rtt > 10%: RTT at the client: 10.0 ms before, 20.0 ms now"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if !strings.Contains(junit.String(), ` name="client"`) || strings.Contains(junit.String()+text.String(), "of  at") {
		t.Errorf("got\n%s", junit.String())
	}
}

// What the answered requests alone would decide, since another share failed than before, is undecided, and said, in
// every format.
func TestCompareSaysWhatOnlyTheAnsweredDecide(t *testing.T) {
	old, new := runsOfProbe(0, 9.9, 10, 10.1, 10, 9.9, 10.1), runsOfProbe(0, 8.9, 9, 9.1, 9, 8.9, 9.1)
	for _, x := range []struct {
		allMedian float64 // times that of the old, among all
		undecided bool
	}{{1, true}, {1.1, true}, {0.9, false}} {
		for i := range new {
			new[i].Failed = 0.02
			for j := range new[i].Trials {
				new[i].Trials[j].AllMedian = x.allMedian * old[i].Trials[j].Mean
			}
		}
		c := Compared{Old: "old", New: "new", Confidence: 0.95}
		var err error
		if c.Comparison, err = advise.Compare(old[:1], new[:1], nil, 0.95, 0.05); err != nil {
			t.Fatal(err)
		}
		var text, comment, json strings.Builder
		if err := errors.Join(c.Text(&text), c.Markdown(&comment), c.JSON(&json)); err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{text.String(), comment.String(), json.String()} {
			got = strings.Join(strings.Fields(got), " ")
			if strings.Contains(got, "medians among all") != x.undecided ||
				strings.Contains(got, "1 lower") == x.undecided && !strings.HasPrefix(got, "{") {
				t.Errorf("%g of all: got %s", x.allMedian, got)
			}
		}
	}
}
