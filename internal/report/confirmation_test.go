package report

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A pilot that shows a change of each figure beyond doubt ends a confirmation; of equals, and of changes that are small
// for their noise, none does.
func TestAPilotDecidesWhatIsPlain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const file = "study: s\nservice: monitor\nrequests: 200\nfactors: {stack: [a, a@base]}\n" +
		"design: {replications: 10, seed: 1}\n"
	rnd := rand.New(rand.NewPCG(30, 11))
	for _, tt := range []struct {
		ratio, cpu float64 // new/old
		want       bool
	}{{1, 1, false}, {1.05, 1.05, false}, {1.1, 2.5, false}, {2.5, 1, false}, {2.5, 2.5, true}, {0.4, 2.5, true}} {
		const n = 20
		decided := 0
		for range n {
			w := exactly(nil)
			w.exact = func(at map[string]string, block int) []store.Result {
				var out []store.Result
				for i, ratio := range []float64{tt.ratio, tt.cpu} { // the same draws in each run
					response := []string{"rtt", "cpu"}[i]
					v := 2e-3 * math.Exp(0.08*rnd.NormFloat64())
					if at["stack"] == "a" {
						v *= ratio
					}
					out = append(out, store.Result{Side: measure.Client, Response: response, Unit: "s", N: 100, Mean: v,
						SD: v / 10, Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured})
				}
				return out
			}
			c := Confirms{Responses: []string{"rtt", "cpu"}, Detect: 0.05}
			if c.Decided(reportOf(t, w.write(t, file))) {
				decided++
			}
		}
		t.Logf("%g and %g times as much: %d of %d pilots decide", tt.ratio, tt.cpu, decided, n)
		if tt.want && decided < n/2 || !tt.want && decided > 0 { // some ten blocks look as if they followed each other
			t.Errorf("%g and %g times as much: %d of %d pilots decide", tt.ratio, tt.cpu, decided, n)
		}
	}
}

// What a user pays is the mean: a version of which most trials are quicker and some far slower is not confirmed to be
// better.
func TestAConfirmationKnowsTheMean(t *testing.T) {
	const file = "study: s\nservice: monitor\nrequests: 200\nfactors: {stack: [a, a@base]}\n" +
		"design: {replications: 32, seed: 1}\n"
	for _, tt := range []struct {
		what     string
		response string
		faster   float64 // typical trial of the new version over that of the old one
		slow     float64 // of four blocks of 32, that of the new one
		want     history.Verdict
	}{
		{"half as long, no trial is slow", "rtt", 0.5, 0.5, history.Better},
		{"a quarter as long, four trials take eight times as long", "rtt", 0.25, 8, history.CannotTell},
		{"half as long, four trials take the same", "rtt", 0.5, 1, history.Better},
		{"as long", "rtt", 1, 1, history.NotConfirmed},
		{"twice as long, and four trials half as long", "rtt", 2, 0.5, history.Worse},
		{"twice the throughput", "throughput", 2, 2, history.Better},
		{"twice the throughput, and half of it in four trials", "throughput", 2, 0.5, history.Better},
	} {
		w := exactly(nil)
		rnd := rand.New(rand.NewPCG(29, 20))
		m, _ := measure.FindResponse(tt.response)
		w.exact = func(at map[string]string, block int) []store.Result {
			v := 2e-3 * math.Exp(0.01*rnd.NormFloat64())
			if at["stack"] == "a" {
				if v *= tt.faster; block%8 == 0 {
					v *= tt.slow / tt.faster
				}
			}
			return []store.Result{{Side: measure.Client, Response: tt.response, Unit: m.Unit, N: 100, Mean: v, SD: v / 10,
				Median: v, P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}}
		}
		p := PastOf(reportOf(t, w.write(t, file)), &Confirms{Responses: []string{tt.response}, Detect: 0.05})
		if got := p.Verdict(); got != tt.want || len(p.Answers) != 1 {
			t.Errorf("%s: got %s (%s), %v, want %s", tt.what, got, p.Failed, p.Answers[0].Ratio, tt.want)
		}
		if told := strings.Contains(strings.Join(p.Doubts, "\n"), "a few trials take much longer"); told !=
			(tt.want == history.CannotTell) {
			t.Errorf("%s: told of the means: %v, %q", tt.what, told, p.Doubts)
		}
	}
}
