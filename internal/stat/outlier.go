package stat

import "math"

// OutlierLimit is the modified z beyond which a value is flagged (Iglewicz &
// Hoaglin 1993, section 3.3).
const OutlierLimit = 3.5

// ModifiedZ returns each value's modified z: its distance from the median over
// the scaled median absolute deviation, or, where more than half the values
// are equal, over the scaled mean absolute deviation. All values equal: zeros.
func ModifiedZ(xs []float64) ([]float64, error) {
	if err := finite(xs); err != nil {
		return nil, err
	}
	mid := Middle(xs)
	away := make([]float64, len(xs))
	var mean float64
	for i, x := range xs {
		away[i] = math.Abs(x - mid)
		mean += away[i] / float64(len(xs))
	}
	scale := selectQuantile(away, 0.5) / 0.6745
	if scale == 0 {
		scale = 1.253314 * mean
	}
	z := make([]float64, len(xs))
	if scale == 0 {
		return z, nil
	}
	for i, x := range xs {
		z[i] = (x - mid) / scale
	}
	return z, nil
}

// Outliers returns the indices of the values whose modified z is over
// OutlierLimit. They are flagged to be shown; nothing here drops them.
func Outliers(xs []float64) ([]int, error) {
	z, err := ModifiedZ(xs)
	if err != nil {
		return nil, err
	}
	var at []int
	for i := range z {
		if math.Abs(z[i]) > OutlierLimit {
			at = append(at, i)
		}
	}
	return at, nil
}
