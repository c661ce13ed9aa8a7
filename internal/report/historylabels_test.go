package report

import (
	"slices"
	"testing"
	"time"
)

// Runs that began in one minute are told apart by their seconds, others have none.
func TestRunsOfOneMinuteHaveSeconds(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	h := History{By: ByDate, Runs: []Past{{Began: at}, {Began: at.Add(5 * time.Second)}, {Began: at.Add(time.Hour)}}}
	if err := h.label(); err != nil {
		t.Fatal(err)
	}
	want := []string{"2026-03-01 12:00:00", "2026-03-01 12:00:05", "2026-03-01 13:00"}
	if !slices.Equal(h.Labels, want) {
		t.Errorf("got %q", h.Labels)
	}
}
