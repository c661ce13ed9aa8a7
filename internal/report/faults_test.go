package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A version that crashes on a third of its starts is not good, though a later attempt was valid each time; what the
// machine did is no fault of it.
func TestRetriedTrialsOfACompare(t *testing.T) {
	const file = "study: s\nservice: echo\nfactors: {stack: [a, b]}\nrequests: 100\ndesign: {replications: 15, seed: 1}\n" +
		"responses: [rtt]\n"
	value := func(_ map[string]string, side measure.Side, response string) (float64, float64) {
		if response == "rtt" && side == measure.Client {
			return 1e-3, 2e-5
		}
		return math.NaN(), 0
	}
	write := func(why string) *Report {
		w := world{value: value, method: store.Measured, quality: func(map[string]string, int) []store.Quality { return nil }}
		w.failed = func(at map[string]string, block int) []string {
			if why == "" || at["stack"] != "a" || block%2 == 0 {
				return nil
			}
			return []string{why}
		}
		return reportOf(t, w.write(t, file))
	}
	condition, err := advise.ParseChange("rtt > 5%")
	if err != nil {
		t.Fatal(err)
	}
	base := write("")
	for why, want := range map[string]stat.Verdict{
		`trial 1: start the server: a serve did not say "ready": it ended with status 7`: stat.Confirmed,
		"trial 1: check the trial: this lab did not run for 3s of the trial":             stat.Contradicted,
		"trial 1: start the meters: it has no readings":                                  stat.Contradicted,
	} {
		crashes := write(why)
		c, err := Compare(base, crashes, Terms{Conditions: []advise.Condition{condition}, Margin: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Verdict(); got != want {
			t.Errorf("%s: got %s, want %s: %s", why, got, want, c.Says())
		}
		warned := strings.Contains(fmt.Sprint(crashes.Verdict()), "attempts at its trials failed for what its programs did")
		if warned != (want == stat.Confirmed) {
			t.Errorf("%s: the report warned: %v: %q", why, warned, crashes.Verdict())
		}
		h, err := MakeHistory([]Past{PastOf(base, nil), PastOf(crashes, nil)}, "", ByDate, nil)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := h.Text(&text); err != nil || strings.Contains(text.String(), "! failed attempts:") !=
			(want == stat.Confirmed) {
			t.Errorf("%s: history: %v\n%s", why, err, text.String())
		}
		if want != stat.Confirmed {
			continue
		}
		for name, write := range map[string]func(*bytes.Buffer) error{
			"text":     func(b *bytes.Buffer) error { return c.Text(b) },
			"markdown": func(b *bytes.Buffer) error { return c.Markdown(b) },
			"json":     func(b *bytes.Buffer) error { return c.JSON(b) },
			"junit":    func(b *bytes.Buffer) error { return c.JUnit(b) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "),
				"of 23 attempts failed for what the programs did") {
				t.Errorf("%s: got %v\n%s", name, err, b.String())
			}
		}
		accepted, err := Compare(base, crashes, Terms{Conditions: []advise.Condition{condition}, Margin: 0.05,
			AllowLost: true})
		if err != nil || accepted.Verdict() != stat.Contradicted {
			t.Errorf("accepted: got %s, %v", accepted.Verdict(), err)
		}
	}
}

// A version that aborts at some of its starts in each of many treatments is worse in every format, though no treatment
// by itself has trials enough to tell.
func TestFailedAttemptsOfAllTreatments(t *testing.T) {
	const file = "study: s\nservice: echo\nfactors: {stack: [a, b, c, d, e, f, g, h]}\nrequests: 100\n" +
		"design: {replications: 3, seed: 1}\nresponses: [rtt]\n"
	write := func(crashes bool) *Report {
		w := exactly(func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) })
		w.failed = func(at map[string]string, block int) []string {
			if crashes && (block+int(at["stack"][0]))%3 == 0 {
				return []string{`trial 1: start the server: a serve did not say "ready": it ended with SIGABRT`}
			}
			return nil
		}
		return reportOf(t, w.write(t, file))
	}
	condition, err := advise.ParseChange("rtt > 50%")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(write(false), write(true), Terms{Conditions: []advise.Condition{condition}, Margin: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Says(); c.Verdict() != stat.Confirmed || got != "worse: more attempts fail (treatments: 8)" {
		t.Errorf("got %s: %s", c.Verdict(), got)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return c.Text(b) },
		"markdown": func(b *bytes.Buffer) error { return c.Markdown(b) },
		"json":     func(b *bytes.Buffer) error { return c.JSON(b) },
		"junit":    func(b *bytes.Buffer) error { return c.JUnit(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || !strings.Contains(strings.Join(strings.Fields(b.String()), " "),
			"8 treatments together") {
			t.Errorf("%s: got %v\n%s", name, err, b.String())
		}
	}
}
