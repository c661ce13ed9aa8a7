package web

import (
	"slices"
	"testing"

	"edgegauge.example/edgegauge/internal/capacity"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
)

// Copies of results have what searches and confirmations leave, under the names that each of them uses.
func TestCopiesHaveWhatCommandsLeave(t *testing.T) {
	for _, name := range []string{searchFile, answerFile, scalingFile, capacity.NoteFile, report.ConfirmationFile} {
		if !slices.Contains(store.Besides(), name) {
			t.Errorf("no %s in %q", name, store.Besides())
		}
	}
}
