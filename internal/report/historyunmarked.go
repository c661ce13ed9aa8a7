package report

import (
	"cmp"
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/advise/history"
	"edgegauge.example/edgegauge/internal/plural"
)

// Unmarked are the confirmations of a series that stand at none of its marks: its runs alone show no change there, or
// have no points.
func (h History) Unmarked(j history.Judged) []history.Confirmation {
	return slices.DeleteFunc(slices.Clone(h.confirmed), func(c history.Confirmation) bool {
		return !j.Is(c.Treatment, c.Side, c.Response) || slices.ContainsFunc(j.Marks, func(m history.Mark) bool {
			run := j.Points[m.At].Run
			return m.Confirmation != nil && c.Old < run && run <= c.New
		})
	})
}

// UnmarkedWords says such a confirmation in a sentence.
func (h History) UnmarkedWords(c history.Confirmation) string {
	return fmt.Sprintf("%s from %s to %s: interleaved in %s (%s) it is %s times the baseline (%s); the runs here show no "+
		"change of level between them", c.Verdict, h.Labels[c.Old], h.Labels[c.New], plural.Count(c.Blocks, "block"), c.Dir,
		ratioText(c.Ratio.Estimate), ratioRange(c.Ratio))
}

// withoutPoints says how many runs no series has a point of, and why.
func (h History) withoutPoints() string {
	n, why := 0, ""
	for i := range h.Runs {
		if slices.ContainsFunc(h.Series, func(j history.Judged) bool {
			return slices.ContainsFunc(j.Points, func(p history.Point) bool { return p.Run == i })
		}) {
			continue
		}
		reason := cmp.Or(h.pointless[i], "the figure was not measured")
		if n++; n == 1 {
			why = reason
		} else if why != reason {
			why = "the end says why"
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %s left out: %s", n, plural.Count(len(h.Runs), "run"), why)
}
