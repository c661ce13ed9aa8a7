package stat

import "math"

// Correlation is Pearson's of two rows of values that belong together; NaN where a row has
// no spread, or the rows are of different length.
func Correlation(xs, ys []float64) float64 {
	if len(xs) != len(ys) || len(xs) < 2 {
		return math.NaN()
	}
	mx, vx := moments(xs)
	my, vy := moments(ys)
	sum := 0.0
	for i, x := range xs {
		sum += (x - mx) * (ys[i] - my)
	}
	return sum / float64(len(xs)-1) / math.Sqrt(vx*vy)
}
