package testbed

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// rarely is the share of the trials that may have too few requests. The instants of a trial are drawn from its block's
// seed, so one that is invalid for them is so again, whenever it is tried.
const rarely = 1e-3

// seeFew finds trials that end after a time, and have too few requests by then where these come at random.
func (x *assembly) seeFew() {
	for t := range x.treatments() {
		s := t.Setup
		if s.Arrival != "poisson" || s.Rate == 0 || s.Duration == 0 {
			continue
		}
		mean := s.Rate * s.Duration.Seconds() * float64(max(1, s.DrivenFrom))
		none := math.Exp(-mean)
		what, share := fmt.Sprintf("poisson arrivals at %g/s send no request in %s", s.Rate,
			study.DurationText(s.Duration)), none
		if jitter := x.jitterOf(s); none <= rarely && jitter != "" {
			what, share = fmt.Sprintf("%s takes two requests, and poisson arrivals at %g/s send fewer in %s", jitter, s.Rate,
				study.DurationText(s.Duration)), none*(1+mean)
		}
		if share > rarely {
			x.fault(t, fmt.Sprintf("%s, in %.3g%% of the trials", what, 100*share),
				"write a longer duration, or arrival: constant", "rate", "arrival", "duration")
		}
	}
}

// jitterOf is the response that packets of a treatment are to give and that takes two requests; empty: none does.
func (x *assembly) jitterOf(s *study.Setup) string {
	for _, w := range x.plan.Study.Responses {
		if slices.Contains([]string{packet.Jitter.Name, packet.JitterRFC3550.Name}, w.Text) && lab.Captured(s) &&
			lab.Lacks(s, w.Text) == "" && !s.LeavesOut(string(measure.Client), w.Text) {
			return w.Text
		}
	}
	return ""
}
