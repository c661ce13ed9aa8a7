package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Fisher's test is the permutation test of runs of one request each; and where the
// deals can be counted by hand, p is their share.
func TestPermutedMore(t *testing.T) {
	ones := func(hits, n int) []Share {
		out := make([]Share, n)
		for i := range out {
			out[i] = Share{N: 1}
			if i < hits {
				out[i].Hits = 1
			}
		}
		return out
	}
	for _, x := range [][4]int{{3, 5, 1, 6}, {0, 4, 2, 4}, {6, 8, 1, 7}, {2, 3, 2, 3}} {
		got := PermutedMore(ones(x[0], x[1]), ones(x[2], x[3]))
		if want := FisherMore(x[0], x[1], x[2], x[3]); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: got %g, Fisher has %g", x, got, want)
		}
	}
	all := []Share{{60, 200}, {58, 200}, {61, 200}, {59, 200}}
	none := []Share{{0, 200}, {0, 200}, {0, 200}, {0, 200}}
	if got := PermutedMore(all, none); math.Abs(got-1.0/70) > 1e-12 {
		t.Errorf("the most extreme of 70 deals: got %g", got)
	}
	// As many are drawn as there are too many to list.
	r := rand.New(rand.NewPCG(3, 1))
	var a, b []Share
	for i := range 24 {
		a, b = append(a, Share{r.IntN(10), 100}), append(b, Share{r.IntN(10) + i%3, 100})
	}
	if p, q := PermutedMore(b, a), PermutedMore(a, b); math.Abs(p+q-1) > 0.1 || p >= q {
		t.Errorf("got %g one way and %g the other", p, q)
	}
}

// The interval of a share is that of binom.test in R (Clopper and Pearson), and has the bounds that the test does not
// exclude.
func TestIntervalOfAShare(t *testing.T) {
	for _, tt := range []struct {
		share  Share
		lo, hi float64
	}{
		{Share{10, 100}, 0.0490047, 0.1762226},
		{Share{0, 100}, 0, 1 - math.Pow(0.025, 0.01)},
		{Share{7, 7}, math.Pow(0.025, 1./7), 1},
		{Share{0, 0}, 0, 1},
	} {
		lo, hi := tt.share.Interval(0.95)
		if math.Abs(lo-tt.lo) > 1e-6 || math.Abs(hi-tt.hi) > 1e-6 {
			t.Errorf("%v: got %g to %g, want %g to %g", tt.share, lo, hi, tt.lo, tt.hi)
		}
		for _, bound := range []float64{0, 1e-6, 0.01, 0.03, 0.04, 0.05, 0.1, 0.17, 0.18, 0.5, 0.59, 0.6, 1} {
			above, below := tt.share.Beyond(bound)
			if (above < 0.05) != (lo > bound) || (below < 0.05) != (hi < bound) {
				t.Errorf("%v beside %g: p %g and %g, interval %g to %g", tt.share, bound, above, below, lo, hi)
			}
		}
	}
}
