package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A comparison sized by its own first blocks finds the difference it was sized for
// at least as often as promised, and calls equals different no more often than its
// level. compare --detect judges like this.
func TestSimulatedSize(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const alpha = 0.05
	// sized runs a pilot, then as many blocks as it says, whose effects spread by
	// blocks as trials do not.
	sized := func(r *rand.Rand, pilot int, spread, effect, power float64, noise func(*rand.Rand) float64) Comparison {
		var old, new []float64
		measure := func(n int) {
			for range n {
				block := 0.3 * r.NormFloat64()
				old = append(old, math.Exp(block+spread*noise(r)))
				new = append(new, math.Exp(block+effect+spread*noise(r)))
			}
		}
		measure(pilot)
		first := got(RatioPaired(new, old, 1-alpha))
		n := got(Blocks(first.SD(), first.DF, math.Log(1.05), alpha, power))
		measure(max(0, n-pilot))
		return got(RatioPaired(new, old, 1-alpha))
	}
	slower := func(c Comparison) bool { return c.Lo > 1 && !(c.Hi < 1.05) }
	normal := (*rand.Rand).NormFloat64
	humps := func(r *rand.Rand) float64 { // unit variance, two humps
		if r.Float64() < 0.3 {
			return 1.4 + 0.35*r.NormFloat64()
		}
		return -0.6 + 0.35*r.NormFloat64()
	}
	effect := math.Log(1.05)
	row := func(words string, low, high float64, pilot int, spread, effect, power float64, noise func(*rand.Rand) float64,
		says func(Comparison) bool, why string) simulation {
		return simulation{words, low, high, 8000, func(r *rand.Rand) bool {
			return says(sized(r, pilot, spread, effect, power, noise))
		}, why}
	}
	excluded := func(c Comparison) bool { return c.Hi < 1.05 }
	simulate(t, []simulation{
		row("sized for 5 %, power 80 %, pilot of 10: 5 % slower, worse", 80, 90, 10, 0.06, effect, 0.8, normal, slower,
			"power"),
		row("sized for 5 %, power 90 %, pilot of 10: 5 % slower, worse", 90, 97, 10, 0.06, effect, 0.9, normal, slower,
			"power"),
		row("sized for 5 %, power 80 %, pilot of 5: 5 % slower, worse", 80, 95, 5, 0.06, effect, 0.8, normal, slower,
			"power"),
		row("sized for 5 %, power 80 %, pilot of 10, two humps: 5 % slower, worse", 80, 92, 10, 0.06, effect, 0.8, humps,
			slower,
			"power"),
		row("sized for 5 %, power 80 %, pilot of 10: equals, worse", 0, 3, 10, 0.06, 0, 0.8, normal, slower,
			"one side of 5 %; that the pilot counts costs half a per cent"),
		row("sized for 5 %, power 80 %, pilot of 5: equals, worse", 0, 3.5, 5, 0.06, 0, 0.8, normal, slower, ""),
		row("sized for 5 %, power 80 %, pilot of 10, two humps: equals, worse", 0, 3, 10, 0.06, 0, 0.8, humps, slower, ""),
		row("sized for 5 %, power 80 %, pilot of 10: equals, good", 80, 90, 10, 0.06, 0, 0.8, normal, excluded,
			"as probable as finding the difference"),
		row("sized for 5 %, power 80 %, pilot of 10: 5 % slower, good", 0, 3, 10, 0.06, effect, 0.8, normal, excluded, ""),
	})
}

// n by hand: sd 0.1, df 9, 5 % at 0.05 and 0.8: (0.1·(2.262157+0.883404)/0.0487902)² = 41.57.
func TestBlocks(t *testing.T) {
	if n, err := Blocks(0.1, 9, math.Log(1.05), 0.05, 0.8); n != 42 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if n, err := Blocks(0, 9, 0.05, 0.05, 0.8); n != 2 || err != nil {
		t.Errorf("no spread: got %d, %v", n, err)
	}
	for _, bad := range [][5]float64{{0.1, 0, 0.05, 0.05, 0.8}, {0.1, 9, 0, 0.05, 0.8}, {0.1, 9, 0.05, 0.05, 0.4},
		{math.NaN(), 9, 0.05, 0.05, 0.8}, {10, 9, 0.0001, 0.05, 0.8}} {
		if n, err := Blocks(bad[0], bad[1], bad[2], bad[3], bad[4]); err == nil {
			t.Errorf("%v: got %d", bad, n)
		}
	}
}
