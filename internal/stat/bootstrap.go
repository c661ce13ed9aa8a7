package stat

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Bootstrap gives any statistic of xs its bias-corrected and accelerated
// interval (Efron 1987). Same values, seed and number of resamples: same
// answer. Use it where neither Mean nor Median will do; under
// about 30 values it covers less than it says, and a warning says so.
func Bootstrap(xs []float64, statistic func([]float64) float64, confidence float64, resamples int,
	seed uint64) (Summary, error) {
	if err := usable(xs, confidence); err != nil {
		return Summary{}, err
	}
	if resamples < 100 {
		return Summary{}, fmt.Errorf("%w: %d resamples are too few for an interval; use at least 2000", ErrTooFew, resamples)
	}
	s := blank(xs, confidence, fmt.Sprintf("BCa bootstrap, %d resamples, seed %d", resamples, seed))
	s.Center = statistic(slices.Clone(xs))
	if !isFinite(s.Center) {
		return Summary{}, fmt.Errorf("%w: the statistic of these %d values is %v", ErrNotFinite, len(xs), s.Center)
	}
	if len(xs) < 2 {
		s.Warnings = append(s.Warnings, fmt.Errorf("%w: one value cannot be resampled; run more trials", ErrTooFew))
		return s, nil
	}
	if allEqual(xs) {
		s.Lo, s.Hi = s.Center, s.Center
		s.Warnings = append(s.Warnings, noSpread(len(xs), xs[0]))
		return s, nil
	}
	if len(xs) < 30 {
		s.Warnings = append(s.Warnings, fmt.Errorf("%w: a bootstrap of %d values covers less than its nominal %s %%; use "+
			"at least 30",
			ErrTooFew, len(xs), percent(confidence)))
	}
	thetas := resample(xs, statistic, resamples, seed)
	lo, hi, ok := bca(xs, statistic, thetas, s.Center, confidence)
	if !ok {
		s.Warnings = append(s.Warnings,
			fmt.Errorf("%w: the resamples do not vary around the statistic; there is no BCa interval", ErrNoSpread))
		return s, nil
	}
	s.Lo, s.Hi = lo, hi
	return s, nil
}

// resample returns the statistic of each resample, ascending.
func resample(xs []float64, statistic func([]float64) float64, resamples int, seed uint64) []float64 {
	random := splitMix(seed)
	draw, thetas := make([]float64, len(xs)), make([]float64, resamples)
	for b := range thetas {
		for i := range draw {
			draw[i] = xs[random.below(len(xs))]
		}
		thetas[b] = statistic(draw)
	}
	slices.Sort(thetas)
	return thetas
}

// bca corrects the percentiles for bias (z0) and for a spread that changes
// with the value (a, from the jackknife).
func bca(xs []float64, statistic func([]float64) float64, thetas []float64, theta, confidence float64) (lo,
	hi float64, ok bool) {
	// Subtle: the same values drawn in another order give a mean that differs in
	// its last digit, which is not less.
	eps := 1e-12 * math.Abs(theta)
	less, _ := slices.BinarySearch(thetas, theta-eps)
	upTo, _ := slices.BinarySearch(thetas, theta+eps)
	z0 := mathext.NormalQuantile(float64(less+upTo) / float64(2*len(thetas)))
	a := acceleration(xs, statistic)
	if !isFinite(z0) || !isFinite(a) || !isFinite(thetas[0]) || !isFinite(thetas[len(thetas)-1]) {
		return 0, 0, false
	}
	at := func(alpha float64) float64 {
		z := z0 + mathext.NormalQuantile(alpha)
		q := normalCDF(z0 + z/(1-a*z))
		k := rank7(len(thetas), q)
		next := thetas[min(k+1, len(thetas)-1)]
		return thetas[k] + fraction7(len(thetas), q)*(next-thetas[k])
	}
	return at((1 - confidence) / 2), at((1 + confidence) / 2), true
}

func acceleration(xs []float64, statistic func([]float64) float64) float64 {
	left, thetas := make([]float64, len(xs)-1), make([]float64, len(xs))
	for i := range xs {
		copy(left, xs[:i])
		copy(left[i:], xs[i+1:])
		thetas[i] = statistic(left)
	}
	mean, _ := moments(thetas)
	var squares, cubes float64
	for _, t := range thetas {
		d := mean - t
		squares += d * d
		cubes += d * d * d
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// A splitMix is SplitMix64 (Steele, Lea & Flood 2014): our own, so that no
// release of Go changes an interval.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is uniform in [0, n); its bias is under n/2^64.
func (s *splitMix) below(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}
