package advise

import (
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// zeros are the values of a contrast of which some are 0, as shares of requests that failed: they have no logarithm, so
// their means are judged.
type zeros struct {
	old, new []float64
	paired   bool
}

// beyond are the p of the answers that the new mean is above bound times the old one, and below.
func (z zeros) beyond(bound float64) (above, below float64) {
	above, below, err := stat.MeansBeyond(z.new, z.old, bound, z.paired)
	if err != nil {
		return 1, 1
	}
	return above, below
}

// apart is the p of the answer that the means differ by more than a factor.
func (z zeros) apart(factor float64) float64 {
	above, _ := z.beyond(factor)
	_, below := z.beyond(1 / factor)
	return min(above, below)
}

// times are the values as if as many trials again had given the same.
func (z zeros) times(n int) *zeros {
	return &zeros{slices.Repeat(z.old, n), slices.Repeat(z.new, n), z.paired}
}

// neededOfZeros is how many trials a side would decide the outcome if they are as these; own is the level of one part.
func (o *Outcome) neededOfZeros(own float64) int {
	const mostTimes = 50
	z, per := o.Contrast.zeros, max(o.Contrast.Trials[0], o.Contrast.Trials[1])
	for n := 2; n <= mostTimes && n*per <= mostTrials; n++ {
		if met, excluded := o.ps(z.times(n).beyond); min(met, excluded) < own {
			return n * per
		}
	}
	return 0
}
