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
	alike := alikeBlocks(blocks)
	for x, p := range alike {
		for y, q := range alike[x:] {
			common := p.common(q)
			if common == 0 {
				continue
			}
			of, beside := p.sums(blocks, q), q.sums(blocks, p)
			for m, i := range p.blocks {
				for n, j := range q.blocks {
					switch difference := beside[n] - of[m]; {
					case j > i:
						k.count(difference, rounding*common)
					case j < i && y > 0: // else j has met i
						k.count(-difference, rounding*common)
					}
				}
			}
		}
	}
	var equal, shared float64 // three times the sums of covariances, of both kinds
	for _, p := range alike {
		for _, i := range p.blocks {
			var others, signed float64
			of := make([]float64, len(p.has))
			for _, q := range alike {
				common := p.common(q)
				if common == 0 {
					continue
				}
				before, itself := slices.BinarySearch(q.blocks, i)
				after := len(q.blocks) - before
				if itself {
					after--
				}
				others, signed = others+float64(before+after), signed+float64(after-before)
				for t := range of {
					of[t] += float64(after-before) / math.Sqrt(common) * one(p.has[t] && q.has[t])
				}
			}
			equal += signed*signed - others
			shared += dot(of, of) - others
		}
	}
	k.variance = k.pairs + max(equal, shared)/3
	return k
}

// alike are blocks, by their places, that have the same treatments: there are few kinds, and many blocks of each.
type alike struct {
	has    []bool
	blocks []int // ascending
}

func alikeBlocks(blocks [][]float64) []alike {
	var out []alike
	for i, b := range blocks {
		has := make([]bool, len(b))
		for t, y := range b {
			has[t] = !math.IsNaN(y)
		}
		at := slices.IndexFunc(out, func(x alike) bool { return slices.Equal(x.has, has) })
		if at < 0 {
			at, out = len(out), append(out, alike{has: has})
		}
		out[at].blocks = append(out[at].blocks, i)
	}
	return out
}

// common is how many treatments both have.
func (x alike) common(with alike) (n float64) {
	for t := range x.has {
		n += one(x.has[t] && with.has[t])
	}
	return n
}

// sums are those of the treatments that others have, too, of each block.
func (x alike) sums(blocks [][]float64, with alike) []float64 {
	out := make([]float64, len(x.blocks))
	for k, i := range x.blocks {
		for t, y := range blocks[i] {
			if x.has[t] && with.has[t] {
				out[k] += y
			}
		}
	}
	return out
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
