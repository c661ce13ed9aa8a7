package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// resetting are results of two stacks, of which b resets so many of 200 requests, which the client sends again.
func resetting(t *testing.T, file string, again func(at map[string]string) float64) *Report {
	t.Helper()
	w := exactly(func(_ map[string]string, block int) float64 { return 2e-3 * wobble(block) })
	w.quality = func(at map[string]string, block int) []store.Quality {
		n := again(at)
		if n > 0 {
			n += float64(block % 3)
		}
		return []store.Quality{{Key: "requests", Unit: "1", Value: 200}, {Key: "failures", Unit: "1"},
			{Key: "repetitions", Unit: "1", Value: n}}
	}
	return reportOf(t, w.write(t, file))
}

// A version that resets requests is worse in all formats, though each of them was answered when it was sent again.
func TestAVersionThatResetsRequestsIsWorse(t *testing.T) {
	ofB := func(n float64) func(map[string]string) float64 {
		return func(at map[string]string) float64 { return map[bool]float64{true: n}[at["stack"] == "b"] }
	}
	old, new := resetting(t, oneTreatment, ofB(0)), resetting(t, oneTreatment, ofB(20))
	k, err := advise.ParseChange("rtt > 5%")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		old, new *Report
		allow    bool
		want     stat.Verdict
		says     string
	}{
		{old, new, false, stat.Confirmed, "worse: 10.5 % of requests were sent again, 0 % before, of b"},
		{old, new, true, stat.Contradicted, "good: "},
		{new, old, false, stat.Contradicted, "good: "},
		{new, new, false, stat.Contradicted, "good: "},
	} {
		c, err := Compare(tt.old, tt.new, Terms{Conditions: []advise.Condition{k}, Confidence: 0.95, Margin: 0.05,
			AllowLost: tt.allow})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Says(); c.Verdict() != tt.want || !strings.HasPrefix(got, tt.says) {
			t.Errorf("got %s, %q; want %s, %q", c.Verdict(), got, tt.want, tt.says)
		}
		if tt.want != stat.Confirmed {
			continue
		}
		for form, write := range map[string]func(*strings.Builder) error{
			"! requests sent again: b: 126 of 1200": func(b *strings.Builder) error { return c.Text(b) },
			`"repetitions_of": [`:                   func(b *strings.Builder) error { return c.JSON(b) },
			"requests that were sent again b":       func(b *strings.Builder) error { return c.JUnit(b) },
			"- requests sent again: b: 126 of 1200": func(b *strings.Builder) error { return c.Markdown(b) },
		} {
			var out strings.Builder
			if err := write(&out); err != nil || !strings.Contains(out.String(), form) ||
				strings.Contains(out.String(), "failures_of") {
				t.Errorf("%v, not %q:\n%s", err, form, out.String())
			}
		}
	}
	x, err := Repeat(old, new, 0.95, 0.05)
	if err != nil || x.Agreement() != advise.Differs {
		t.Errorf("a repetition: %v, %s", err, x.Agreement())
	}
}

// A history says from which run on more requests are sent again, and a confirmation that the new version is worse.
func TestHistorySeesRequestsSentAgain(t *testing.T) {
	var past []Past
	for i := range 10 {
		n := 0.0
		if i >= 5 {
			n = 20
		}
		past = append(past, PastOf(resetting(t, oneTreatment, func(map[string]string) float64 { return n }), nil))
		past[i].Began = time.Date(2026, 11, 30, i, 0, 0, 0, time.UTC)
		past[i].Dir = fmt.Sprintf("run%d", i)
	}
	h, err := MakeHistory(past, "", ByDate, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text, json strings.Builder
	if h.Text(&text) != nil || h.JSON(&json) != nil {
		t.Fatal("cannot be written")
	}
	for _, want := range []string{"; more requests are sent again from 2026-11-30 05:00 on",
		"! requests sent again: from run5 on, more requests are sent again: ", "! requests sent again: run5: 2 treatments together: 252 of 2400"} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("not %q in %s", want, text.String())
		}
	}
	if !strings.Contains(json.String(), `"more_requests_sent_again": [`) ||
		strings.Contains(text.String(), "failed requests") {
		t.Errorf("%s\n%s", text.String(), json.String())
	}
	file := strings.Replace(oneTreatment, "[a, b]", "[a, a@base]", 1)
	r := resetting(t, strings.Replace(file, "replications: 6", "replications: 16", 1), func(at map[string]string) float64 {
		return map[bool]float64{true: 20}[at["stack"] == "a"]
	})
	p := Past{Dir: r.Dir}
	if f := p.failing(r); len(f) != 1 || len(p.Doubts) != 1 || !strings.HasPrefix(p.Doubts[0], "requests sent again: a") {
		t.Errorf("got %v, %v", f, p.Doubts)
	} else {
		for _, f := range f {
			if got := withFailures(history.NotConfirmed, f, 0.05); got != history.Worse {
				t.Errorf("got %s", got)
			}
		}
	}
}
