package web

import (
	"net/http"
	"slices"

	"edgegauge.example/edgegauge/internal/store"
)

// resumes says whether results in that state are some that a page goes on with.
func (p place) resumes(state string) bool { return state == "unfinished" && resumable(p) == nil }

// resumable refuses results that edgegauge run, as it is started here, would refuse.
func resumable(p place) error {
	if p.confirming() != nil {
		return stoppedConfirmation(p)
	}
	if p.readText(searchFile, &struct{}{}) {
		return fault{http.StatusConflict, p.shown() + " is a search for the capacity of a server, which chooses its rates. " +
			"Resume it with edgegauge capacity, as it was begun."}
	}
	kept, err := p.store(false)
	if err != nil {
		return err
	}
	defer kept.Close()
	runs, err := kept.Runs()
	if err != nil {
		return unreadable(err)
	}
	y, err := readStudy(kept, runs[len(runs)-1])
	if err != nil {
		return unreadable(err)
	}
	if y.OfVersions() {
		return fault{http.StatusConflict, p.shown() + " measures two versions of a stack, and this page has only the one " +
			"that is here. Resume it where it was begun, with edgegauge compare --base."}
	}
	leftOut, err := kept.LeftOut()
	if err != nil {
		return unreadable(err)
	}
	if len(leftOut) > 0 {
		return fault{http.StatusConflict, p.shown() + " is a copy without raw files, which cannot be continued. A study " +
			"like it measures the same into a new folder."}
	}
	attempts, err := kept.Attempts(0)
	if err != nil {
		return unreadable(err)
	}
	if slices.ContainsFunc(attempts, func(a store.AttemptState) bool { return a.Bench.Name != "" }) {
		return fault{http.StatusConflict, p.shown() + " was begun with benches, and this page starts none. Resume it where " +
			"it was begun, with edgegauge run --benches."}
	}
	return nil
}
