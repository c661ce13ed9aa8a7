package report

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// NoValidTrial is why nothing is told of a treatment.
const NoValidTrial = "no trial of it is valid"

// Untold is the error of results that have no figure at all, since no trial is valid.
type Untold string

func (u Untold) Error() string { return string(u) }

// Untold says why these results have no figure, floors aside; nil: they have.
func (r *Report) Untold() error {
	unrun, wanted := 0, 0
	for _, t := range r.Treatments {
		if r.isFloor(t.Stack) {
			continue
		}
		if t.Valid > 0 {
			return nil
		}
		unrun, wanted = unrun+t.unrun, wanted+t.Wanted
	}
	if wanted == 0 {
		return nil
	}
	text := fmt.Sprintf("%s: none of its %s is valid", r.Dir, plural.Count(wanted, "trial"))
	if unrun > 0 {
		text += fmt.Sprintf("; %d %s not run to the end: run the study again to resume it", unrun,
			plural.Verb(unrun, "was", "were"))
	}
	for _, t := range r.Trials {
		if t.State == store.Invalid {
			return Untold(text + "; the first: " + t.Reason)
		}
	}
	return Untold(text)
}

// noneValid says that a treatment has no figure, since no trial of it is valid.
func (r *Report) noneValid(treatment int) bool {
	return r.Treatments[treatment].Valid == 0 &&
		!slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Treatment == treatment })
}

// Dropped says that an earlier run planned a trial that the last one, with fewer replications, did not ask for, and
// that it was never measured.
func Dropped(y study.Study, t store.TrialState) bool {
	return y.Design.Precision == 0 && t.Block > y.Design.Replications &&
		(t.State == store.Planned || t.State == store.Running)
}

// doubtDropped says how many those are.
func (r *Report) doubtDropped() {
	n := 0
	for _, t := range r.Trials {
		if Dropped(r.Study, t) {
			n++
		}
	}
	if n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s that an earlier run planned %s not measured: the last one asks for "+
			"fewer replications, %d", plural.Count(n, "trial"), plural.Verb(n, "was", "were"), r.Study.Design.Replications))
	}
}
