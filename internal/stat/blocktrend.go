package stat

import (
	"fmt"
	"math"
	"slices"
)

// trendOfBlocks tests whether blocks rise or fall in their order of appearance: Trend of their means where all have the
// same treatments. Where they lack some, means differ by what is lacking: two blocks are then compared by the
// treatments that both have, and not at all if they have none in common. So the effects of treatments cancel, and need
// no estimate, whose error would be the same in all blocks that share a treatment. The size is that of the values.
func trendOfBlocks(t Table, size float64) (Test, error) {
	blocks := t.byBlock()
	if !slices.ContainsFunc(blocks, func(b []float64) bool { return slices.ContainsFunc(b, math.IsNaN) }) {
		return trendOf(meansOf(blocks), size)
	}
	if len(blocks) < 4 {
		return Test{}, fmt.Errorf("%w: %d blocks are too few to show a trend; give at least 4", ErrTooFew, len(blocks))
	}
	k := scoreOfBlocks(blocks, roundingOf(size))
	if k.pairs == k.tied {
		return Test{}, fmt.Errorf("%w: no two blocks differ in a treatment that both have", ErrNoSpread)
	}
	got := k.test("normal approximation over pairs of blocks, by the treatments that both have, corrected for continuity")
	got.P = min(1, 2*normalUpper(max(0, math.Abs(k.score)-1)/math.Sqrt(k.variance))) // as in trendWithin
	return got, nil
}

// byBlock has a row a block, in order of appearance, and a column a treatment; NaN where a block lacks it.
func (t Table) byBlock() [][]float64 {
	treatments := t.treatments()
	column := map[string]int{}
	for i, x := range treatments {
		column[pack(x.levels)] = i
	}
	var blocks [][]float64
	place := map[string]int{}
	for _, r := range t.Rows {
		at, ok := place[r.Block]
		if !ok {
			at = len(blocks)
			place[r.Block] = at
			blocks = append(blocks, slices.Repeat([]float64{math.NaN()}, len(treatments)))
		}
		blocks[at][column[pack(r.Levels)]] = r.Y
	}
	return blocks
}

func meansOf(blocks [][]float64) []float64 {
	out := make([]float64, len(blocks))
	for i, b := range blocks {
		out[i] = meanOf(slices.Sorted(slices.Values(b))) // or the same values in another order have another last digit
	}
	return out
}

// trendOf is Trend of values that rounding alone may part, as the means of blocks whose values are the same.
func trendOf(xs []float64, size float64) (Test, error) {
	if len(xs) > 0 {
		if lo, hi := extremes(xs); hi-lo <= roundingOf(size) {
			return Test{}, noSpread(len(xs), xs[0])
		}
	}
	return Trend(xs)
}

// scoreOfBlocks is the score of blocks of which each pair is compared by the treatments C that both have; pairs that
// differ by rounding alone are tied.
//
// Equations: the score is Σ z(i,j) over the pairs of blocks i < j, z the sign of their difference. Without a trend z
// has the mean 0 and the variance 1, and z of pairs without a block in common are independent. Those with one are
// taken to have the correlation (2/3)·r, r that of the differences: for normal values it is (2/π)·asin r (Sheppard
// 1899), and r is 1/2 at most, where both agree; below, it is 5 % too much at most. If blocks vary more than the
// trials in them, r is 1/2, as of complete blocks, which gives Kendall's variance; if they vary no more than their
// trials make them, r = |C∩C'|/(2·√(|C||C'|)). The larger of the two variances is taken.
func scoreOfBlocks(blocks [][]float64, rounding float64) kendall {
	var k kendall
	var equal, shared float64 // three times the sums of covariances, of both kinds
	for i, a := range blocks {
		var others, signed float64
		of := make([]float64, len(a))
		for j, b := range blocks {
			common, difference := differ(a, b)
			if i == j || common == 0 {
				continue
			}
			after := 1.0
			if j < i {
				after = -1
			}
			others, signed = others+1, signed+after
			for t := range a {
				of[t] += after / math.Sqrt(common) * one(!math.IsNaN(b[t]-a[t]))
			}
			if j > i {
				k.count(difference, rounding*common)
			}
		}
		equal += signed*signed - others
		shared += dot(of, of) - others
	}
	k.variance = k.pairs + max(equal, shared)/3
	return k
}

// count adds a pair to a score.
func (k *kendall) count(difference, rounding float64) {
	k.pairs++
	switch {
	case math.Abs(difference) <= rounding:
		k.tied++
	case difference > 0:
		k.score++
	default:
		k.score--
	}
}

// differ is how many treatments two blocks have in common, and the sum of what b has more of them.
func differ(a, b []float64) (common, difference float64) {
	for t, y := range b {
		if d := y - a[t]; !math.IsNaN(d) {
			common, difference = common+1, difference+d
		}
	}
	return common, difference
}
