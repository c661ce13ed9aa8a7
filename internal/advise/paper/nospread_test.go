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
	exact       bool // values are taken for what they show
}

// judge draws a study of so many blocks and judges it.
func (x stepped) judge(p Paper, r *rand.Rand, blocks int) Judged {
	p.Claims = []Claim{x.claim}
	var series []advise.Series
	for _, level := range []string{"axis2", "rest"} {
		s := advise.Series{Factors: []string{"stack"}, Levels: []string{level}, Side: measure.Client, Response: "rtt",
			Unit: "s", Ticks: !x.exact}
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
		{"equal, at the edge of a step", 10, 10, 0.01, less, false, false},
		{"equal, noise of three steps", 100, 100, 3, less, false, false},
		{"equal, noise of a step", 100, 100, 1, less, false, false},
		{"8 % apart, which the clock does not show", 10.1, 10.9, 0.005, alike, false, false},
		{"1.93 times as long, of which the clock shows 1.67", 3.1, 5.99, 0.001, size, false, false},
		{"twice as long", 10.5, 20.5, 0.01, less, true, false},
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

// Trials that vary by less than a step of their clock, and not by nothing, hide the truth as much: that two times are
// alike within 5 % is wrong in at most 5 % of studies, wherever between two steps they lie. The rates are those of
// doc/method.md.
func TestStepsHideTheTruthBelowASpread(t *testing.T) {
	p, err := Load("cloud-of-things")
	if err != nil {
		t.Fatal(err)
	}
	alike := Claim{ID: "x", Response: "transmission_rtt", Equivalent: []string{"rest", "axis2"}, Within: 0.05}
	studies, phases := 100, []float64{0, 0.1, 0.2, 0.4, 0.6, 0.8}
	if testing.Short() {
		studies, phases = 40, []float64{0.1, 0.4}
	}
	limit := 0.05*float64(studies) + 4*math.Sqrt(0.05*0.95*float64(studies))
	r := rand.New(rand.NewPCG(29, 37))
	for _, steps := range []float64{10, 30, 100} {
		for _, blocks := range []int{2, 3, 6, 10, 30} {
			var most, mean, alikes [2]float64
			cells := 0.0
			for _, noise := range []float64{0.1, 0.3, 0.5, 1} {
				for _, phase := range phases {
					var confirmed, right [2]int
					for range studies {
						for i, exact := range []bool{true, false} {
							x := stepped{axis2: steps + phase, noise: noise, claim: alike, exact: exact}
							x.rest = 1.0001 * x.axis2 / 0.95
							if j := x.judge(p, r, blocks); j.Verdict == stat.Confirmed && j.Parts[0].Ours.SD() > 0 {
								confirmed[i]++
							}
							x.rest = x.axis2
							if j := x.judge(p, r, blocks); j.Verdict == stat.Confirmed && j.Parts[0].Ours.SD() > 0 {
								right[i]++
							}
						}
					}
					cells++
					for i := range most {
						of := float64(confirmed[i]) / float64(studies)
						most[i], mean[i] = max(most[i], of), mean[i]+of
						alikes[i] += float64(right[i]) / float64(studies)
					}
					if float64(confirmed[1]) > limit {
						t.Errorf("%g steps and %g, %d blocks, noise %g: %d of %d studies call them alike", steps, phase, blocks, noise,
							confirmed[1], studies)
					}
				}
			}
			t.Logf("%g steps, %d blocks: wrong in %.1f %% (at worst %.1f %%), now %.1f %% (%.1f %%); equals alike in %.1f %%, "+
				"now %.1f %%", steps, blocks, 100*mean[0]/cells, 100*most[0], 100*mean[1]/cells, 100*most[1],
				100*alikes[0]/cells, 100*alikes[1]/cells)
			if steps == 10 && blocks == 30 && most[0] < 0.5 || steps == 100 && blocks == 30 && alikes[1] < 0.95*alikes[0] {
				t.Errorf("%g steps, %d blocks: taken for exact wrong in %g, equals alike in %g of %g: the test shows nothing", steps,
					blocks, most[0], alikes[1]/cells, alikes[0]/cells)
			}
		}
	}
	// No number of blocks decides what the steps hide, and that is what is said; what they do not hide is decided by some.
	hidden := stepped{rest: 10.9, axis2: 10.1, noise: 0.1, claim: alike}
	for range 20 {
		j := hidden.judge(p, r, 10)
		if said := strings.Join(j.Why, " ") + j.Decided(); j.Verdict != stat.Undecided || j.Needs.Blocks > 0 ||
			!strings.Contains(said, "steps of its clock") || !strings.Contains(said, "finer steps") {
			t.Fatalf("%s: %s", j.Verdict, said)
		}
	}
	open := stepped{rest: 100, axis2: 100, noise: 8, claim: alike}
	for range 20 {
		if j := open.judge(p, r, 6); j.Verdict == stat.Undecided && !j.Parts[0].Ours.hidden(j.Parts[0].bounds) &&
			strings.Contains(j.Decided(), "finer steps") {
			t.Fatalf("%s: %q, %q", j.Verdict, j.Why, j.Decides)
		}
	}
}
