package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Of trials in which all or none failed, Gaffke's limit is that of Clopper and Pearson.
func TestGaffkeOfAllOrNothing(t *testing.T) {
	for _, c := range []struct{ m, k int }{{0, 2}, {0, 10}, {1, 3}, {1, 10}, {5, 10}, {9, 10}, {3, 40}, {1, 200},
		{70, 400}} {
		xs := make([]float64, c.k)
		for i := range c.m {
			xs[i] = 1
		}
		_, want := Share{c.m, c.k}.Interval(0.95)
		if got := gaffke(xs, 1, 0.025, 0); math.Abs(got-want) > 1e-6 {
			t.Errorf("%d of %d: got %v, want %v", c.m, c.k, got, want)
		}
	}
}

// The limit of any values is that of random weights, drawn.
func TestGaffkeOfDrawnWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	xs := []float64{0, 0.01, 0.02, 0.3, 0, 0.07}
	var means []float64
	for range 200_000 {
		sum, weights := 0.0, 0.0
		for _, x := range append(slices.Clone(xs), 0.9) {
			w := r.ExpFloat64()
			sum, weights = sum+w*x, weights+w
		}
		means = append(means, sum/weights)
	}
	slices.Sort(means)
	if got, want := gaffke(xs, 0.9, 0.025, 0), means[195_000]; math.Abs(got-want) > 0.003 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMeanShareOfEqualTrials(t *testing.T) {
	of := func(hits ...int) (xs []float64, out []Share) {
		for _, h := range hits {
			out = append(out, Share{h, 20})
			xs = append(xs, float64(h)/20)
		}
		return xs, out
	}
	none, ofNone := of(0, 0, 0)
	s := got(MeanShare(none, ofNone, 1, 0.95))
	if math.Abs(math.Pow(1-s.Hi, 3)-0.025) > 1e-12 || s.Lo != 0 || !errors.Is(s.Warnings[0], ErrNoSpread) {
		t.Errorf("none failed: got %+v", s)
	}
	all, ofAll := of(20, 20, 20)
	if s := got(MeanShare(all, ofAll, 1, 0.95)); math.Abs(math.Pow(s.Lo, 3)-0.025) > 1e-12 || s.Hi != 1 {
		t.Errorf("all failed: got %+v", s)
	}
	some, ofSome := of(8, 8, 8)
	lo, hi := Share{24, 60}.Interval(0.95)
	if s := got(MeanShare(some, ofSome, 1, 0.95)); s.Lo != lo || s.Hi != hi {
		t.Errorf("as many failed in each: got %+v", s)
	}
	for _, s := range []Summary{got(MeanShare(some, nil, 1, 0.95)), got(MeanShare(none, nil, math.Inf(1), 0.95))} {
		if s.HasInterval() || len(s.Warnings) != 1 {
			t.Errorf("of requests that nobody counted: got %+v", s)
		}
	}
}

// A few failures, each in a trial of its own as chance has it, leave as much open as Clopper and Pearson say of all
// requests; so few that they could not lie otherwise leave open that a trial fails altogether.
func TestMeanShareOfFewFailures(t *testing.T) {
	of := func(trials int, hits ...int) Summary {
		xs, shares := make([]float64, trials), make([]Share, trials)
		for i := range xs {
			shares[i].N = 1000
			if i < len(hits) {
				shares[i].Hits = hits[i]
			}
			xs[i] = shares[i].Of()
		}
		return got(MeanShare(xs, shares, 1, 0.95))
	}
	_, want := Share{3, 10_000}.Interval(0.95)
	if s := of(10, 1, 1, 1); s.Hi != want || !strings.Contains(s.Method, "Clopper-Pearson") {
		t.Errorf("three trials with one failure: got %+v, want %v", s, want)
	}
	if s := of(10, 3); !(s.Hi < 0.01) || !strings.Contains(s.Method, "largest share") {
		t.Errorf("one trial with three failures: got %+v", s)
	}
	if s := of(10, 1); !(s.Hi > 0.308 && s.Hi < 0.31) || !strings.Contains(s.Method, "all failed") {
		t.Errorf("one failure: got %+v", s)
	}
}

