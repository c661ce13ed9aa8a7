package report

import (
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// A treatment of which the study asked no figure is not one whose trials lost it.
func TestAnswerSaysWhatTheStudyLeavesOut(t *testing.T) {
	q := question{response: "wire_bytes", side: measure.Client}
	for _, x := range []struct {
		leaveOut []string
		want     string
	}{
		{[]string{"wire_bytes"}, "; not ranked, since the study leaves this figure out: mqtt"},
		{[]string{"client.wire_bytes"}, "; not ranked, since the study leaves this figure out: mqtt"},
		{[]string{"server.wire_bytes"}, "; not ranked, since fewer than two of its trials have the figure: mqtt"},
		{nil, "; not ranked, since fewer than two of its trials have the figure: mqtt"},
	} {
		r := &Report{Treatments: []Treatment{{Levels: []string{"mqtt"}, Wanted: 5, Valid: 5,
			setup: &study.Setup{LeaveOut: x.leaveOut}}}}
		if got := r.unranked(group{treatments: []int{0}}, q); got != x.want {
			t.Errorf("%v: got %q, want %q", x.leaveOut, got, x.want)
		}
	}
}
