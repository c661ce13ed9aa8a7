package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
)

// A whereText sorts the strata of a contrast by what their intervals say: an average, or who is better by and large, is
// not what holds where the interval contains 1, or what waiting for a CPU may explain.
type whereText struct {
	best, other []advise.Stratum // where that level is the better one beyond doubt
	neither     []advise.Stratum // where no difference is shown
}

func (c LevelContrast) where() whereText {
	var w whereText
	most := max(1+1e-9, c.Wide) // more than rounding, where there is no spread, and than waiting makes
	for _, s := range c.knownStrata() {
		switch {
		case s.Lo > most:
			w.best = append(w.best, s)
		case s.Hi < 1/most:
			w.other = append(w.other, s)
		default:
			w.neither = append(w.neither, s)
		}
	}
	return w
}

// knownStrata are those that have a ratio, the least first.
func (c LevelContrast) knownStrata() []advise.Stratum {
	all := slices.DeleteFunc(slices.Clone(c.Strata), func(s advise.Stratum) bool { return math.IsNaN(s.Estimate) })
	slices.SortStableFunc(all, func(a, b advise.Stratum) int { return cmp.Compare(a.Estimate, b.Estimate) })
	return all
}

// strataText names strata, each with its ratio: "rest-json (1.300, 1.212 to 1.394), soap (…)".
func strataText(all []advise.Stratum) string {
	var parts []string
	for i, s := range all {
		if i == mostNames {
			return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), len(all)-mostNames)
		}
		within := withinStratum(s)
		if within != "" {
			within = ", " + within
		}
		parts = append(parts, fmt.Sprintf("%s (%s%s)", s.Name(), ratioText(s.Estimate), within))
	}
	return strings.Join(parts, ", ")
}

// withinStratum is the interval of a stratum's ratio; empty where its blocks have no spread. The answer may have the
// same two treatments with an interval, which rests on how all pairs spread.
func withinStratum(s advise.Stratum) string {
	if s.Lo == s.Hi {
		return ""
	}
	return ratioRange(s.Comparison)
}

// whichWhere says at which levels of the other factors a level is the better one, at which the other one is, and where
// no difference is shown.
func (c LevelContrast) whichWhere(p Panel, at string) string {
	w := c.where()
	if at != "" {
		at = " (" + strings.TrimPrefix(at, ", ") + ")"
	}
	rest := ""
	if len(w.neither) > 0 {
		beyond := ""
		if c.Wide > 1 {
			beyond = fmt.Sprintf(" beyond what waiting for a CPU may explain (a ratio of up to %s)", ratioText(c.Wide))
		}
		rest = "; no difference shown" + beyond + " at " + strataText(w.neither)
	}
	rest += "; ratios are " + c.ratioOf(p)
	do, ok := doings[p.Response]
	switch {
	case ok && len(w.other) == 0 && len(w.best) > 0:
		return fmt.Sprintf("%s %s %s than %s%s at %s%s.", c.best(), do.does, do.better, c.other(), at, strataText(w.best),
			rest)
	case ok && len(w.best) == 0 && len(w.other) > 0:
		return fmt.Sprintf("%s %s %s than %s%s at %s%s.", c.other(), do.does, do.better, c.best(), at, strataText(w.other),
			rest)
	}
	var where []string
	if len(w.best) > 0 {
		where = append(where, c.best()+" at "+strataText(w.best))
	}
	if len(w.other) > 0 {
		where = append(where, c.other()+" at "+strataText(w.other))
	}
	than := map[bool]string{true: "higher", false: "lower"}[moreIsBetter(p.Response)]
	return fmt.Sprintf("Which of %s and %s has the %s %s%s depends on the other factors: %s%s.", c.best(), c.other(), than,
		words(p.Response), at, strings.Join(where, "; the other way round, "), rest)
}
