package advise

import (
	"maps"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// Marginal compares two levels of a factor over all else: the ratio of a to b,
// paired by block, averaged over the treatments that differ in nothing but the
// factor (geometric mean); wider where blocks follow each other. Series are of one response and side.
func Marginal(series []Series, factor, a, b string, confidence float64) (stat.Comparison, error) {
	xs, ys, unseen := marginal(series, factor, a, b)
	c, err := stat.RatioOfManyBlocks(xs, ys, confidence)
	if err == nil && slices.ContainsFunc(series, func(s Series) bool { return s.Ticks }) {
		c = c.OfClock(xs, ys, stepOf(series))
	}
	return c.Hiding(xs, ys, stat.OffOfLog(xs, unseen[0]), stat.OffOfLog(ys, unseen[1])), err
}

// stepOf is the largest step of the clocks of series; 0: that of one is not known.
func stepOf(series []Series) float64 {
	most := 0.0
	for _, s := range series {
		if !(s.Step > 0) {
			return 0
		}
		most = max(most, s.Step)
	}
	return most
}

// marginal is the geometric mean in each block that has all strata of both, and by how much the logarithm of each side
// may be off: see logUnseen.
func marginal(series []Series, factor, a, b string) (xs, ys []float64, unseen [2]float64) {
	strata := map[string][2]*Series{}
	for i := range series {
		s := &series[i]
		side := slices.Index([]string{a, b}, s.Level(factor))
		if side < 0 || s.Floor || len(s.Trials) == 0 {
			continue
		}
		pair := strata[s.Others(factor)]
		pair[side] = s
		strata[s.Others(factor)] = pair
	}
	maps.DeleteFunc(strata, func(_ string, p [2]*Series) bool { return p[0] == nil || p[1] == nil })
	sums := map[int]*[2]float64{}
	counts := map[int]int{}
	for _, key := range slices.Sorted(maps.Keys(strata)) {
		p := strata[key]
		for side := range unseen {
			unseen[side] += p[side].logUnseen() / float64(len(strata))
		}
		other := map[int]float64{}
		for _, t := range p[1].Trials {
			other[t.Block] = t.Mean
		}
		for _, t := range p[0].Trials {
			y, ok := other[t.Block]
			if !ok {
				continue
			}
			if sums[t.Block] == nil {
				sums[t.Block] = new([2]float64)
			}
			sums[t.Block][0] += math.Log(t.Mean) // NaN or -Inf where there is no ratio, which is refused then
			sums[t.Block][1] += math.Log(y)
			counts[t.Block]++
		}
	}
	for _, block := range slices.Sorted(maps.Keys(sums)) {
		if n := float64(len(strata)); counts[block] == len(strata) {
			xs, ys = append(xs, math.Exp(sums[block][0]/n)), append(ys, math.Exp(sums[block][1]/n))
		}
	}
	return xs, ys, unseen
}

// Others is the treatment without a factor: the levels of the other factors as one text.
func (s Series) Others(factor string) string {
	var parts []string
	for i, f := range s.Factors {
		if f != factor {
			parts = append(parts, s.Levels[i])
		}
	}
	return strings.Join(parts, "\x00")
}
