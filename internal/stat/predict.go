package stat

import (
	"fmt"
	"math"
)

// LeastCalibration is the number of trials of each side below which nothing is
// predicted: fewer do not show how much they scatter.
const LeastCalibration = 5

// leastRun is the same of a run: with two trials, intervals of 95 % held 92.4 % in
// a simulation.
const leastRun = 3

// Predict says what the mean of len(run) trials would be there, where they were
// measured here: run times the ratio of there to here, which were measured in a
// calibration. All are means of trials and positive; the mean is the geometric
// one. Lo and Hi hold it, as it would be measured there, with the given
// confidence: they know the scatter of the run, of both sides of the calibration,
// and that of the trials there which nobody has run (a prediction interval on
// logarithms; degrees of freedom by Satterthwaite 1946).
//
// They do not know what made here another place on the day of the calibration
// than on that of the run: see that it was the same.
func Predict(run, here, there []float64, confidence float64) (Comparison, error) {
	c := Comparison{N: [2]int{len(run), len(here) + len(there)},
		Method: "prediction by calibration, t interval on logarithms", log: true}
	if len(run) < leastRun {
		return c, fmt.Errorf("%w: %d trials are too few to show the spread of the run; run at least %d, preferably 10",
			ErrTooFew,
			len(run), leastRun)
	}
	if n := min(len(here), len(there)); n < LeastCalibration {
		return c, fmt.Errorf("%w: the calibration has %d trials; it needs %d of each side", ErrTooFew, n, LeastCalibration)
	}
	var sum, squares float64
	center := 0.0
	for _, part := range []struct {
		values []float64
		sign   float64
		more   float64 // of the variance, for trials that nobody has run
	}{{run, 1, 0}, {here, -1, 0}, {there, 1, 1 / float64(len(run))}} {
		if err := usable(part.values, confidence); err != nil {
			return c, err
		}
		xs, err := logs(part.values)
		if err != nil {
			return c, err
		}
		m, v := moments(xs)
		n := float64(len(xs))
		v *= 1/n + part.more
		center += part.sign * m
		sum += v
		squares += v * v / (n - 1)
	}
	return c.of(center, math.Sqrt(sum), sum*sum/squares, confidence), nil
}
