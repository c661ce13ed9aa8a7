package report

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// ChoiceNotes say where the figures of a choice are not the means that were asked for, or not those of the report.
func (r *Report) ChoiceNotes(l Level, asked []advise.Objective, c advise.Choice) []string {
	var out []string
	for i, o := range asked {
		if why := l.medianWhy(o.Term); !o.Named && why != "" && c.Objectives[i].Figure == "median" {
			out = append(out, fmt.Sprintf("%s: medians, as in the report, since %s", c.Objectives[i].Term, why))
		}
		out = append(out, medianNotes(c, i)...)
	}
	if len(c.Candidates) == 0 {
		return out
	}
	out = append(out, r.sentNotes(c)...)
	out = append(out, amongAllNotes(c)...)
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
	return slices.Concat(out, answeredNotes(c), togetherNotes(c))
}

// sentNotes say which objectives are times since a request was sent where requests were due at a rate: the report ranks
// by the response time then.
func (r *Report) sentNotes(c advise.Choice) []string {
	var at []int
	for _, x := range c.Candidates {
		at = append(at, slices.IndexFunc(r.Treatments, func(t Treatment) bool {
			return slices.Equal(t.Levels, x.Levels)
		}))
	}
	if !r.atRate(at) || r.timeOf(at) != "response_time" {
		return nil
	}
	var out []string
	for i, o := range c.Objectives {
		if slices.Contains([]string{"rtt", "total_time"}, o.Response) &&
			c.Candidates[0].Objectives[i].Side == measure.Client {
			out = append(out, fmt.Sprintf("%s: without the wait of requests that were due, for a free connection or "+
				"for the client; response_time has it, and the report ranks by that", o.Term))
		}
	}
	return out
}

// togetherNotes say which requirements are met as far as the requests of a trial fail independently of each other: of
// those that fail together a few trials may show nothing.
func togetherNotes(c advise.Choice) []string {
	var out []string
	for i, k := range c.Candidates[0].Checks {
		var names []string
		for _, x := range c.Candidates {
			k := x.Checks[i]
			r, _ := measure.FindResponse(k.Figure.Response)
			if r.Share() && k.Verdict == stat.Confirmed && k.Requirement.Less && !(k.Figure.Center.Hi < k.Requirement.Bound) {
				names = append(names, x.Name)
			}
		}
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: met as far as requests fail independently of each other; so few trials may show "+
				"nothing of what fails together: %s", k.Requirement.Text, list(names, mostNames)))
		}
	}
	return out
}

// amongAllNotes say which figures are of all requests, where some failed: the report shows those of the answered ones.
func amongAllNotes(c advise.Choice) []string {
	var out []string
	say := func(term advise.Term, of func(advise.Candidate) advise.Estimate) {
		var names []string
		for _, x := range c.Candidates {
			if f := of(x); f.OfAnswered() && f.Figure != "mean" {
				names = append(names, fmt.Sprintf("%.3g %% of %s", 100*f.Failed, x.Name))
			}
		}
		text := fmt.Sprintf("%s: of all requests, of which those that failed are the slowest: %s", term,
			list(names, mostNames))
		if len(names) > 0 && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for i, o := range c.Objectives {
		say(o.Term, func(x advise.Candidate) advise.Estimate { return x.Objectives[i] })
	}
	for i, k := range c.Candidates[0].Checks {
		say(k.Requirement.Term, func(x advise.Candidate) advise.Estimate { return x.Checks[i].Figure })
	}
	return out
}

// answeredNotes say of which requirements that are met only the answered requests have a time.
func answeredNotes(c advise.Choice) []string {
	var out []string
	for i, k := range c.Candidates[0].Checks {
		var names []string
		for _, x := range c.Candidates {
			if k := x.Checks[i]; k.Verdict == stat.Confirmed && k.MeanOfAnswered() {
				names = append(names, fmt.Sprintf("%.3g %% of %s", 100*k.Figure.Failed, x.Name))
			}
		}
		if len(names) > 0 {
			out = append(out, fmt.Sprintf("%s: kept by the answered requests; failed: %s", k.Requirement.Text,
				list(names, mostNames)))
		}
	}
	return out
}

// medianNotes say what an objective does not tell that is the median of trials.
func medianNotes(c advise.Choice, objective int) []string {
	var out []string
	term := c.Objectives[objective].Term
	x, _ := measure.FindResponse(term.Response)
	switch {
	case term.Figure == "median" && x.Share():
		out = append(out, fmt.Sprintf("%s: a median of trials hides what happens in a few of them; ask for %s", term,
			term.Response))
	case term.Figure == "median":
		out = append(out, fmt.Sprintf("%s: no median shows what a few slow requests take; the report compares means and "+
			"p95, too", term))
	}
	if term.Figure == "mean" {
		return out
	}
	for _, x := range c.Candidates {
		f, needs := x.Objectives[objective], stat.MedianNeeds(c.Confidence)
		if n := len(f.Values); n > 0 && n < needs && !f.Center.HasInterval() {
			return append(out, fmt.Sprintf("%s has no interval here: the median of %s has none, that of %d has; which "+
				"differences are within noise is judged by block all the same", term, plural.Count(n, "trial"), needs))
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
