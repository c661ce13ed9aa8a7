package paper

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// A clock, or a meter, shows its steps: trials that are all alike have a spread that it does not show, and each value
// is off by a step at most. So a figure without spread that is measured, and not counted, decides nothing by fewer
// than six blocks. Within its steps of where both sides are equal the blocks are counted: that all of n lie on one
// side has a p of 2^(1-n), as of tosses of a coin that all fall alike. Within its steps of another bound nothing is
// decided at all, and however large the spread: two times that are read by one clock have the right order, and not the
// right ratio.

// stepped notes by how much the steps of a clock may have shifted f, the logarithm of a ratio, else in its unit; and
// whether it has no spread: no interval, or differences that are alike in all blocks. Of too few of these it decides
// nothing.
func (f Evidence) stepped(blocks int, alike bool, off, confidence float64) Evidence {
	if f.why != "" {
		return f
	}
	if f.off = off; f.Lo != f.Hi && !alike {
		return f
	}
	f.alike = blocks
	if least := stepsNeed(1 - confidence); blocks < least {
		f.why = fmt.Sprintf("no trial differs from its fellows, as where a clock ticks: such a figure is decided by %d "+
			"blocks at the least, and there are %d", least, blocks)
	}
	return f
}

// hiding notes by how much f may be off besides, in all blocks alike and on the scale of stepped: its interval is as
// much wider, and also the order of the sides is in doubt.
func (f Evidence) hiding(off float64) Evidence {
	switch {
	case !(off > 0):
		return f
	case f.Kind == "ratio" || f.Kind == "spread ratio":
		f.Lo, f.Hi = f.Lo*math.Exp(-off), f.Hi*math.Exp(off)
	default:
		f.Lo, f.Hi = f.Lo-off, f.Hi+off
	}
	f.off, f.apart = f.off+off, true
	return f
}

// stepsNeed is how many blocks that are all alike decide at a level.
func stepsNeed(alpha float64) int {
	n := 2
	for math.Pow(2, float64(1-n)) >= alpha && n < Practical {
		n++
	}
	return n
}

// chance is the p below which no answer of f lies that it is beyond a bound: upwards, or downwards.
func (f Evidence) chance(bound float64, up bool) float64 {
	if far := f.shifted(bound, up); f.alike == 0 || up && f.Estimate > far || !up && f.Estimate < far {
		return 0
	}
	return math.Pow(2, float64(1-f.alike))
}

// farther is a bound beyond which f lies whatever the steps of its clock hide: upwards, or downwards.
func (f Evidence) farther(bound float64, up bool) float64 {
	if f.ordered(bound) {
		return bound
	}
	return f.shifted(bound, up)
}

// ordered reports whether a bound only says which of two sides that one clock shows is the greater.
func (f Evidence) ordered(bound float64) bool {
	return bound == f.even() && f.Kind != "share" && !f.apart
}

// hidden reports whether the steps of a clock leave open on which side of a bound f lies, however many blocks there
// are.
func (f Evidence) hidden(bounds []float64) bool {
	return slices.ContainsFunc(bounds, func(b float64) bool {
		return !f.ordered(b) && f.Estimate > f.shifted(b, false) && f.Estimate < f.shifted(b, true)
	})
}

// shifted is a bound by as much further as the steps of a clock may have shifted f.
func (f Evidence) shifted(bound float64, up bool) float64 {
	off := f.off
	if !up {
		off = -off
	}
	if f.Kind == "ratio" || f.Kind == "share" || f.Kind == "spread ratio" {
		return bound * math.Exp(off)
	}
	return bound + off
}

// sameApart reports whether two sides differ by the same in all blocks.
func sameApart(xs, ys [][]float64) bool {
	const rounding = 1e-9
	first := math.NaN()
	for i := range xs {
		x, y := arithmetic(xs[i]), arithmetic(ys[i])
		if i == 0 {
			first = x - y
		}
		if math.Abs(x-y-first) > rounding*max(math.Abs(x), math.Abs(y)) {
			return false
		}
	}
	return len(xs) > 0
}

// offRatio is by how much the steps of a clock may have shifted the logarithm of a ratio of values that are sums of so
// many readings; offDifference that of a difference.
func offRatio(step float64, xs, ys [][]float64, readings [2]int) float64 {
	least := func(rows [][]float64) float64 { return slices.Min(slices.Concat(rows...)) }
	return math.Log1p(float64(readings[0])*step/least(xs)) + math.Log1p(float64(readings[1])*step/least(ys))
}

func offDifference(step float64, readings [2]int) float64 {
	return float64(readings[0]+readings[1]) * step
}

// offSlope is by how much those steps may have shifted the slope of a line through values at xs, both on a scale: each
// is off by one, in the direction that tilts the line the most.
func offSlope(xs []float64, picks []selection, scale func(float64) float64) float64 {
	var ys []float64
	for _, p := range picks {
		for _, stratum := range p.scope.strata {
			for _, v := range p.at(stratum) {
				ys = append(ys, v)
			}
		}
	}
	if len(ys) == 0 {
		return 0
	}
	step, least := stat.StepOf(ys), slices.Min(ys)
	off := math.Abs(scale(least+step) - scale(least))
	tilt := 0.0
	for _, t := range tilts(xs) {
		tilt += t
	}
	return off * tilt
}

// stepOf is the largest step that the clock can have that gave the values.
func stepOf(rows ...[][]float64) float64 {
	return stat.StepOf(slices.Concat(slices.Concat(rows...)...))
}

// unseen is by how much what a selection stands for may be off in all blocks alike, in one of some strata: see
// advise.Series.Unseen.
func (s selection) unseen(strata []map[string]string) (most float64) {
	for _, x := range s.series(strata) {
		most = max(most, x.Unseen)
	}
	return most * float64(len(s.responses))
}

// unseenRatio is by how much that may shift the logarithm of a ratio, averaged over strata: what is little of the
// largest may be much of the smallest.
func unseenRatio(a, b selection) (off float64) {
	strata := 0.0
	for i, x := range a.scope.strata {
		one := a.scope.strata[i : i+1]
		if va, vb := inOrder(a.at(x)), inOrder(b.at(x)); len(va) > 0 && len(vb) > 0 {
			off += stat.LogOff(va, a.unseen(one)) + stat.LogOff(vb, b.unseen(one))
			strata++
		}
	}
	return off / max(1, strata)
}

// unseenSlope is by how much it may shift the slope of a line through values at xs in a stratum, both on a scale.
func unseenSlope(xs []float64, picks []selection, stratum map[string]string,
	scale func(float64) float64) (off float64) {
	weights := tilts(xs)
	for i, p := range picks {
		if unseen := p.unseen([]map[string]string{stratum}); unseen > 0 {
			at := arithmetic(inOrder(p.at(stratum)))
			by := scale(at) - scale(at-unseen)
			if math.IsNaN(by) {
				by = math.Inf(1)
			}
			off += by * weights[i]
		}
	}
	return off
}

// tilts are by how much the slope of a line through values at xs changes at most with each of them.
func tilts(xs []float64) []float64 {
	mx, sxx := arithmetic(xs), 0.0
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i], sxx = math.Abs(x-mx), sxx+(x-mx)*(x-mx)
	}
	for i := range out {
		out[i] /= sxx
	}
	return out
}

// ticks reports whether a clock or a meter gave what a selection stands for, and not counting.
func (s selection) ticks() bool {
	return slices.ContainsFunc(s.series(s.scope.strata), func(x advise.Series) bool { return x.Ticks })
}
