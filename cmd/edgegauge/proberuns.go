package main

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// From when on runs are said to be no replications of one another since they rise or fall in their order.
const (
	trendAt   = 0.01 // p of the trend, below which
	trendFrom = 1.1  // ratio of the last third of runs to the first, or the other way round, above which
)

// unlike says why the values of runs are not those of one service that stays as it is: they rise or fall from run to
// run, or are of two kinds, of which there are two each at least. Empty: nothing speaks against it.
func unlike(values []float64, unit string) string {
	if len(values) < 2 {
		return ""
	}
	third := len(values) / 3
	if t, err := stat.Trend(values); err == nil && t.P < trendAt {
		first, last := mean(values[:third]), mean(values[len(values)-third:])
		moves := "rises"
		if last < first {
			moves = "falls"
		}
		if max(first, last) > trendFrom*min(first, last) {
			return fmt.Sprintf("%s from run to run (%s in the first, %s in the last; p %.2g), so its mean depends on how long "+
				"the service was probed: find out what builds up or warms up", moves, report.Format(values[0], unit),
				report.Format(values[len(values)-1], unit), t.P)
		}
	}
	sorted := slices.Sorted(slices.Values(values))
	widest, at := partedFrom(len(values)), 0
	for i := 2; i < len(sorted)-1; i++ { // a single run of another kind may be an accident
		if ratio := sorted[i] / sorted[i-1]; sorted[i-1] > 0 && ratio > widest {
			widest, at = ratio, i
		}
	}
	if at == 0 {
		return ""
	}
	return fmt.Sprintf("is at most %s in %s and at least %s in %s: the runs are of two kinds, and its mean is one of "+
		"neither; find out in what they differ", report.Format(sorted[at-1], unit), plural.Count(at, "run"),
		report.Format(sorted[at], unit), plural.Count(len(sorted)-at, "run"))
}

// unlikeTimes is what is said of the response times of runs.
func unlikeTimes(all []figures) string {
	var means []float64
	for _, x := range all {
		if w, err := stat.WithinTrial(slices.Clone(x.response)); err == nil {
			means = append(means, w.Mean*1e-9)
		}
	}
	if why := unlike(means, "s"); why != "" {
		return "response time " + why
	}
	return ""
}

// doubtRuns takes back that a bound is kept to where runs are no replications and lie on both sides of it: their
// interval then says nothing of the next ones. That a bound is met stands, as runs that differ make that less likely.
func (b bound) doubtRuns(j *judged, values []float64) {
	name := map[string]string{"mean": "mean", "p50": "median"}[b.of]
	if b.figure == "rate" {
		name = "rate"
	}
	if name == "" || j.Verdict == stat.Confirmed || !(slices.Min(values) < b.at && b.at < slices.Max(values)) {
		return
	}
	if why := unlike(values, b.unit()); why != "" {
		j.Verdict, j.Why = stat.Undecided, "the "+name+" "+why
	}
}
