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
		alpha := AfterPilot(alpha, pilot)
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
		row("sized for 5 %, power 80 %, pilot of 10: equals, worse", 0, 2.5, 10, 0.06, 0, 0.8, normal, slower,
			"one side of 5 %; the level allows for the pilot"),
		row("sized for 5 %, power 80 %, pilot of 5: equals, worse", 0, 2.5, 5, 0.06, 0, 0.8, normal, slower, ""),
		row("sized for 5 %, power 80 %, pilot of 10, two humps: equals, worse", 0, 2.5, 10, 0.06, 0, 0.8, humps, slower, ""),
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

// Of equals, no more are told apart than the level says, though the number of blocks comes of what a pilot spreads by;
// of two results alike, which are extended by as many trials as they call for.
func TestSimulatedPilots(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const alpha, power, runs = 0.05, 0.8, 8000
	for _, paired := range []bool{true, false} {
		for _, pilot := range []int{3, 5, 10, 20} {
			for _, spread := range []float64{0.01, 0.02, 0.03, 0.045, 0.06, 0.1} {
				r := rand.New(rand.NewPCG(uint64(pilot), uint64(1e4*spread)))
				ratio := RatioWelch
				if paired {
					ratio = RatioPaired
				}
				told := func(level float64) (rate float64) {
					for range runs {
						old, new := lognormal(r, pilot, 1, spread), lognormal(r, pilot, 1, spread)
						first := got(ratio(new, old, 1-level))
						n := got(Blocks(first.SD(), first.DF, math.Log(1.05), level, power))
						old = append(old, lognormal(r, max(0, n-pilot), 1, spread)...)
						new = append(new, lognormal(r, max(0, n-pilot), 1, spread)...)
						if got(ratio(new, old, 1-level)).P < level {
							rate += 100.0 / runs
						}
					}
					return rate
				}
				before, now := told(alpha), told(AfterPilot(alpha, pilot))
				t.Logf("paired %v, pilot of %d, spread %g %%: %.1f → %.1f %%", paired, pilot, 100*spread, before, now)
				if now > 5+4*math.Sqrt(5*95.0/runs) {
					t.Errorf("paired %v, pilot of %d, spread %g %%: %.1f %% of equals are told apart", paired, pilot, 100*spread, now)
				}
			}
		}
	}
}
