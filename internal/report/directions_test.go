package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
)

// Each response is better in one direction, or in none, wherever that is judged.
func TestDirections(t *testing.T) {
	file := "study: s\nservice: monitor\nfactors: {stack: [few, many]}\ndesign: {replications: 6}\n"
	value := func(at map[string]string, side measure.Side, response string) (float64, float64) {
		switch response {
		case "notification_rate", "sent_rate", "throughput", "rtt":
			return map[string]float64{"few": 100, "many": 200}[at["stack"]], 1
		}
		return math.NaN(), 0
	}
	r := reportOf(t, simulated(t, file, value))
	for response, best := range map[string]string{"notification_rate": "many", "throughput": "many", "rtt": "few",
		"sent_rate": ""} {
		e := effectsOf(t, r, response)
		if got := e.Levels; (len(got) > 0) != (best != "") || len(got) > 0 && got[0].Best != best {
			t.Errorf("%s: got %+v, want %q as the best", response, got, best)
		}
	}
	// 200 is twice 100, whichever of them is better.
	for response, want := range map[string]string{"notification_rate": "notification rate of many is 2.0",
		"throughput": "many answers 2.0", "rtt": "many takes 2.0"} {
		if got := strings.Join(effectsOf(t, r, response).sentences(0.95, nil), " "); !strings.HasPrefix(got, want) &&
			!strings.HasPrefix(got, strings.Replace(want, "2.0", "1.9", 1)) {
			t.Errorf("%s: got %q, want %q", response, got, want)
		}
	}
	var b strings.Builder
	if err := r.Benchfmt(&b); err != nil {
		t.Fatal(err)
	}
	for response, says := range map[string]string{"notification_rate": "better=higher", "throughput": "better=higher",
		"rtt": "better=lower", "sent_rate": "assume=nothing"} {
		i := strings.Index(b.String(), "Unit "+response)
		if line, _, _ := strings.Cut(b.String()[max(0, i):], "\n"); i < 0 || !strings.HasSuffix(line, " "+says) {
			t.Errorf("%s: got %q, want %q", response, line, says)
		}
	}
	h, err := MakeHistory([]Past{PastOf(r, nil), PastOf(r, nil)}, "", ByDate,
		[]advise.Term{{Response: "notification_rate"}, {Response: "sent_rate"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range h.Series {
		if s.Higher != (s.Response == "notification_rate") || strings.Contains(s.Why, "neither") !=
			(s.Response == "sent_rate") {
			t.Errorf("history: %s: higher is better: %v; not judged: %q", s.Response, s.Higher, s.Why)
		}
	}
}

// What rose from 0 has no ratio, and is confirmed all the same, in the direction of its response.
func TestConfirmedFromZero(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [a, a@base]}\ndesign: {replications: 12}\n"
	for response, want := range map[string]history.Verdict{"failed_share": history.Worse,
		"notification_rate": history.Better, "sent_rate": history.CannotTell} {
		r := reportOf(t, simulated(t, file, func(at map[string]string, side measure.Side, name string) (float64, float64) {
			switch {
			case name != response:
				return math.NaN(), 0
			case at["stack"] == "a":
				return 0.4, 0.01
			}
			return 0, 0
		}))
		p := PastOf(r, &Confirms{Responses: []string{response}, Detect: 0.05})
		if len(p.Answers) != 1 || p.Answers[0].Verdict != want {
			t.Errorf("%s: got %+v (%s), want %s", response, p.Answers, p.Failed, want)
		}
	}
}

// A change that is sure is confirmed, however small; what is said below the verdicts is not that it does not matter.
func TestASmallChangeIsConfirmed(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [a, a@base]}\ndesign: {replications: 12}\n"
	r := reportOf(t, simulated(t, file, func(at map[string]string, side measure.Side, name string) (float64, float64) {
		if name != "rtt" {
			return math.NaN(), 0
		}
		return map[string]float64{"a": 1.02, "a@base": 1}[at["stack"]], 5e-4
	}))
	p := PastOf(r, &Confirms{Responses: []string{"rtt"}, Detect: 0.05})
	var b strings.Builder
	err := p.ConfirmationText(&b)
	said := strings.Join(strings.Fields(b.String()), " ")
	if err != nil || p.Verdict() != history.Worse || strings.Contains(said, "matter") ||
		!strings.Contains(said, "not confirmed is what excludes a change of 5 % either way, at 95 %") {
		t.Errorf("%v: %s\n%s", err, p.Verdict(), b.String())
	}
}
