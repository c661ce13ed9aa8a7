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
