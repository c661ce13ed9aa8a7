package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

const oneTreatment = "study: s\nservice: monitor\nrequests: 200\nfactors: {stack: [a, b]}\n" +
	"design: {replications: 6, seed: 1}\n"

// failing are results of two stacks, of which b answers as quickly as it is said and fails so many of 200 requests.
func failing(t *testing.T, rtt float64, failed func(block int) float64) *Report {
	t.Helper()
	w := exactly(func(at map[string]string, block int) float64 {
		if at["stack"] == "b" {
			return rtt * wobble(block)
		}
		return 2e-3 * wobble(block)
	})
	w.quality = func(at map[string]string, block int) []store.Quality {
		n := 0.0
		if at["stack"] == "b" {
			n = failed(block)
		}
		return []store.Quality{{Key: "requests", Unit: "1", Value: 200}, {Key: "failures", Unit: "1", Value: n}}
	}
	return reportOf(t, w.write(t, oneTreatment))
}

// A version that drops requests and answers the others sooner is no better one.
func TestAVersionThatDropsRequestsIsWorse(t *testing.T) {
	old := failing(t, 2e-3, func(int) float64 { return 0 })
	drops := failing(t, 1e-3, func(block int) float64 { return float64(80 + block%3) })
	outage := failing(t, 1e-3, func(block int) float64 { return map[bool]float64{true: 120}[block == 2] })
	k, err := advise.ParseChange("rtt > 5%")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what     string
		old, new *Report
		allow    bool
		want     stat.Verdict
		says     string
	}{
		{"40 % are dropped", old, drops, false, stat.Confirmed, "worse: 40.5 % of requests failed, 0 % before, of b"},
		{"which is allowed", old, drops, true, stat.Contradicted, "good: "},
		{"fewer are dropped", drops, old, false, stat.Confirmed, "worse: a condition is met"}, // the times rose
		{"none", old, old, false, stat.Contradicted, "good: "},
		{"one trial has an outage", old, outage, false, stat.Undecided,
			"undecided: more requests failed than before, but trials"},
	} {
		c, err := Compare(tt.old, tt.new, Terms{Conditions: []advise.Condition{k}, Confidence: 0.95, Margin: 0.05,
			AllowLost: tt.allow})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Says(); c.Verdict() != tt.want || !strings.HasPrefix(got, tt.says) {
			t.Errorf("%s: got %s, %q; want %s, %q", tt.what, c.Verdict(), got, tt.want, tt.says)
		}
		var text, json, junit strings.Builder
		if c.Text(&text) != nil || c.JSON(&json) != nil || c.JUnit(&junit) != nil {
			t.Fatal("cannot be written")
		}
		told := strings.Contains(text.String(), "! failures: b: ") && strings.Contains(json.String(), `"failures_of"`) &&
			strings.Contains(junit.String(), "requests that failed b")
		if told != (tt.old != tt.new && !tt.allow) {
			t.Errorf("%s: told of failures: %v\n%s", tt.what, told, text.String())
		}
	}
}

