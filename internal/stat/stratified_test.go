package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The exact test of strata against its definition in exact rational numbers: of all ways in which the hits of each
// stratum may lie, those of which the new sides have as many. Of one stratum it is Fisher's.
func TestStratifiedIsExact(t *testing.T) {
	ways := func(n, k int) *big.Int { // Binomial(n, k) is not 0 where k is above n
		if k < 0 || k > n {
			return big.NewInt(0)
		}
		return new(big.Int).Binomial(int64(n), int64(k))
	}
	r := rand.New(rand.NewPCG(17, 1))
	for range 200 {
		var now, before []Share
		of, seen := []*big.Int{big.NewInt(1)}, 0 // ways by the sum of hits
		for range 1 + r.IntN(5) {
			n, m := 1+r.IntN(6), 1+r.IntN(6)
			a, b := r.IntN(n+1), r.IntN(m+1)
			now, before, seen = append(now, Share{a, n}), append(before, Share{b, m}), seen+a
			next := make([]*big.Int, len(of)+n)
			for i := range next {
				next[i] = new(big.Int)
			}
			for sum, w := range of {
				for x := range n + 1 {
					both := new(big.Int).Mul(ways(n, x), ways(m, a+b-x))
					next[sum+x].Add(next[sum+x], both.Mul(both, w))
				}
			}
			of = next
		}
		all, more := new(big.Int), new(big.Int)
		for sum, w := range of {
			if all.Add(all, w); sum >= seen {
				more.Add(more, w)
			}
		}
		want, _ := new(big.Rat).SetFrac(more, all).Float64()
		if got := StratifiedMore(now, before); math.Abs(got-want) > 1e-10 {
			t.Fatalf("%v, %v: got %g, want %g", now, before, got, want)
		}
		a, b := now[0], before[0]
		one, fisher := StratifiedMore(now[:1], before[:1]), FisherMore(a.Hits, a.N, b.Hits, b.N)
		if math.Abs(one-fisher) > 1e-10 {
			t.Fatalf("%v, %v: got %g, want Fisher's %g", a, b, one, fisher)
		}
	}
	many := []Share{{5_000, 100_000}, {4_000, 100_000}, {3_000, 100_000}}
	few := []Share{{4_900, 100_000}, {3_950, 100_000}, {2_950, 100_000}}
	// its normal approximation, of 100 more hits than expected
	v := 0.0
	for i := range many {
		h, n := float64(many[i].Hits+few[i].Hits), 200_000.0
		v += h * (n - h) / (4 * (n - 1))
	}
	if got, want := StratifiedMore(many, few), normalUpper((100-0.5)/math.Sqrt(v)); math.Abs(got/want-1) > 1e-3 {
		t.Errorf("many hits: got %g, want %g", got, want)
	}
	if got := StratifiedMore([]Share{{900, 1000}}, []Share{{0, 1000}}); !(got > 0 && got < 1e-17) {
		t.Errorf("beyond all doubt: got %g", got)
	}
}

// Units dealt within strata: p is that of all deals, whatever the strata differ by, and of equal sides it is below a
// level as often as the level says, though hits of a unit come together.
func TestPermutedWithin(t *testing.T) {
	unit := func(hits ...int) []Share {
		var out []Share
		for _, h := range hits {
			out = append(out, Share{h, 100})
		}
		return out
	}
	for _, tt := range []struct {
		what     string
		new, old [][]Share
		want     float64
	}{
		{"one stratum of 3", [][]Share{unit(5, 6, 7)}, [][]Share{unit(0, 0, 1)}, 1. / 20},
		{"two strata of 3", [][]Share{unit(5, 6, 7), unit(60, 50, 70)}, [][]Share{unit(0, 0, 1), unit(30, 31, 32)}, 1. / 400},
		{"one says nothing", [][]Share{unit(5, 6, 7), unit(0, 0, 0)}, [][]Share{unit(0, 0, 1), unit(0, 0, 0)}, 1. / 20},
		{"a difference of strata is none", [][]Share{unit(50, 50), unit(1, 1)}, [][]Share{unit(50, 50), unit(1, 1)}, 1},
		{"fewer", [][]Share{unit(0, 0, 1)}, [][]Share{unit(5, 6, 7)}, 1},
		{"no old side", [][]Share{unit(5)}, [][]Share{nil}, 1},
	} {
		if got := PermutedWithin(tt.new, tt.old); math.Abs(got-tt.want) > 0.1*tt.want {
			t.Errorf("%s: got %g, want %g", tt.what, got, tt.want)
		}
	}
	r := rand.New(rand.NewPCG(17, 2))
	const repeats = 4000
	below := 0
	for range repeats {
		var new, old [][]Share
		for stratum := range 6 {
			draw := func() (out []Share) {
				for range 3 {
					hits := r.IntN(3)
					if r.IntN(3) == 0 {
						hits = 10 * stratum * r.IntN(2)
					}
					out = append(out, Share{hits, 100})
				}
				return out
			}
			new, old = append(new, draw()), append(old, draw())
		}
		if PermutedWithin(new, old) < 0.05 {
			below++
		}
	}
	if t.Logf("below 5 %% in %.2f %%", 100*float64(below)/repeats); math.Abs(float64(below)/repeats-0.05) > 0.016 {
		t.Errorf("below 5 %% in %d of %d", below, repeats)
	}
}
