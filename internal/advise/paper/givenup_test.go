package paper

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Of two equal stacks one gives up its slowest 2 %, so that its answered requests take 0.96 times as long: a claim on
// their times is undecided, says why, and is decided where no request failed.
func TestTimesOfWhichRequestsFailedDecideNoClaim(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(29, 39))
	judge := func(claim Claim, failed float64) Judged {
		p.Claims = []Claim{claim}
		var all []advise.Series
		for _, level := range []string{"axis2", "rest"} {
			s := advise.Series{Factors: []string{"stack"}, Levels: []string{level}, Side: measure.Client, Response: "rtt",
				Unit: "s"}
			scale := 1.0
			if level == "rest" {
				scale, s.Failed = 0.96, failed
			}
			for b := range 10 {
				s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b, Mean: 1e-3 * scale *
					math.Exp(0.01*rnd.NormFloat64())})
			}
			all = append(all, s)
		}
		return p.Judge(all, Mapping{}, 0.95).Claims[0]
	}
	for _, claim := range []Claim{{ID: "x", Response: "transmission_rtt", Less: []string{"rest", "axis2"}},
		{ID: "x", Response: "transmission_rtt", Less: []string{"axis2", "rest"}},
		{ID: "x", Response: "transmission_rtt", RatioOf: []string{"axis2", "rest"}, Ratio: span{1.01, 1.1}}} {
		decided := 0
		for range 50 {
			if j := judge(claim, 0.02); j.Verdict != stat.Undecided || j.Direction == stat.Confirmed ||
				j.Size == stat.Confirmed || !strings.Contains(strings.Join(j.Why, "\n"), givenUp) ||
				j.Decided() != "a run in which no request fails" {
				t.Fatalf("%+v: got %s, %s, %s, %q, %q", claim, j.Verdict, j.Direction, j.Size, j.Why, j.Decided())
			}
			j := judge(claim, 0)
			if j.Verdict != stat.Undecided {
				decided++
			}
			if strings.Contains(strings.Join(j.Why, "\n"), givenUp) {
				t.Fatalf("%+v: nothing failed, and it says so: %q", claim, j.Why)
			}
		}
		if decided < 45 {
			t.Errorf("%+v: without failures %d of 50 are decided", claim, decided)
		}
	}
}
