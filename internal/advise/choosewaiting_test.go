package advise

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// sharesOfDrawn is the share of failed requests of a treatment with so many trials as were drawn.
func sharesOfDrawn(name string, a Attempts, untold bool) Series {
	s := series(name, "failed_share")
	for i, x := range a.Failed {
		v := x.Of()
		one := TrialSummary{ID: i + 1, Block: i + 1, Mean: v, Median: v, P95: math.NaN(), SD: math.NaN(), Late: v}
		if !untold {
			one.Late = float64(a.Late[i]) / float64(x.N)
		}
		s.Trials = append(s.Trials, one)
	}
	all := stat.Pooled(a.Failed)
	s.Waiting, s.Failed, s.Requests = 0.3, all.Of(), all.N
	return s
}

// On a machine so busy that up to 30 % of the requests are late, a requirement on the share of failed requests, and an
// order by it, are decided by those that failed otherwise: late ones prove nothing, and are not a factor either.
func TestChooseExcusesLateRequestsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const studies = 300
	share := mustTerm(t, "failed_share.mean")
	for _, tt := range []struct {
		what    string
		errors  float64 // share that is answered with an error
		late    bool
		untold  bool
		bound   float64 // of the requirement that fewer fail
		verdict stat.Verdict
		least   float64 // share of studies that say so
		most    float64
	}{
		{"a tenth are errors, nobody is late", 0.1, false, false, 0.05, stat.Contradicted, 0.9, 1},
		{"a fifth are errors, nobody is late, beside a bound near them", 0.2, false, false, 0.14, stat.Contradicted, 0.6, 1},
		{"a fifth are errors, others are late", 0.2, true, false, 0.1, stat.Contradicted, 0.9, 1},
		{"late alone", 0, true, false, 0.02, stat.Contradicted, 0, 0},
		{"late alone, beside as many errors as the bound", 0.05, true, false, 0.05, stat.Contradicted, 0, 0.04},
		{"a fifth are errors, and nobody knows", 0.2, true, true, 0.05, stat.Contradicted, 0, 0},
		{"one in a hundred is an error", 0.01, false, false, 0.05, stat.Confirmed, 0.9, 1},
	} {
		r := rand.New(rand.NewPCG(41, 2))
		said := 0
		for range studies {
			of := sharesOfDrawn("a", drawWaited(r, 8, tt.errors, tt.late), tt.untold)
			c, err := Choose([]Series{of}, []Objective{{Term: share}},
				[]Condition{{Term: share, Less: true, Bound: tt.bound}}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if c.Candidates[0].Meets == tt.verdict {
				said++
			}
		}
		rate := float64(said) / studies
		t.Logf("%s: %s in %.1f %%", tt.what, tt.verdict, 100*rate)
		if rate < tt.least || rate > tt.most {
			t.Errorf("%s: %s in %.1f %% of studies, want %g to %g", tt.what, tt.verdict, 100*rate, tt.least, tt.most)
		}
	}
	for _, tt := range []struct {
		what        string
		errors      [2]float64
		late        [2]bool
		least, most float64 // share of studies in which b is behind a, beyond noise and waiting
	}{
		{"a fifth of b are errors, nobody is late", [2]float64{0, 0.2}, [2]bool{}, 0.95, 1},
		{"a fifth of b are errors, others are late", [2]float64{0, 0.2}, [2]bool{false, true}, 0.95, 1},
		{"b is late", [2]float64{0, 0}, [2]bool{false, true}, 0, 0},
		{"b is late, and as many are errors", [2]float64{0.1, 0.1}, [2]bool{false, true}, 0, 0.03},
	} {
		r := rand.New(rand.NewPCG(41, 3))
		said, beaten := 0, 0
		for range studies {
			all := []Series{sharesOfDrawn("a", drawWaited(r, 8, tt.errors[0], tt.late[0]), false),
				sharesOfDrawn("b", drawWaited(r, 8, tt.errors[1], tt.late[1]), false)}
			c, err := Choose(all, []Objective{{Term: share}}, nil, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if x := c.Candidates[1]; x.Name == "b" && !x.Noise {
				said++
			}
			if x := c.Candidates[1]; x.Name == "b" && !x.Front && !x.Unsure {
				beaten++
			}
		}
		rate, off := float64(said)/studies, float64(beaten)/studies
		t.Logf("%s: behind in %.1f %%, off the front in %.1f %%", tt.what, 100*rate, 100*off)
		if rate < tt.least || rate > tt.most || off < tt.least || off > tt.most {
			t.Errorf("%s: behind in %.1f %% of studies, off the front in %.1f %%, want %g to %g", tt.what, 100*rate, 100*off,
				tt.least, tt.most)
		}
	}
}
