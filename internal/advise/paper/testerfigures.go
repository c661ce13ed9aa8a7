package paper

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// ratio compares two selections, paired by block, averaged over strata on the
// log scale; where a value is not positive, their difference.
func (t *tester) ratio(a, b selection) Evidence { return losing(t.quotient, a, b) }

func (t *tester) quotient(a, b selection) Evidence {
	xs, ys := pairs(a, b)
	c, err := stat.RatioPaired(average(xs, geometric), average(ys, geometric), t.confidence)
	if errors.Is(err, stat.ErrSign) {
		return t.subtract(a, b)
	}
	f := figure("ratio", "", c, err, len(xs))
	if f.why == "" && (a.ticks() || b.ticks()) {
		off := offRatio(stepOf(xs, ys), xs, ys, [2]int{len(a.responses), len(b.responses)})
		f = f.stepped(len(xs), sameApart(xs, ys), off, t.confidence)
	}
	f = f.hiding(unseenRatio(a, b))
	if f.why == "" && len(a.scope.strata) > 1 {
		f.Strata = t.perStratum(a, b, geometric, stat.RatioPaired)
		f.why = disagreement(f.Strata)
	}
	return f
}

// boundless is f, undecided if it became a difference: the bounds of a ratio say nothing of one.
func (f Evidence) boundless() Evidence {
	if f.Kind == "difference" && f.why == "" {
		f.why = "a value is not above 0, so that there is no ratio to judge"
	}
	return f
}

// difference is a-b, paired by block, averaged over strata.
func (t *tester) difference(a, b selection) Evidence { return losing(t.subtract, a, b) }

func (t *tester) subtract(a, b selection) Evidence {
	xs, ys := pairs(a, b)
	both := [2][]float64{average(xs, arithmetic), average(ys, arithmetic)}
	c, err := stat.DifferencePaired(both[0], both[1], t.confidence)
	unit := t.claim.Unit
	if found := t.find(a.responses[0], a.scope.side); unit == "" && len(found) > 0 {
		unit = found[0].Unit
	}
	f := figure("difference", unit, c, err, len(xs))
	f.both = both
	if f.why == "" && (a.ticks() || b.ticks()) {
		off := offDifference(stepOf(xs, ys), [2]int{len(a.responses), len(b.responses)})
		f = f.stepped(len(xs), sameApart(xs, ys), off, t.confidence)
	}
	f = f.hiding(a.unseen(a.scope.strata) + b.unseen(b.scope.strata))
	if f.why == "" && len(a.scope.strata) > 1 {
		f.Strata = t.perStratum(a, b, arithmetic, stat.DifferencePaired)
	}
	return f
}

// spared is a difference as it may be where waiting for a CPU made either side up to wide times as long: the least and
// the greatest. ok is false where a value is not above 0, since waiting shortens nothing.
func (f Evidence) spared(wide float64) (least, most stat.Comparison, ok bool) {
	if f.Kind != "difference" || f.why != "" || slices.Min(slices.Concat(f.both[0], f.both[1])) <= 0 {
		return least, most, false
	}
	shorter := func(xs []float64) []float64 {
		out := make([]float64, len(xs))
		for i, x := range xs {
			out[i] = x / wide
		}
		return out
	}
	least, err := stat.DifferencePaired(shorter(f.both[0]), f.both[1], f.Confidence)
	if err == nil {
		most, err = stat.DifferencePaired(f.both[0], shorter(f.both[1]), f.Confidence)
	}
	return least, most, err == nil
}

func figure(kind, unit string, c stat.Comparison, err error, blocks int) Evidence {
	f := Evidence{Kind: kind, Unit: unit, Comparison: c}
	switch {
	case blocks == 0:
		f.Comparison, f.why = noRatio, "no block has valid trials of both"
	case blocks == 1:
		f.Comparison, f.why = noRatio, "one block shows no spread; run at least 2, preferably 10"
	case err != nil:
		f.Comparison, f.why = noRatio, err.Error()
	}
	return f
}

func average(rows [][]float64, how func([]float64) float64) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = how(r)
	}
	return out
}

func arithmetic(xs []float64) float64 {
	var sum float64
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// geometric is the least value where one is not positive: RatioPaired then says so.
func geometric(xs []float64) float64 {
	if least := slices.Min(xs); least <= 0 || len(xs) == 1 {
		return least
	}
	var sum float64
	for _, x := range xs {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(xs)))
}

// spread is the ratio of the standard deviations of trials, or of requests within them. How much those that failed
// would vary nobody knows.
func (t *tester) spread(a, b selection) Evidence {
	of := t.spreadOfTrials
	if t.paper.Spread == "within" {
		of = t.spreadWithin
	}
	f := of(a, b)
	if la, lb := a.loses(), b.loses(); la || lb {
		f.lost = []Evidence{{Comparison: noRatio, why: "requests failed"}}
	}
	return f
}

