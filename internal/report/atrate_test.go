package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Where requests are due at a rate, one that answers soon most times, and keeps the others waiting for that, is not
// quickest: where the time from when requests were due was measured it decides, in the answer, the sentences, the
// picture and what is proposed; where it was not, the answer says what the RTT leaves out.
func TestTheWaitAtARateCounts(t *testing.T) {
	times := func(response bool) world {
		w := exactly(nil)
		w.exact = func(at map[string]string, block int) []store.Result {
			of := func(response string, v float64) store.Result {
				v *= wobble(block)
				m, _ := measure.FindResponse(response)
				return store.Result{Side: measure.Client, Response: response, Unit: m.Unit, N: 100, Mean: v, SD: v / 10,
					Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}
			}
			all := []store.Result{of("message_size", 100)}
			all = append(all, of("rtt", map[string]float64{"a": 1e-3, "b": 2e-3, "c": 3e-3}[at["stack"]]))
			if response {
				all = append(all, of("response_time",
					map[string]float64{"a": 50e-3, "b": 2.5e-3, "c": 3.5e-3}[at["stack"]]))
			}
			return all
		}
		return w
	}
	const (
		due    = "Quickest, from when requests were due: b, 2.50 ms"
		byDue  = "a has 20.0 times as long a response time as b"
		byRTT  = "b takes 2.00 times as long to answer as a"
		chosen = "without the wait of requests that were due"
	)
	for _, c := range []struct {
		name, load string
		response   bool
		want, main string
		sentence   string
		axis       string
	}{
		{"at a rate", "rate: 50", true, due, "response_time", byDue, "response time"},
		{"it connects, too", "rate: 50\nconnection: per-request", true, due, "response_time", byDue, "response time"},
		{"not measured", "rate: 50", false, "Quickest once sent: a, 1.00 ms", "rtt", byRTT, "RTT"},
		{"closed load", "concurrency: 2", true, "Quickest: a, 1.00 ms", "rtt", byRTT, "RTT"},
	} {
		r := reportOf(t, times(c.response).write(t, "study: s\nservice: monitor\nrequests: 100\n"+
			"factors: {stack: [a, b, c]}\n"+c.load+"\ndesign: {replications: 8, seed: 1}\n"))
		r.Effects = r.effectsOfAll()
		if got := strings.Join(r.Verdict(), "\n"); !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in %s", c.name, c.want, got)
		}
		if got, time := r.MainResponse(); got != c.main || !time {
			t.Errorf("%s: main response %s, %v; want %s", c.name, got, time, c.main)
		}
		var said strings.Builder
		for _, e := range r.Effects {
			if r.isHeadline(e) {
				said.WriteString(strings.Join(e.sentences(r.Study.Design.Confidence, nil), "\n"))
			}
		}
		if !strings.Contains(said.String(), c.sentence) {
			t.Errorf("%s: want %q in %s", c.name, c.sentence, said.String())
		}
		pictures := r.paretos()
		if len(pictures) != 1 {
			t.Fatalf("%s: %d pictures", c.name, len(pictures))
		}
		var b strings.Builder
		err := pictures[0].File(&b)
		if err != nil || !strings.Contains(b.String(), ">"+capital(c.axis)+" and message size") {
			t.Errorf("%s: want the axis %q in %s (%v)", c.name, c.axis, b.String(), err)
		}
		least := []advise.Objective{{Term: advise.Term{Response: "rtt", Figure: "mean"}}}
		l := r.Levels()[0]
		choice, err := advise.Choose(l.Series, least, nil, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(r.ChoiceNotes(l, least, choice), "\n")
		if got := strings.Contains(notes, chosen); got != (c.main == "response_time") {
			t.Errorf("%s: choose says %q", c.name, notes)
		}
	}
}
