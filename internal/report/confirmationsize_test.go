package report

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/advise/history"

	"edgegauge.example/edgegauge/internal/stat"
)

// Of equals a change is confirmed no more often than is said, though the number of blocks comes of what the blocks of a
// pilot spread by; and a change that is there is found as often as at the level of the t test that was taken before.
func TestAConfirmationErrsAsItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 15 s")
	}
	const detect, power = 0.05, 0.98
	for _, x := range []struct {
		words       string
		pilot, runs int
		sd          float64 // of a block's logarithm of new/old
		change      float64 // truth, new/old
		before      float64 // share of confirmations of a change, in %, at the stated level: at least
		least, most float64 // now
	}{
		{"equals", 10, 100_000, 0.042, 1, 0.15, 0, 0.125},
		{"equals, a wider spread", 10, 40_000, 0.06, 1, 0.11, 0, 0.125},
		{"equals, few blocks follow", 10, 100_000, 0.025, 1, 0, 0, 0.12},
		{"equals, pilot of 5", 5, 100_000, 0.03, 1, 0.18, 0, 0.12},
		{"1.03 times as much", 10, 4000, 0.042, 1.03, 60, 60, 100},
		{"1.05 times as much", 10, 4000, 0.042, 1.05, 93, 93, 100},
		{"1.1 times as much", 10, 4000, 0.042, 1.1, 98, 98, 100},
	} {
		r := rand.New(rand.NewPCG(30, 12))
		// confirmed runs a pilot, and as many blocks as its spread calls for.
		confirmed := func(level float64) (v history.Verdict, blocks int) {
			var old, new []float64
			ratio := func(n int) stat.Comparison {
				for range n {
					old, new = append(old, 1), append(new, x.change*math.Exp(x.sd*r.NormFloat64()))
				}
				c, err := stat.RatioOfBlocks(new, old, 1-level)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			c := ratio(x.pilot)
			n, err := stat.Blocks(c.SD(), float64(x.pilot-1), math.Log(1+detect), level, power)
			if err != nil {
				t.Fatal(err)
			}
			if n > x.pilot {
				c = ratio(n - x.pilot)
			}
			return history.Decide(c, detect, 1, false), len(old)
		}
		share := func(level float64) (changed, dismissed, blocks float64) {
			for range x.runs {
				v, n := confirmed(level)
				switch blocks += float64(n) / float64(x.runs); v {
				case history.Worse, history.Better:
					changed += 100 / float64(x.runs)
				case history.NotConfirmed:
					dismissed += 100 / float64(x.runs)
				}
			}
			return changed, dismissed, blocks
		}
		before, _, wanted := share(ConfirmedAt)
		now, dismissed, blocks := share(Confirms{Pilot: x.pilot}.JudgedAt())
		t.Logf("%s: a change is confirmed in %.3f %%, before in %.3f %%, after %.1f blocks, before %.1f; not confirmed in "+
			"%.1f %%", x.words, now, before, blocks, wanted, dismissed)
		if before < x.before || now < x.least || now > x.most || x.change >= 1+detect && dismissed > 3 {
			t.Errorf("%s: a change is confirmed in %.3f %%, before in %.3f %%; not confirmed in %.1f %%", x.words, now, before,
				dismissed)
		}
	}
}