func (t *tester) spreadOfTrials(a, b selection) Evidence {
	var as, bs [][]float64
	for _, stratum := range a.scope.strata {
		va, vb := a.at(stratum), b.at(stratum)
		if len(va) > 0 && len(vb) > 0 {
			as, bs = append(as, inOrder(va)), append(bs, inOrder(vb))
		}
	}
	c, err := stat.SpreadRatio(as, bs, t.confidence)
	n := 2
	if len(as) == 0 {
		n = 0
	}
	f := figure("spread ratio", "", c, err, n)
	for i, rows := range [][][]float64{as, bs} { // what varies by less than a meter sees is not seen to
		hidden := []selection{a, b}[i].unseen(a.scope.strata)
		for _, xs := range rows {
			f = f.hiding(stat.LogOff([]float64{stat.SD(xs)}, hidden) / float64(len(rows)))
		}
	}
	return f
}

// spreadWithin is the ratio of the standard deviations of requests within
// trials, paired by block.
func (t *tester) spreadWithin(a, b selection) Evidence {
	a.within, b.within = true, true
	f := t.quotient(a, b)
	if f.Kind == "ratio" {
		f.Kind = "spread ratio"
	}
	return f
}

func inOrder(m map[int]float64) []float64 {
	var out []float64
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// slopes fits a line through a column's values in each block and stratum, both
// axes on the given scale, and averages over strata.
func (t *tester) slopes(s scope, column string, scale func(float64) float64) Evidence {
	var xs []float64
	var picks []selection
	for _, l := range t.paper.values(column) {
		if !t.has(column, l) {
			continue
		}
		x, err := number(l)
		if err != nil {
			return Evidence{Comparison: noRatio, why: err.Error()}
		}
		xs, picks = append(xs, scale(x)), append(picks, s.level(column, l))
	}
	if len(xs) < 2 {
		return Evidence{Comparison: noRatio, why: fmt.Sprintf("fewer than two levels of %s were measured", column)}
	}
	f := s.slopesOf(xs, picks, scale)
	for _, rises := range []bool{true, false} {
		put := slices.Clone(picks)
		for i := range put {
			put[i].atLimit = (xs[i] > arithmetic(xs)) == rises && put[i].loses()
		}
		if slices.ContainsFunc(put, func(p selection) bool { return p.atLimit }) {
			f.lost = append(f.lost, s.slopesOf(xs, put, scale))
		}
	}
	return f
}

func (s scope) slopesOf(xs []float64, picks []selection, scale func(float64) float64) Evidence {
	perBlock := map[int][]float64{}
	strata, unseen := 0, 0.0
	for _, stratum := range s.strata {
		at := make([]map[int]float64, len(picks))
		full := true
		for i, p := range picks {
			at[i] = p.at(stratum)
			full = full && len(at[i]) > 0
		}
		if !full {
			continue
		}
		strata++
		unseen += unseenSlope(xs, picks, stratum, scale)
		for block := range at[0] {
			if b, ok := slopeOf(xs, at, block, scale); ok {
				perBlock[block] = append(perBlock[block], b)
			}
		}
	}
	var slopes []float64
	for _, block := range slices.Sorted(maps.Keys(perBlock)) {
		if len(perBlock[block]) == strata {
			slopes = append(slopes, arithmetic(perBlock[block]))
		}
	}
	c, err := stat.One(slopes, s.t.confidence)
	f := figure("slope", "", c, err, len(slopes))
	if f.why == "" && slices.ContainsFunc(picks, selection.ticks) {
		f = f.stepped(len(slopes), false, offSlope(xs, picks, scale), s.t.confidence)
	}
	return f.hiding(unseen / float64(max(1, strata)))
}

// slopeOf is the least-squares slope in one block, if it has all levels.
func slopeOf(xs []float64, at []map[int]float64, block int, scale func(float64) float64) (float64, bool) {
	ys := make([]float64, len(xs))
	for i := range xs {
		y, ok := at[i][block]
		if ys[i] = scale(y); !ok || math.IsNaN(ys[i]) || math.IsInf(ys[i], 0) {
			return 0, false
		}
	}
	mx, my := arithmetic(xs), arithmetic(ys)
	var sxy, sxx float64
	for i := range xs {
		sxy += (xs[i] - mx) * (ys[i] - my)
		sxx += (xs[i] - mx) * (xs[i] - mx)
	}
	return sxy / sxx, sxx > 0
}
