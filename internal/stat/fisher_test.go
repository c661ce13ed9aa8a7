package stat

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Fisher's exact test against its definition in exact rational numbers: of all ways
// to choose n of n+m, those in which at least a of the a+b are chosen.
func TestFisherIsExact(t *testing.T) {
	choose := func(n, k int) *big.Int { return new(big.Int).Binomial(int64(n), int64(k)) }
	exact := func(a, n, b, m int) float64 {
		sum := new(big.Int)
		for x := a; x <= a+b && x <= n; x++ {
			sum.Add(sum, new(big.Int).Mul(choose(a+b, x), choose(n+m-a-b, n-x)))
		}
		p, _ := new(big.Rat).SetFrac(sum, choose(n+m, n)).Float64()
		return p
	}
	same := func(a, n, b, m int) {
		want, got := exact(a, n, b, m), FisherMore(a, n, b, m)
		if math.Abs(got-want) > 1e-10*want || got < 0 || got > 1 {
			t.Errorf("%d of %d, %d of %d: got %.15g, want %.15g", a, n, b, m, got, want)
		}
	}
	for n := range 7 {
		for m := range 7 {
			for a := range n + 1 {
				for b := range m + 1 {
					same(a, n, b, m)
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(14, 1))
	for range 200 {
		n, m := 1+random.IntN(400), 1+random.IntN(400)
		same(random.IntN(n+1), n, random.IntN(m+1), m)
	}
	same(3, 8, 0, 8)       // a table of Fisher's kind, by hand: 56/560
	same(40, 5000, 4, 900) // shares as of failed requests
	if got := FisherMore(3, 8, 0, 8); math.Abs(got-0.1) > 1e-12 {
		t.Errorf("3 of 8 against 0 of 8: got %g, want 56/560", got)
	}
}
