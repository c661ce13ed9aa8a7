package advise

import (
	"errors"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// meanOf is the mean with the interval that its response has.
func meanOf(s Series, _ string, xs []float64, confidence float64) (stat.Summary, error) {
	m, err := MeanOf(s.Response, xs, s.failed(), s.Units, confidence)
	if errors.Is(err, stat.ErrSign) {
		return stat.Mean(xs, confidence)
	}
	return m, err
}

// MeanOf is the mean of a response over trials, or over units of benches, with its interval: one that is positive where
// the response is; energy net of idle is a difference. of are the requests behind shares, nil: not known. ErrSign: a
// value is impossible.
func MeanOf(response string, xs []float64, of []stat.Share, units bool, confidence float64) (stat.Summary, error) {
	r, _ := measure.FindResponse(response)
	most := math.Inf(1)
	if r.AtMostOne() {
		most = 1
	}
	switch {
	case response == "energy":
		return stat.Mean(xs, confidence)
	case r.Share() && (!units || constant(xs)):
		return stat.MeanShare(xs, of, most, confidence)
	case units:
		s, err := stat.PositiveMeanOfUnits(xs, confidence)
		s.Hi = min(s.Hi, most)
		return s, err
	}
	return stat.PositiveMean(xs, confidence)
}

// failed are the requests behind a share of those that failed, a trial each; nil: not known, or it is another response.
func (s Series) failed() []stat.Share {
	var out []stat.Share
	for _, t := range s.Trials {
		if t.Failed.N == 0 {
			return nil
		}
		out = append(out, t.Failed)
	}
	return out
}

// withoutLate is a share of requests that failed without those that waiting for a CPU may have made late.
func (f Estimate) withoutLate(s Series) *Estimate {
	f.Values = slices.Clone(f.Values)
	all := mean(f.Values)
	for i, t := range s.Trials {
		f.Values[i] -= t.Late
	}
	if all > 0 {
		f.Failed *= max(0, mean(f.Values)) / all
	}
	return &f
}
