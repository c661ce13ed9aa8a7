package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// Devices of which no request was answered are a figure, and what was seen of the reason is said.
func TestDevicesThatGotNoAnswer(t *testing.T) {
	const all = 300.0
	for _, tt := range []struct {
		what    string
		devices int
		trials  []map[string]float64
		want    string
	}{
		{"asleep", 10, []map[string]float64{{"requests": all, "failures": all, "lost_asleep": 290, "answers_late": 10},
			{"requests": all, "failures": 7}}, "psm: in 1 of 2 trials none of 300 requests was answered: 290 messages came while " +
			"devices slept, 10 answers came after timeouts.request"},
		{"nobody there", 10, []map[string]float64{{"requests": all, "failures": all}, {"requests": all, "failures": all}},
			"psm: in 2 of 2 trials none of 600 requests was answered: nothing came back; look whether the service is there"},
		{"some answered", 10, []map[string]float64{{"requests": all, "failures": all - 1, "lost_asleep": 9}}, ""},
		{"no devices", 0, []map[string]float64{{"requests": all, "failures": all}}, ""},
		{"only observers", 10, []map[string]float64{{"requests": 0, "failures": 0, "lost_asleep": 9}}, ""},
	} {
		r := &Report{Factors: []string{"way"}, Treatments: []Treatment{{Levels: []string{"psm"},
			setup: &study.Setup{Population: study.Population{Devices: tt.devices}}}}}
		r.doubtUnanswered(0, tt.trials)
		if got := strings.Join(r.Warnings, "\n"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}
