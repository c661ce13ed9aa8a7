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

// A treatment of which the slow trials never end in time is tried again until one is quick, or until none is left: it
// is not quicker for it. What its attempts cannot turn is decided as before, and the claim says how many were ended.
// The rates are those of doc/method.md.
func TestEndedAttemptsDecideNothing(t *testing.T) {
	less := Claim{ID: "less", Response: "transmission_rtt", Less: []string{"rest", "axis2"}}
	alike := Claim{ID: "alike", Response: "transmission_rtt", Equivalent: []string{"rest", "axis2"}, Within: 0.25}
	studies := 500
	if testing.Short() {
		studies = 60
	}
	type stack struct {
		mean, slow float64 // of a trial in s; the share of trials that take ten times as long
		ends       bool    // so that timeouts.trial ends them
	}
	for _, x := range []struct {
		words       string
		rest, axis2 stack
		claim       Claim
		holds       stat.Verdict // of the truth; undecided: neither may be said
		least       float64      // of the studies that say so
	}{
		{"equals, the slow trials of one are ended", stack{1, 0.3, true}, stack{1, 0.3, false}, less, stat.Undecided, 0},
		{"2.3 times as long in all, 1 where they end", stack{1, 0, false}, stack{1, 0.15, true}, alike, stat.Undecided, 0},
		{"half as long, those of the longer are ended", stack{1, 0, false}, stack{2, 0.3, true}, less, stat.Confirmed, 1},
		{"half as long, none is ended", stack{1, 0, false}, stack{2, 0, false}, less, stat.Confirmed, 1},
	} {
		r := rand.New(rand.NewPCG(29, 55))
		p, err := Load("cloud-of-things")
		if err != nil {
			t.Fatal(err)
		}
		p.Claims = []Claim{x.claim}
		var wrong, right [2]int
		for n := 0; n < studies; {
			var all, blind []advise.Series
			ended := 0
			for i, g := range []stack{x.rest, x.axis2} {
				s := advise.Series{Factors: []string{"stack"}, Levels: []string{[]string{"rest", "axis2"}[i]},
					Side: measure.Client, Response: "rtt", Unit: "s", Limit: 100, Lost: map[int]float64{}}
				for b := range 12 {
					late := 0
					for try := range 3 {
						mean := g.mean * math.Exp(0.02*r.NormFloat64())
						if r.Float64() < g.slow {
							mean *= 10
						}
						if g.ends && mean > 5*g.mean {
							late++
							continue
						}
						s.Trials = append(s.Trials, advise.TrialSummary{ID: 3*b + try, Block: b, Mean: mean, SD: mean / 10})
						break
					}
					if s.Ended += late; late > 0 {
						s.Lost[b] = float64(late) / float64(late+1)
					}
					if late == 3 {
						s.Lost[b] = 1
					}
				}
				ended += s.Ended
				all = append(all, s)
				s.Lost, s.Ended = nil, 0
				blind = append(blind, s)
			}
			if ended == 0 && (x.rest.ends || x.axis2.ends) {
				continue // nobody can know
			}
			n++
			for i, series := range [][]advise.Series{blind, all} {
				j := p.Judge(series, Mapping{}, 0.95).Claims[0]
				switch {
				case j.Verdict == x.holds && x.holds != stat.Undecided:
					right[i]++
				case j.Verdict != stat.Undecided:
					wrong[i]++
				}
				said := strings.Contains(strings.Join(j.Why, " "), "ended by timeouts.trial")
				if said != (i == 1 && ended > 0) || j.Needs.Answers != strings.Contains(j.Decided(), "raise timeouts.trial") {
					t.Fatalf("%s: %d ended, %s: %q, %q", x.words, ended, j.Verdict, j.Why, j.Decides)
				}
			}
		}
		share := func(n int) float64 { return 100 * float64(n) / float64(studies) }
		t.Logf("%s (%s): wrong %.1f %%, now %.1f %%; right %.1f %%, now %.1f %%", x.words, x.claim.ID, share(wrong[0]),
			share(wrong[1]), share(right[0]), share(right[1]))
		if float64(wrong[1]) > 0.05*float64(studies)+3 || float64(right[1]) < x.least*float64(studies) {
			t.Errorf("%s: of %d studies %d say what is wrong, %d what is right", x.words, studies, wrong[1], right[1])
		}
	}
}
