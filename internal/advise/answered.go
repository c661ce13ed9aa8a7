package advise

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// notAnswered says why the quantile of a time among all requests is one of those that failed, or may be, for which
// there is no time, so that it lies below no bound; empty: so few failed that it is none of them, beyond doubt (alpha).
func (f Estimate) notAnswered(alpha float64) string {
	beyond, ok := map[string]float64{"median": 0.5, "p95": 0.05}[f.Figure]
	if !ok || !f.OfAnswered() {
		return ""
	}
	is := ""
	if _, fewer := f.failures().Beyond(beyond); f.Requests > 0 && !(fewer < alpha) {
		is = "may be"
	}
	if f.Failed > beyond {
		is = "is"
	}
	if is == "" {
		return f.Answered
	}
	return fmt.Sprintf("%.3g %% of its requests failed: the %s among all of them %s one that has no time", 100*f.Failed,
		f.Figure, is)
}

// failures are the requests that failed.
func (f Estimate) failures() stat.Share {
	return stat.Share{Hits: int(math.Round(f.Failed * float64(f.Requests))), N: f.Requests}
}

// ofFewRequests says why a share of the requests, or that nothing was sent again, is no answer: chance may explain it
// of so few. Trials that all have a share of 0 have no spread, and would be certain of it. Empty: it is an answer.
func (c Condition) ofFewRequests(f Estimate, alpha float64) string {
	share, what := f.failures(), "failed"
	switch {
	case f.Requests == 0 || f.Figure != "mean":
		return ""
	case f.Response == "failed_share":
	case f.Response != "resent" && f.Response != "retransmissions" || f.Center.Center != 0:
		return ""
	default:
		share.Hits, what = 0, "had anything sent again"
	}
	above, below := share.Beyond(c.Bound)
	if min(above, below) < alpha {
		return ""
	}
	return fmt.Sprintf("%d of %d requests %s, which chance may explain on either side of the bound; raise requests",
		share.Hits, share.N, what)
}

// OfAnswered reports whether a response is, at the client, a time that a request has only if it was answered.
func OfAnswered(response string) bool {
	r, _ := measure.FindResponse(response)
	return r.OfAnswered()
}

// OfAnswered reports whether a series is a time of requests of which some failed: they have none.
func (s Series) OfAnswered() bool {
	return s.Failed > 0 && s.Side == measure.Client && OfAnswered(s.Response)
}

// failOtherwise reports whether two series are a time that only answered requests have, and another share of the
// requests failed in one than in the other.
func failOtherwise(old, new Series) bool {
	return OfAnswered(old.Response) && old.Side == measure.Client && old.Failed != new.Failed
}

// amongAll compares the medians among all requests; where a copy does not tell them, those of the answered ones, since
// few requests that failed shift no median far.
func amongAll(old, new Series, confidence float64) Contrast {
	if hides := func(t TrialSummary) bool { return t.unseen("median") }; slices.ContainsFunc(old.Trials, hides) ||
		slices.ContainsFunc(new.Trials, hides) {
		of := AnsweredOnly([]Series{old, new})
		old, new = of[0], of[1]
	}
	return contrast(old, new, "median", confidence)
}

// hides says that which requests failed may be why the answered ones differ: who answers what the other gave up is not
// slower for it, and who gives up more is not quicker.
func (c Contrast) hides() bool { return c.fewer != c.lower() }

// differsLike is the p of the answer that c differs from 1, to the side that another does.
func (c Contrast) differsLike(other Contrast) float64 {
	switch {
	case c.lower() != other.lower() || c.Doubt != "" || c.Change == Same:
		return 1
	case c.noSpread() && c.Ratio.Estimate != 1 && !(c.Allowance > 1):
		return 0
	}
	return orOne(c.differs())
}

// orOne is a p, and 1 where there is no test: it proves nothing.
func orOne(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return p
}

// OfAll is a series whose trials have, in place of their means, medians among all requests, of which those that failed
// are the slowest; why a trial has none, which leaves the series as it is.
func (s Series) OfAll() (out Series, why string) {
	out = s
	out.Trials = slices.Clone(s.Trials)
	for i := range out.Trials {
		x := &out.Trials[i]
		switch x.Mean = cmp.Or(x.AllMedian, x.Median); {
		case x.unseen("median"):
			return s, "requests failed, and the exchanges that tell of all of them are not read here"
		case math.IsInf(x.Mean, 1):
			return s, "among all requests of a trial of " + s.Name() + " the median is one that failed"
		}
	}
	return out, ""
}

// OfAnswered reports whether an estimate is a time of requests of which some failed: they have none.
func (f Estimate) OfAnswered() bool {
	return f.Failed > 0 && f.Side == measure.Client && OfAnswered(f.Response)
}

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

// ErrAllFail says that of every treatment so many requests failed that a figure is one of these: none has it.
var ErrAllFail = errors.New("no treatment can be ranked")

// allFail says so in words, with the nearest figure that all have. Of each treatment it takes the term that failed.
func allFail(all []Series, failing []Term) error {
	var shares []string
	for i, levels := range treatments(all) {
		for _, s := range ofTreatment(all, levels, failing[i]) {
			shares = append(shares, strings.TrimSpace(fmt.Sprintf("%s %.3g %%", s.Name(), 100*s.Failed)))
		}
	}
	if more := len(shares) - mostShares; more > 0 {
		shares = append(shares[:mostShares], fmt.Sprintf("and %d more", more))
	}
	t := failing[0]
	nearest := t
	nearest.Figure = "median"
	has := t.Figure == "p95" && !slices.ContainsFunc(all, func(s Series) bool {
		_, err := s.values(nearest.Figure)
		return !s.Floor && nearest.Matches(s) && err != nil
	})
	try := fmt.Sprintf("the nearest figure that all have is %s", nearest)
	if !has {
		try = "ask for failed_share"
	} else {
		try += ", or ask for failed_share"
	}
	return fmt.Errorf("%w by %s: so many requests of each failed (%s) that the %s among all of them is one that failed, "+
		"in some trial at least; %s", ErrAllFail, t, strings.Join(shares, ", "), t.Figure, try)
}

// mostShares is of how many treatments allFail says which share failed.
const mostShares = 4