// A confirmation looks at the requests that failed, too: what is left of a version that drops them may be quicker.
func TestConfirmationsCountFailedRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const file = "study: s\nservice: monitor\nrequests: 200\nfactors: {stack: [a, a@base]}\n" +
		"design: {replications: 32, seed: 1}\n"
	none := func(int) float64 { return 0 }
	for _, tt := range []struct {
		what     string
		faster   float64
		old, new func(block int) float64
		want     history.Verdict
	}{
		{"nothing fails", 0.5, none, none, history.Better},
		{"as fast, nothing fails", 1, none, none, history.NotConfirmed},
		{"40 % fail", 0.5, none, func(block int) float64 { return float64(80 + block%3) }, history.Worse},
		{"as fast, 40 % fail", 1, none, func(block int) float64 { return float64(80 + block%3) }, history.Worse},
		{"fewer fail", 0.5, func(block int) float64 { return float64(80 + block%3) }, none, history.Better},
		{"as many fail", 0.5, func(block int) float64 { return float64(2 + block%3) },
			func(block int) float64 { return float64(2 + block%3) }, history.Better},
		{"one trial has an outage", 0.5, none, func(block int) float64 { return map[bool]float64{true: 120}[block == 2] },
			history.CannotTell},
		{"slower, one trial has an outage", 2, none,
			func(block int) float64 { return map[bool]float64{true: 120}[block == 2] }, history.Worse},
	} {
		w := exactly(func(at map[string]string, block int) float64 {
			if at["stack"] == "a" {
				return tt.faster * 2e-3 * wobble(block)
			}
			return 2e-3 * wobble(block)
		})
		w.quality = func(at map[string]string, block int) []store.Quality {
			n := tt.old(block)
			if at["stack"] == "a" {
				n = tt.new(block)
			}
			return []store.Quality{{Key: "requests", Unit: "1", Value: 200}, {Key: "failures", Unit: "1", Value: n}}
		}
		p := PastOf(reportOf(t, w.write(t, file)), &Confirms{Responses: []string{"rtt"}, Detect: 0.05})
		if got := p.Verdict(); got != tt.want || len(p.Answers) != 1 {
			t.Errorf("%s: got %s (%s), want %s", tt.what, got, p.Failed, tt.want)
		}
		rose := tt.want == history.Worse && tt.faster < 2 || strings.Contains(tt.what, "outage")
		if told := strings.Contains(strings.Join(p.Doubts, "\n"), "failed requests: "); told != rose {
			t.Errorf("%s: told of failed requests: %v, %q", tt.what, told, p.Doubts)
		}
	}
}

// A version that gives no figure of one treatment, or no valid trial, is not dismissed by what it gives of the others:
// all trials lost are a change for the worse, where chance does not explain it.
func TestAConfirmationLooksForWhatIsGone(t *testing.T) {
	for _, tt := range []struct {
		what   string
		blocks int
		gone   bool // else its trials are invalid
		want   history.Verdict
		doubt  string
	}{
		{"every trial of b is invalid", 12, false, history.Worse, "lost trials: b: 0 of 12 trials are valid"},
		{"every trial of b is invalid, of few", 4, false, history.CannotTell, "the new version has no RTT of b, client"},
		{"no trial of b has its CPU time", 12, true, history.CannotTell, "the new version has no CPU time of b, client"},
	} {
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			lacks := at["stack"] == "b"
			if lacks && !tt.gone {
				return nil
			}
			var out []store.Result
			for _, response := range []string{"rtt", "cpu"} {
				if response == "cpu" && lacks {
					continue
				}
				v := 2e-3 * wobble(block)
				out = append(out, store.Result{Side: measure.Client, Response: response, Unit: "s", N: 100, Mean: v, SD: v / 10,
					Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured})
			}
			return out
		}
		file := fmt.Sprintf("study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, a@base, b, b@base]}\n"+
			"design: {replications: %d, seed: 1}\n", tt.blocks)
		p := PastOf(reportOf(t, w.write(t, file)), &Confirms{Responses: []string{"rtt", "cpu"}, Detect: 0.05})
		if got := p.Verdict(); got != tt.want || len(p.Answers) != 4 {
			t.Errorf("%s: got %s (%s) from %d answers, want %s", tt.what, got, p.Failed, len(p.Answers), tt.want)
		}
		if doubts := strings.Join(p.Doubts, "\n"); !strings.Contains(doubts, tt.doubt) {
			t.Errorf("%s: no %q in %q", tt.what, tt.doubt, doubts)
		}
		var text, data strings.Builder
		if p.ConfirmationText(&text) != nil || p.ConfirmationJSON(&data) != nil {
			t.Fatal("cannot be written")
		}
		for _, a := range p.Answers {
			if math.IsNaN(a.Ratio.Estimate) {
				continue
			}
			if said := "intervals of " + percentOf(a.Ratio.Confidence); !strings.Contains(text.String(), said) {
				t.Errorf("%s: no %q in\n%s", tt.what, said, text.String())
			}
		}
	}
}
