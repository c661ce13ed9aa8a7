package advise

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

func shares(n int, hits ...int) []stat.Share {
	var out []stat.Share
	for _, h := range hits {
		out = append(out, stat.Share{Hits: h, N: n})
	}
	return out
}

func TestJudgeFailures(t *testing.T) {
	for _, tt := range []struct {
		what     string
		old, new []stat.Share
		want     stat.Verdict
	}{
		{"30 % in every run", shares(200, 0, 0, 0, 0, 0, 0, 0, 0), shares(200, 60, 60, 60, 60, 60, 60, 60, 60),
			stat.Confirmed},
		{"an outage in one of six runs", shares(200, 0, 0, 0, 0, 0, 0), shares(200, 0, 0, 200, 0, 0, 0), stat.Undecided},
		{"one request in 1600", shares(200, 0, 0, 0, 0, 0, 0, 0, 0), shares(200, 0, 1, 0, 0, 0, 0, 0, 0), stat.Contradicted},
		{"fewer than before", shares(200, 9, 9, 9, 9), shares(200, 0, 0, 0, 0), stat.Contradicted},
		{"one run each, 30 %", shares(1000, 0), shares(1000, 300), stat.Confirmed},
		{"one run each, 3 of 1000", shares(1000, 0), shares(1000, 3), stat.Contradicted},
		{"three runs, one outage", shares(100, 0, 0, 0), shares(100, 0, 90, 0), stat.Undecided},
		{"all of three requests", shares(3, 0), shares(3, 3), stat.Confirmed},
		{"nothing failed", shares(10, 0), shares(10, 0), stat.Contradicted},
	} {
		if got := JudgeFailures(tt.old, tt.new, 0.95); got.Verdict != tt.want {
			t.Errorf("%s: got %s (%s), want %s", tt.what, got.Verdict, got, tt.want)
		}
	}
}

// Equal services are called worse in at most 2.5 % of comparisons (the rise is one
// side of a two-sided test), whether requests fail alone or a run's together.
func TestJudgeFailuresOfEquals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	alone := func() int {
		n := 0
		for range 100 {
			if r.Float64() < 0.05 {
				n++
			}
		}
		return n
	}
	together := func() int {
		if r.Float64() < 0.3 {
			return 20 + r.IntN(60)
		}
		return r.IntN(3)
	}
	for _, tt := range []struct {
		what          string
		runs, repeats int
		draw          func() int
	}{{"alone, 6 runs", 6, 400, alone}, {"together, 6 runs", 6, 400, together}, {"together, 4 runs", 4, 400, together},
		{"together, 12 runs", 12, 40, together}} {
		worse := 0
		for range tt.repeats {
			var a, b []int
			for range tt.runs {
				a, b = append(a, tt.draw()), append(b, tt.draw())
			}
			if JudgeFailures(shares(100, a...), shares(100, b...), 0.95).Verdict == stat.Confirmed {
				worse++
			}
		}
		if share := float64(worse) / float64(tt.repeats); share > 0.025+4*math.Sqrt(0.025/float64(tt.repeats)) {
			t.Errorf("%s: worse in %.1f %% of equals", tt.what, 100*share)
		}
	}
}
