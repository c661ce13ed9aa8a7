package advise

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// ofRequests are the times that a request has only if it was answered.
var ofRequests = []string{"rtt", "response_time", "total_time"}

// ofAnswered reports whether so many requests failed that the quantile of a time among all of them is one of those, for
// which there is no time, and no bound on it is kept to.
func (c Condition) ofAnswered(f Estimate) bool {
	beyond, ok := map[string]float64{"median": 0.5, "p95": 0.05}[f.Figure]
	return ok && c.Less && f.Failed > beyond && slices.Contains(ofRequests, f.Response)
}

// OfAnswered reports whether an estimate is a time of requests of which some failed: they have none.
func (f Estimate) OfAnswered() bool { return f.Failed > 0 && slices.Contains(ofRequests, f.Response) }

// MeanOfAnswered reports whether a requirement bounds the mean of a time from above, and requests failed: all of them
// together have no mean then.
func (k Check) MeanOfAnswered() bool {
	return k.Requirement.Less && k.Figure.Figure == "mean" && k.Figure.OfAnswered()
}

// allowing is the check of a requirement that says how many requests may fail, one that is met if there is such;
// false: none says so.
func allowing(checks []Check) (out Check, stated bool) {
	for _, k := range checks {
		if k.Requirement.Response == "failed_share" && k.Requirement.Less && (!stated || k.Verdict == stat.Confirmed) {
			out, stated = k, true
		}
	}
	return out, stated
}

// doubtMeans takes back that bounds on means are met by which only the answered requests are bound, unless a
// requirement says how many may fail, and is met.
func doubtMeans(checks []Check) {
	allowed, stated := allowing(checks)
	for i := range checks {
		k := &checks[i]
		if k.Verdict != stat.Confirmed || !k.MeanOfAnswered() || stated && allowed.Verdict == stat.Confirmed {
			continue
		}
		why := "say how many may fail, too, such as --require 'failed_share < 5%'"
		if stated {
			why = fmt.Sprintf("%s is not met beyond doubt", allowed.Requirement.Text)
		}
		k.Verdict = stat.Undecided
		k.Doubt = fmt.Sprintf("kept by the answered requests; %.3g %% failed, and have no time: %s",
			100*k.Figure.Failed, why)
	}
}
