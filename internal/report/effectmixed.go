package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// analyze adds the analysis of variance. Where some treatments are measured and others modelled, there is none.
func (r *Report) analyze(e *Effects, t stat.Table, series []advise.Series) {
	if slices.ContainsFunc(series, func(s advise.Series) bool { return s.Modelled != series[0].Modelled }) {
		e.Warnings = append(e.Warnings, "no analysis of variance: some treatments are measured and others modelled, which "+
			"are not compared")
		return
	}
	a, err := stat.AnalyzeVariance(t, stat.AnovaOptions{Confidence: r.Study.Design.Confidence, Log: e.Log})
	if err != nil {
		e.Warnings = append(e.Warnings, err.Error())
		return
	}
	e.Anova = &a
	r.nameBlocks(a.Terms)
	for _, w := range a.Warnings {
		e.Warnings = append(e.Warnings, w.Error())
	}
}

// A levelFamily is levels of a factor that are compared with each other.
type levelFamily struct {
	factor string
	levels []string
}

// alikeLevels splits the levels of a factor into families: at the same levels of the other factors, those of one family
// are all measured, or all modelled.
func alikeLevels(series []advise.Series, factor string, names []string) []levelFamily {
	modelled := map[string]map[string]bool{} // by level, and by the levels of the other factors
	for _, s := range series {
		level := s.Level(factor)
		if modelled[level] == nil {
			modelled[level] = map[string]bool{}
		}
		modelled[level][s.Others(factor)] = s.Modelled
	}
	alike := func(a, b string) bool {
		for at, is := range modelled[a] {
			if other, ok := modelled[b][at]; ok && other != is {
				return false
			}
		}
		return true
	}
	var out []levelFamily
	for _, name := range names {
		i := slices.IndexFunc(out, func(f levelFamily) bool {
			return !slices.ContainsFunc(f.levels, func(level string) bool { return !alike(level, name) })
		})
		if i < 0 {
			out = append(out, levelFamily{factor, []string{name}})
			continue
		}
		out[i].levels = append(out[i].levels, name)
	}
	return out
}

// apartWords say which levels of a factor are not compared, since one is measured where the other is modelled.
func apartWords(families []levelFamily) []string {
	if len(families) < 2 {
		return nil
	}
	var groups []string
	for _, f := range families {
		groups = append(groups, strings.Join(f.levels, ", "))
	}
	return []string{fmt.Sprintf("levels of %s are not compared where one is measured and the other modelled: %s",
		families[0].factor, strings.Join(groups, " with "))}
}