// A law of shares has the mean that one of a trial has.
type lawOfShares struct {
	words  string
	mean   float64
	share  func(r *rand.Rand) float64
	lowest float64 // per cent that intervals of some number of trials may cover
	long   bool    // a trial has 1000 requests, not 200
}

func lawsOfShares() []lawOfShares {
	mix := func(part, share, rest float64) func(r *rand.Rand) float64 {
		return func(r *rand.Rand) float64 {
			if r.Float64() < part {
				return share
			}
			return rest
		}
	}
	beta := func(mean, rho float64) func(r *rand.Rand) float64 {
		return func(r *rand.Rand) float64 {
			x, y := drawnGamma(r, mean*(1-rho)/rho), drawnGamma(r, (1-mean)*(1-rho)/rho)
			return x / (x + y)
		}
	}
	return []lawOfShares{
		{"two of three requests of every fifth trial", 2.0 / 15, mix(0.2, 2.0/3, 0), 95, false},
		{"two of three requests of every fifth trial, 1 in 1000 of the others", 2.0/15 + 0.8/1000,
			mix(0.2, 2.0/3, 0.001), 94, false},
		{"the same, of 1000 requests a trial", 2.0/15 + 0.8/1000, mix(0.2, 2.0/3, 0.001), 68, true},
		{"all requests of every twentieth trial", 0.05, mix(0.05, 1, 0), 95, false},
		{"a tenth of the requests of every third trial", 0.1 / 3, mix(1.0/3, 0.1, 0), 94, false},
		{"1 in 1000", 0.001, mix(0, 0, 0.001), 95, false},
		{"1 %", 0.01, mix(0, 0, 0.01), 94, false},
		{"5 %", 0.05, mix(0, 0, 0.05), 93, false},
		{"30 %", 0.3, mix(0, 0, 0.3), 93, false},
		{"all but 0.5 %", 0.995, mix(0, 0, 0.995), 94, false},
		{"5 %, trials spread by 3 % (beta)", 0.05, beta(0.05, 0.02), 92, false},
		{"30 %, trials spread by 14 % (beta)", 0.3, beta(0.3, 0.1), 92, false},
		{"5 %, trials spread by 10 % (beta)", 0.05, beta(0.05, 0.2), 78, false},
	}
}

// The share of the requests that failed is drawn for each trial, and how many of 200 did: intervals are to contain the
// truth as often as they say, whether requests fail alone or those of a trial together.
func TestSimulatedShares(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	runs := 400
	if *full {
		runs = 4000
	}
	for _, l := range lawsOfShares() {
		var said []string
		requests := 200
		if l.long {
			requests = 1000
		}
		for _, trials := range []int{3, 5, 10, 20} {
			r := rand.New(rand.NewPCG(uint64(trials), 5))
			before, now := 0, 0
			for range runs {
				xs, of := make([]float64, trials), make([]Share, trials)
				for i := range xs {
					p := l.share(r)
					of[i].N = requests
					for range requests {
						if r.Float64() < p {
							of[i].Hits++
						}
					}
					xs[i] = of[i].Of()
				}
				if covers(got(PositiveMean(xs, 0.95)), l.mean) {
					before++
				}
				if covers(got(MeanShare(xs, of, 1, 0.95)), l.mean) {
					now++
				}
			}
			share := func(hits int) float64 { return 100 * float64(hits) / float64(runs) }
			said = append(said, fmt.Sprintf("%.0f → %.0f %%", share(before), share(now)))
			if slack := 400 * math.Sqrt(l.lowest/100*(1-l.lowest/100)/float64(runs)); share(now) < l.lowest-slack {
				t.Errorf("%s fail, %d trials: %.1f %% of intervals contain that, want %v", l.words, trials, share(now), l.lowest)
			}
		}
		t.Logf("| %s | %s |", l.words, strings.Join(said, " | "))
	}
}

// drawnGamma is by Marsaglia and Tsang (2000).
func drawnGamma(r *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return drawnGamma(r, shape+1) * math.Pow(r.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	for {
		x := r.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
