package main

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// lowerPercentiles are those of runs, in s, of which a higher one is never below, in ascending order: of each run the
// median, and the p95. Runs without an answer have none.
func lowerPercentiles(runs [][]int64, share float64) (out [][]float64) {
	for _, q := range []float64{0.5, 0.95} {
		var values []float64
		for _, times := range runs {
			if v, err := stat.QuantileWithin(slices.Clone(times), q); err == nil {
				values = append(values, v*1e-9)
			}
		}
		if q < share && len(values) > 0 {
			out = append(out, values)
		}
	}
	return out
}

// above raises the lower limit of a percentile's interval to that of a lower percentile of the same runs: the mean of
// the one is not below that of the other, and an interval without what cannot be covers as often. A symmetric t
// interval of few runs with long tails reached below the median of these runs. by are the values that raised it.
func (x probed) above(lower [][]float64, confidence float64) (raised probed, by []float64) {
	for _, values := range lower {
		y, err := overRuns(values, confidence)
		if err != nil || x.CI == nil || y.CI == nil || x.Method != y.Method || x.Method == geometric {
			continue
		}
		if y.CI[0] > x.CI[0] {
			x.CI, by = []float64{y.CI[0], x.CI[1]}, values
		}
	}
	return x, by
}

// partedFrom is how many times as far from its median the percentile of a run is as in the next lower one where runs
// are of two kinds. Of runs of a smooth distribution hardly any is; and where the percentile itself scatters from run
// to run, log-normally with sigma 0.5, 5 in 100 probes at most have so wide a gap. Of few runs one is wider by chance.
func partedFrom(runs int) float64 {
	switch {
	case runs < 3:
		return 5
	case runs < 6:
		return 4
	}
	return 3
}

// A parting is a percentile of runs that is of two kinds, since some have a slow request more than others. The mean of
// runs lies between both, where few requests are, and moves with chance: its interval says nothing of the service.
type parting struct {
	low, high []float64 // of runs, in ascending order; none: the runs are of one kind
}

// partingOf parts the percentiles of runs at the widest gap between what they are of their medians. lower are lower
// percentiles of the same runs, medians first: runs that are slow as a whole are not parted by a request.
func partingOf(values []float64, lower [][]float64) (x parting) {
	if len(lower) == 0 || len(lower[0]) != len(values) || slices.Min(lower[0]) <= 0 {
		return x
	}
	ofMedian := make([]float64, len(values))
	for i, v := range values {
		ofMedian[i] = v / lower[0][i]
	}
	sorted := slices.Sorted(slices.Values(ofMedian))
	widest, below := partedFrom(len(values)), 0.0
	for i := 1; i < len(sorted); i++ {
		if ratio := sorted[i] / sorted[i-1]; sorted[i-1] > 0 && ratio > widest {
			widest, below = ratio, sorted[i-1]
		}
	}
	if below == 0 {
		return x
	}
	for i, v := range values {
		if ofMedian[i] <= below {
			x.low = append(x.low, v)
		} else {
			x.high = append(x.high, v)
		}
	}
	slices.Sort(x.low)
	slices.Sort(x.high)
	if x.low[len(x.low)-1] >= x.high[0] { // those that are slow as a whole have as much
		return parting{}
	}
	return x
}

// leaveOpen leaves a bound undecided that lies among runs of two kinds, and reports whether it does.
func (x parting) leaveOpen(j *judged, b bound) bool {
	if len(x.low) == 0 {
		return false
	}
	j.untold, j.CI = true, nil
	among := x.low[0] < b.at && b.at < x.high[len(x.high)-1]
	if among {
		j.Verdict, j.Why = stat.Undecided, x.why(b.of)
	}
	return among
}

// why says what a percentile is in the runs of both kinds, and what would tell it.
func (x parting) why(percentile string) string {
	return fmt.Sprintf("%s is at most %s in %s and at least %s in %s, as where some have a slow request more: the runs "+
		"do not tell which the service has; longer runs would (raise --requests or --duration)", percentile,
		report.Format(x.low[len(x.low)-1], "s"), plural.Count(len(x.low), "run"), report.Format(x.high[0], "s"),
		plural.Count(len(x.high), "run"))
}
