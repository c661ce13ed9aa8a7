package study

import (
	"fmt"
	"math"
)

// readFailures reads the share of a trial's requests that may fail.
func readFailures(r *reader, s *Study, n *node) {
	if v, _, ok := r.ratio("failures", n, "a share"); ok {
		s.Failures = &v
	}
}

// FailuresFor is a share, as the setting failures is written, that trials keep to of which one had so many failures of
// n requests: three standard deviations of a Poisson count above it, rounded up to what is easily read, above 10 % to
// the next ten.
func FailuresFor(failed, n int) string {
	most := 100 * (float64(failed) + 3*math.Sqrt(float64(failed))) / float64(max(n, 1))
	for _, percent := range []float64{0.1, 0.2, 0.5, 1, 2, 5} {
		if most <= percent {
			return fmt.Sprintf("%g%%", percent)
		}
	}
	return fmt.Sprintf("%g%%", min(10*math.Ceil(most/10), 100))
}
