package advise

import (
	"fmt"
	"math"
	"slices"
)

// shown says why no trial at all has a p95 that is asked for; nil: one has it, or none is asked for.
func shown(all []Series, t Term) error {
	of := t.shownBy(all)
	if t.Figure != "p95" || len(of) == 0 || slices.ContainsFunc(of, hasP95) {
		return nil
	}
	if t.singleValued(all) {
		return fmt.Errorf("%w: no trial has a p95 of %s, of which it has one value; ask for %s", ErrNotMeasured,
			t.Response, t.ofMeans())
	}
	return fmt.Errorf("%w: no trial has a p95 of %s, which takes %d answered requests in a trial; set requests to "+
		"%[3]d or more and run it again, or ask for %[4]s", ErrNotMeasured, t.Response, p95Needs, t.ofMeans())
}

// singleValued says that a p95 is asked for of a response of which each trial has one value.
func (t Term) singleValued(all []Series) bool {
	of := t.shownBy(all)
	return t.Figure == "p95" && len(of) > 0 &&
		!slices.ContainsFunc(of, func(x TrialSummary) bool { return hasP95(x) || !math.IsNaN(x.SD) })
}

func hasP95(x TrialSummary) bool { return !math.IsNaN(x.P95) }

// shownBy are the trials of all series that a term means but the floors.
func (t Term) shownBy(all []Series) (trials []TrialSummary) {
	for _, s := range all {
		if !s.Floor && t.Matches(s) {
			trials = append(trials, s.Trials...)
		}
	}
	return trials
}

// ofMeans is the same term, of the trials' means.
func (t Term) ofMeans() Term {
	t.Figure = "mean"
	return t
}
