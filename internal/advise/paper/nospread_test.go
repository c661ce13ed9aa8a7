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

// A stepped pair is the truth of two stacks of which a clock of steps of 1 gives the times.
type stepped struct {
	words       string
	rest, axis2 float64 // the times, in steps
	noise       float64 // of trials, in steps
	claim       Claim
	holds       bool // of the truth
}

// judge draws a study of so many blocks and judges it.
func (x stepped) judge(p Paper, r *rand.Rand, blocks int) Judged {
	p.Claims = []Claim{x.claim}
	var series []advise.Series
	for _, level := range []string{"axis2", "rest"} {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{level}, Side: measure.Client, Response: "rtt",
			Unit: "s", Ticks: true}
		truth := map[string]float64{"axis2": x.axis2, "rest": x.rest}[level]
		for b := range blocks {
			s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b,
				Mean: 1e-3 * math.Floor(truth+x.noise*r.NormFloat64())})
		}
		series = append(series, s)
	}
	return p.Judge(series, Mapping{}, 0.95).Claims[0]
}

// Where no trial differs from its fellows, a clock shows its steps and no certainty: a claim is decided from six
// blocks, and what lies within its steps of a bound is not. The rates are those of doc/method.md.
func TestSteppedClaimsNeedSixBlocks(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	less := Claim{ID: "x", Response: "transmission_rtt", Less: []string{"rest", "axis2"}}
	alike := Claim{ID: "x", Response: "transmission_rtt", Equivalent: []string{"rest", "axis2"}, Within: 0.05}
	size := Claim{ID: "x", Response: "transmission_rtt", RatioOf: []string{"axis2", "rest"}, Ratio: span{1.5, 1.5}}
	studies := 2000
	if testing.Short() {
		studies = 150
	}
	for _, x := range []stepped{
		{"equal, at the edge of a step", 10, 10, 0.01, less, false},
		{"equal, noise of three steps", 100, 100, 3, less, false},
		{"equal, noise of a step", 100, 100, 1, less, false},
		{"8 % apart, which the clock does not show", 10.1, 10.9, 0.005, alike, false},
		{"1.93 times as long, of which the clock shows 1.67", 3.1, 5.99, 0.001, size, false},
		{"twice as long", 10.5, 20.5, 0.01, less, true},
	} {
		r := rand.New(rand.NewPCG(29, 34))
		for _, blocks := range []int{2, 3, 4, 5, 6, 10} {
			wrong, right, why := 0, 0, 0
			for range studies {
				j := x.judge(p, r, blocks)
				switch {
				case j.Verdict == stat.Undecided:
					if strings.Contains(strings.Join(j.Why, " ")+j.Decided(), "as where a clock ticks") {
						why++
					}
				case (j.Verdict == stat.Confirmed) == x.holds && (x.claim.ID != less.ID || x.holds || x.rest != x.axis2):
					right++
				default:
					wrong++
				}
			}
			t.Logf("%s, %d blocks: wrong %.2f %%, right %.1f %%, undecided for the clock %.1f %%", x.words, blocks,
				100*float64(wrong)/float64(studies), 100*float64(right)/float64(studies), 100*float64(why)/float64(studies))
			limit := 0.05*float64(studies) + 3*math.Sqrt(0.05*0.95*float64(studies))
			if float64(wrong) > limit {
				t.Errorf("%s, %d blocks: %d of %d studies decide it wrongly", x.words, blocks, wrong, studies)
			}
			if x.holds && (blocks < 6 && (right > 0 || why != studies) || blocks >= 6 && right != studies) {
				t.Errorf("%s, %d blocks: %d of %d studies decide it, %d say why not", x.words, blocks, right, studies, why)
			}
		}
	}
}
