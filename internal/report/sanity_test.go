package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A round trip that nobody works for has waited for a timer; one in which a virtual machine compiled, or other programs
// had the CPU, has not.
func TestWhatARoundTripWaitsFor(t *testing.T) {
	for _, tt := range []struct {
		what                        string
		rtt, server, cpu, cpuServer float64 // ms
		waiting                     float64 // s in each s
		alarm                       bool
	}{
		{"sound", 1, 0.8, 0.2, 0.7, 0, false},
		{"delayed acknowledgement", 41, 0.8, 0.2, 0.7, 0, true},
		{"the same, CPU untold", 41, 0.8, 0, 0, 0, true},
		{"the same, beside a compiler on another CPU", 41, 0.8, 4, 8, 0, true},
		{"a cold virtual machine", 11.1, 0.4, 3.2, 8.4, 0, false},
		{"starved", 11.1, 0.4, 0.2, 0.4, 0.6, false},
	} {
		x := &Report{Treatments: []Treatment{{Levels: []string{"stack"}}}, Cells: []Cell{
			{Side: measure.Client, Response: "rtt", Median: stat.Summary{Center: tt.rtt * 1e-3}, Waiting: tt.waiting},
			{Side: measure.Server, Response: "total_time", Median: stat.Summary{Center: tt.server * 1e-3}},
			{Side: measure.Client, Response: "cpu", Median: stat.Summary{Center: tt.cpu * 1e-3}},
			{Side: measure.Server, Response: "cpu", Median: stat.Summary{Center: tt.cpuServer * 1e-3}},
		}}
		x.checkTotals(0)
		said := strings.Join(x.Alarms, "\n")
		if (said != "") != tt.alarm || tt.alarm && !strings.Contains(said, "the rest is waiting; look for a timer") {
			t.Errorf("%s: said %q", tt.what, said)
		}
	}
}
