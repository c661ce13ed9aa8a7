package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// Of studies whose trials are steady and scatter, at most one in twenty says of any treatment that it drifts, or
// perhaps does; a virtual machine that compiles while it is measured is seen in three trials.
func TestSteadyTrialsAreSeldomSaidToDrift(t *testing.T) {
	studies := 2000
	if testing.Short() {
		studies = 400
	}
	burst := func(r *rand.Rand) float64 { // a disturbance in a third of every other trial
		if r.IntN(2) == 0 {
			return 0.02 * r.NormFloat64()
		}
		return math.Log1p(r.ExpFloat64()) * float64(1-2*r.IntN(2))
	}
	normal := func(mean, sd float64) func(r *rand.Rand) float64 {
		return func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() }
	}
	for _, x := range []struct {
		words string
		log   func(*rand.Rand) float64 // of last third over first
		found bool
	}{
		{"thirds scatter by 5 %", normal(0, 0.05), false},
		{"thirds scatter by 25 %", normal(0, 0.22), false},
		{"thirds scatter by 65 %", normal(0, 0.5), false},
		{"bursts", burst, false},
		{"a third of the time at the end, scatters by 10 %", normal(math.Log(1./3), 0.1), true},
	} {
		for _, treatments := range []int{1, 4, 14} {
			for _, trials := range []int{3, 5, 10} {
				r := rand.New(rand.NewPCG(30, 15))
				before, now := 0, 0
				for range studies {
					thirds := make([][][2]float64, treatments)
					was := false
					for i := range thirds {
						same := 0
						for range trials {
							last := math.Exp(x.log(r))
							thirds[i] = append(thirds[i], [2]float64{1, last})
							if last < 1 {
								same++
							}
						}
						first, last := firstAndLast(thirds[i])
						c, err := stat.RatioPaired(last, first, 0.95)
						if err != nil {
							t.Fatal(err)
						}
						was = was || (same == 0 || same == trials) && math.Abs(c.Estimate-1) >= 0.2
					}
					for _, d := range driftsOf(thirds, 0.95) {
						if d.said {
							now++
							break
						}
					}
					if was {
						before++
					}
				}
				share := func(n int) float64 { return 100 * float64(n) / float64(studies) }
				t.Logf("%s, %d treatments of %d trials: said in %.1f %%, before in %.1f %%", x.words, treatments, trials,
					share(now), share(before))
				limit := 5 + 3*math.Sqrt(5*95/float64(studies))
				if !x.found && share(now) > limit || x.found && share(now) < 90 {
					t.Errorf("%s, %d treatments of %d trials: said in %.1f %%", x.words, treatments, trials, share(now))
				}
			}
		}
	}
}
