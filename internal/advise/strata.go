package advise

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// A Stratum is one combination of the levels of all other factors, and the
// ratio of two levels of a factor there.
type Stratum struct {
	Levels []string // of the other factors
	stat.Comparison
}

// Name is the stratum in words.
func (s Stratum) Name() string { return strings.Join(s.Levels, " ") }

// Strata compare level a of a factor with level b within each combination of the
// other factors that has both, paired by block, Bonferroni over the strata; wider where blocks follow each other.
func Strata(series []Series, factor, a, b string, confidence float64) []Stratum {
	type both struct{ sides [2]*Series }
	at := map[string]*both{}
	var order []string
	for i := range series {
		s := &series[i]
		side := slices.Index([]string{a, b}, s.Level(factor))
		if side < 0 || s.Floor || len(s.Trials) == 0 {
			continue
		}
		key := s.Others(factor)
		if at[key] == nil {
			at[key] = &both{}
			order = append(order, key)
		}
		at[key].sides[side] = s
	}
	order = slices.DeleteFunc(order, func(key string) bool { return at[key].sides[0] == nil || at[key].sides[1] == nil })
	var out []Stratum
	for _, key := range order {
		x := Stratum{Levels: strings.Split(key, "\x00"),
			Comparison: stat.Comparison{Estimate: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN()}}
		xs, ys, err := blocks(*at[key].sides[0], *at[key].sides[1], "mean")
		if err == nil {
			if c, err := stat.RatioOfManyBlocks(xs, ys, 1-(1-confidence)/float64(len(order))); err == nil {
				x.Comparison = c.Hiding(xs, ys, at[key].sides[0].Unseen, at[key].sides[1].Unseen)
			}
		}
		out = append(out, x)
	}
	return out
}

// Disagree reports whether the strata turn the ratio round: some have it above
// 1 and others below, and their intervals lie apart. Then no average over them
// says which level is better (a qualitative interaction, Gail & Simon 1985).
func Disagree(strata []Stratum) bool {
	lo, hi, ok := extremes(strata)
	return ok && lo.Estimate < 1 && hi.Estimate > 1 && below(lo, hi)
}

// below reports whether all of one interval lies below the other, by more than rounding: what has no
// spread has no width.
func below(lo, hi Stratum) bool { return lo.Hi*(1+1e-9) < hi.Lo }

// Differ reports whether the intervals of two strata lie apart: an average over
// them holds for neither.
func Differ(strata []Stratum) bool {
	lo, hi, ok := extremes(strata)
	return ok && below(lo, hi)
}

// extremes are the strata with the least and the largest ratio.
func extremes(strata []Stratum) (lo, hi Stratum, ok bool) {
	known := slices.DeleteFunc(slices.Clone(strata), func(s Stratum) bool { return math.IsNaN(s.Estimate) })
	if len(known) < 2 {
		return lo, hi, false
	}
	by := func(a, b Stratum) int { return cmp.Compare(a.Estimate, b.Estimate) }
	return slices.MinFunc(known, by), slices.MaxFunc(known, by), true
}

// Alike is the p of the answer that the ratio lies within (lo, hi) in every
// stratum, by two one-sided tests in each: 1 where one of them cannot tell.
func Alike(strata []Stratum, lo, hi float64) float64 {
	if len(strata) == 0 {
		return 1
	}
	worst := 0.0
	for _, s := range strata {
		inside, _, err := s.Between(lo, hi)
		if err != nil || math.IsNaN(s.Estimate) {
			return 1
		}
		worst = max(worst, inside)
	}
	return worst
}

// ErrIncomplete says that some level of a factor was not run in some stratum.
var ErrIncomplete = errors.New("some combinations of levels were not run")

// Levels compares every pair of a factor's levels at once: the geometric mean
// over all strata, paired by block. Every stratum needs every level.
func Levels(series []Series, factor string, levels []string, confidence float64) (*stat.AllPairs, error) {
	at := make([]map[string]map[int]float64, len(levels)) // level, stratum, block
	blocksOf := map[int]bool{}
	strata := map[string]bool{}
	unseen := make([]float64, len(levels)) // of logarithms, the sum over strata
	for i := range levels {
		at[i] = map[string]map[int]float64{}
	}
	for _, s := range series {
		i := slices.Index(levels, s.Level(factor))
		if i < 0 || s.Floor || len(s.Trials) == 0 {
			continue
		}
		own := map[int]float64{}
		for _, t := range s.Trials {
			own[t.Block], blocksOf[t.Block] = t.Mean, true
		}
		at[i][s.Others(factor)] = own
		strata[s.Others(factor)] = true
		unseen[i] += s.logUnseen()
	}
	var order []int
	for b := range blocksOf {
		order = append(order, b)
	}
	slices.Sort(order)
	keys := slices.Sorted(maps.Keys(strata)) // so that sums are the same to the last digit
	rows := make([][]float64, len(levels))
	for i := range levels {
		if len(at[i]) != len(strata) {
			return nil, ErrIncomplete
		}
		for _, b := range order {
			sum := 0.0
			for _, key := range keys {
				v, ok := at[i][key][b]
				if !ok || v <= 0 {
					v = math.NaN()
				}
				sum += math.Log(v)
			}
			rows[i] = append(rows[i], math.Exp(sum/float64(len(strata))))
		}
	}
	pairs, err := stat.NewAllPairs(rows, confidence)
	if err == nil {
		hidden := make([]float64, len(levels))
		for i, row := range rows {
			known := slices.DeleteFunc(slices.Clone(row), math.IsNaN)
			hidden[i] = stat.OffOfLog(known, unseen[i]/float64(len(strata)))
		}
		pairs.Hide(hidden)
	}
	return pairs, err
}
