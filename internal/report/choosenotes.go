package report

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
)

// ChoiceNotes say where the figures of a choice are not the means that were asked for, or not those of the report.
func (r *Report) ChoiceNotes(l Level, asked []advise.Objective, c advise.Choice) []string {
	var out []string
	for i, o := range asked {
		if why := l.medianWhy(o.Term); !o.Named && why != "" && c.Objectives[i].Figure == "median" {
			out = append(out, fmt.Sprintf("%s: medians, as in the report, since %s", c.Objectives[i].Term, why))
		}
	}
	if len(c.Candidates) == 0 {
		return out
	}
	for i, k := range c.Candidates[0].Checks {
		var names []string
		for _, x := range c.Candidates {
			if text := r.shownOtherwise(x.Levels, x.Checks[i].Figure, k.Requirement.Named); text != "" {
				names = append(names, x.Name+" "+text)
			}
		}
		of := ""
		if k.Requirement.Figure != "mean" {
			of = " of the trials' " + k.Requirement.Figure
		}
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: the value is the mean%s, which a requirement is held against; the report "+
				"shows the median%[2]s: %[3]s", k.Requirement.Text, of, list(names, mostNames)))
		}
	}
	return out
}

// shownOtherwise is what the report shows in the place of a figure of a requirement, where that reads otherwise.
func (r *Report) shownOtherwise(levels []string, f advise.Estimate, named bool) string {
	i := slices.IndexFunc(r.Treatments, func(t Treatment) bool { return slices.Equal(t.Levels, levels) })
	cell, ok := r.Cell(i, f.Side, f.Response)
	if !ok || len(f.Values) == 0 {
		return ""
	}
	shows := cell.Headline().Center
	switch {
	case f.Figure == "p95":
		shows = cell.P95
	case f.Figure == "median":
		shows = cell.Median.Center
	case named || !cell.ByMedian:
		return ""
	}
	if text := Format(shows, f.Unit); text != Format(f.Center.Center, f.Unit) {
		return text
	}
	return ""
}
