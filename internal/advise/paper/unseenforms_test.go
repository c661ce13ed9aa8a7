package paper

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// No form of claim is confirmed or contradicted by less than what the meter sees of its figure: of truths that an error
// common to all trials turns, none is decided, and what lies beyond such an error is decided as without one.
func TestWhatAMeterDoesNotSeeDecidesNoClaim(t *testing.T) {
	p, err := Load("rest-versus-soap-mobile")
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{"style": "rest", "service": "sum"}
	for _, x := range []struct {
		claim    Claim
		decisive float64 // the error from which on it is open
	}{
		{Claim{Less: []string{"rest", "soap"}}, 0.25},
		{Claim{Less: []string{"rest", "soap"}, Difference: new(float64), Unit: "s"}, 0.4},
		{Claim{Greatest: "soap"}, 0.25},
		{Claim{RatioOf: []string{"soap", "rest"}, Ratio: span{1.5, 1.5}}, 0.25},
		{Claim{Equivalent: []string{"rest", "soap"}, Within: 0.5}, 0.25},
		{Claim{Interaction: []string{"style", "service"}}, 0.25},
		{Claim{SpreadLess: []string{"rest", "soap"}}, 0.02},
		{Claim{SlopePer: "array_elements", At: at, Slope: new(float64), Unit: "s"}, 0.5},
		{Claim{GrowthIn: "array_elements", At: at, Exponent: span{0.4, 0.6}}, 0.2},
	} {
		c := x.claim
		c.ID, c.Response = "x", "response_time"
		p.Claims = []Claim{c}
		// off is by how much the energies of each treatment are off, all trials alike.
		study := func(unseen float64, off func(style string, n int) float64) Judged {
			r := rand.New(rand.NewPCG(30, 14))
			var all []advise.Series
			for _, style := range []string{"rest", "soap"} {
				for _, service := range []string{"concat", "sum"} {
					for k, n := range []string{"2", "3", "4", "5", "6", "7", "8"} {
						s := advise.Series{Factors: []string{"style", "service", "array_elements"},
							Levels: []string{style, service, n}, Side: measure.Client, Response: "response_time", Unit: "s",
							Ticks: true, Unseen: unseen}
						truth, noise := math.Sqrt(float64(k+2))/2, 0.001
						if style == "soap" { // and the other way round for concat, of an interaction
							truth, noise = truth*1.5, 0.02
							if c.Interaction != nil && service == "concat" {
								truth /= 2
							}
						}
						for b := range 10 {
							s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b,
								Mean: truth*(1+noise*r.NormFloat64()) + off(style, k)})
						}
						all = append(all, s)
					}
				}
			}
			return p.Judge(all, Mapping{}, 0.95).Claims[0]
		}
		exact := func(string, int) float64 { return 0 }
		none := study(0, exact)
		if none.Verdict == stat.Undecided {
			t.Errorf("%s: seen: %s: %q", c.Form(), none.Verdict, none.Why)
		}
		if few := study(x.decisive/100, exact); few.Verdict != none.Verdict {
			t.Errorf("%s: an error of %g s: %s, seen: %s", c.Form(), x.decisive/100, few.Verdict, none.Verdict)
		}
		for _, off := range []func(string, int) float64{exact,
			func(style string, _ int) float64 {
				return map[string]float64{"rest": 1, "soap": -1}[style] * x.decisive
			},
			func(_ string, k int) float64 { return x.decisive * float64(3-k) / 3 },
		} {
			if many := study(x.decisive, off); many.Verdict != stat.Undecided || many.Size == stat.Confirmed ||
				many.Size == stat.Contradicted {
				t.Errorf("%s: an error of %g s: %s, size %s, ours %v", c.Form(), x.decisive, many.Verdict, many.Size,
					many.Ours.within())
			}
		}
	}
}
