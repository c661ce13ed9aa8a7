package paper

import (
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// What a meter does not see decides no claim, however little it is of the largest of the treatments that are averaged:
// of sides that are equal, and of a response that does not grow, hardly any study says otherwise, and what no error
// explains is found.
func TestClaimsOfWhatAMeterDoesNotSee(t *testing.T) {
	p, err := Load("frameworks-on-raspberry-pi")
	if err != nil {
		t.Fatal(err)
	}
	less := Claim{ID: "x", Response: "energy", Side: "client", Less: []string{"axis2", "cxf"}}
	grows := Claim{ID: "x", Response: "energy", Side: "client", SlopePer: "message_kb"}
	power := func(from, to float64) Claim {
		return Claim{ID: "x", Response: "energy", Side: "client", GrowthIn: "message_kb", Exponent: span{from, to}}
	}
	const studies, unseen = 200, 0.5
	rng := rand.New(rand.NewPCG(5, 11))
	for _, x := range []struct {
		words        string
		claim        Claim
		small, large [2]float64 // J, of axis2 and cxf
		holds        bool
	}{
		{"equal", less, [2]float64{1, 1}, [2]float64{1000, 1000}, false},
		{"a fifth", less, [2]float64{1, 5}, [2]float64{1000, 5000}, true},
		{"as much of large messages", grows, [2]float64{1, 1}, [2]float64{1, 1}, false},
		{"more of large messages", grows, [2]float64{1, 1}, [2]float64{5, 5}, true},
		{"as much of large messages, by a power", power(-0.05, 0.05), [2]float64{1, 1}, [2]float64{1, 1}, false},
		{"more of large messages, by a power", power(0.2, 3), [2]float64{1, 1}, [2]float64{5, 5}, true},
	} {
		p.Claims = []Claim{x.claim}
		decided, right := 0, 0
		for range studies {
			var all []advise.Series
			for i, framework := range []string{"axis2", "cxf"} {
				for k, size := range []string{"100", "500"} {
					s := advise.Series{Factors: []string{"framework", "message_kb"}, Levels: []string{framework, size},
						Side: measure.Client, Response: "energy_gross", Unit: "J", Ticks: true, Unseen: unseen}
					truth, off := [][2]float64{x.small, x.large}[k][i], unseen*(2*rng.Float64()-1)
					for b := range 10 {
						s.Trials = append(s.Trials, advise.TrialSummary{ID: b, Block: b, Mean: truth*(1+0.01*rng.NormFloat64()) + off})
					}
					all = append(all, s)
				}
			}
			j := p.Judge(all, Mapping{}, 0.95).Claims[0]
			if j.Verdict != stat.Undecided {
				decided++
			}
			if j.Verdict == stat.Confirmed {
				right++
			}
		}
		t.Logf("%s: %d of %d decided, %d confirmed", x.words, decided, studies, right)
		if !x.holds && decided > studies*5/100 || x.holds && (right < studies*70/100 || right != decided) {
			t.Errorf("%s: %d of %d decided, %d confirmed", x.words, decided, studies, right)
		}
	}
}
