package main

import (
	"slices"

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
