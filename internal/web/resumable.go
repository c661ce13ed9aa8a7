package web

import (
	"net/http"
	"slices"

	"edgegauge.example/edgegauge/internal/store"
)

// resumable refuses results that edgegauge run, as it is started here, would refuse.
func resumable(p place) error {
	if p.confirming() != nil {
		return stoppedConfirmation(p)
	}
	kept, err := p.store(false)
	if err != nil {
		return err
	}
	defer kept.Close()
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
