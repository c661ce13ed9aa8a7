package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// Results of another load, place or study are not two versions, whoever says so, be it a level of a factor; how often
// was measured is no difference, and what a version may be is none.
func TestLoadDifferences(t *testing.T) {
	value := func(_ map[string]string, side measure.Side, response string) (float64, float64) {
		if response == "rtt" && side == measure.Client {
			return 1e-3, 2e-5
		}
		return math.NaN(), 0
	}
	const plain = "study: s\nservice: echo\nstack: a\nn: 10\nrequests: 100\ndesign: {replications: 3, seed: 1}\n" +
		"responses: [rtt]\n"
	for _, tt := range []struct{ what, from, to, load, setup string }{
		{"alike", "n: 10", "n: 10", "", ""},
		{"more trials", "replications: 3", "replications: 4", "", ""},
		{"another size", "n: 10", "n: 100", "n: 10 before, 100 now", "n: 10 before"},
		{"another service", "service: echo", "service: monitor", "service: echo before, monitor now", "service"},
		{"a rate", "n: 10", "n: 10\nrate: 100", "rate: not set before, 100", "rate"},
		{"a stack", "stack: a", "stack: b", "", "stack: a before, b now"},
		{"another name", "study: s", "study: z", "", "study: s before, z now"},
		{"another link", "n: 10", "n: 10\nlink: delay=40ms", "link: not set before, delay=40ms now", "link"},
		{"another name of no link", "n: 10", "n: 10\nlink: none", "", "link"},
		{"another connection", "n: 10", "n: 10\nconnection: per-request", "connection: not set before, per-request", "conn"},
		{"another placement", "n: 10", "n: 10\nplacement: together", "placement: not set before, together now", "placement"},
		{"another warm-up", "replications: 3", "replications: 3, warmup: 7", "warm-up: ", "warm-up"},
		{"another pin", "n: 10", "n: 10\npin: {client: 0}", "pin: ", "pin"},
		{"longer for answers", "n: 10", "n: 10\ntimeouts: {request: 3s}", "timeouts.request: ", "timeouts"},
		{"longer to start", "n: 10", "n: 10\ntimeouts: {ready: 33s}", "", "timeouts"},
		{"an option", "n: 10", "n: 10\noptions: {gc: fast}", "", "options.gc"},
		{"more memory", "n: 10", "n: 10\nheap: 64MiB", "", "heap"},
		{"levels that are the same", "factors: {way: [{name: low, n: 10}, {name: high, n: 20}]}",
			"factors: {way: [{name: low, n: 10}, {name: high, n: 20}]}", "", ""},
		{"a level that asks more", "factors: {way: [{name: low, n: 10}, {name: high, n: 20}]}",
			"factors: {way: [{name: low, n: 10}, {name: high, n: 40}]}", "n of high: 20 before, 40 now", "the settings of high"},
		{"a level at another rate", "factors: {way: [{name: low, n: 10}, {name: high, rate: 300}]}",
			"factors: {way: [{name: low, n: 10}, {name: high, rate: 600}]}", "rate of high: 300 before, 600 now",
			"the settings of high"},
		{"a level with other options", "factors: {way: [{name: low, n: 10}, {name: high, options: {gc: fast}}]}",
			"factors: {way: [{name: low, n: 10}, {name: high, options: {gc: slow}}]}", "", "the settings of high"},
		{"another study", "study: s\nservice: echo\nstack: a", "study: z\nservice: echo\nstack: b", "study: s before, z now",
			"study: s"},
	} {
		before, now := plain, strings.Replace(plain, tt.from, tt.to, 1)
		if strings.HasPrefix(tt.from, "factors") {
			before, now = strings.Replace(plain, "n: 10", tt.from, 1), strings.Replace(plain, "n: 10", tt.to, 1)
		}
		old, new := reportOf(t, simulated(t, before, value)), reportOf(t, simulated(t, now, value))
		for what, x := range map[string][2]string{"load": {strings.Join(LoadDifferences(old, new), "; "), tt.load},
			"set-up": {strings.Join(SetupDifferences(old, new), "; "), tt.setup}} {
			if x[1] == "" != (x[0] == "") || !strings.Contains(x[0], x[1]) {
				t.Errorf("%s, %s: got %q, want %q", tt.what, what, x[0], x[1])
			}
		}
	}
	a := &Report{Study: study.Study{Overrides: []study.Override{{Path: "design.replications", Value: "30"},
		{Path: "failures", Value: "10%"}, {Path: "design", Value: "{replications: 2}"}, {Path: "options.x", Value: "1"}}}}
	if got := changed(&Report{}, a); len(got) != 1 || got["options.x"] != [2]string{"", "1"} {
		t.Errorf("overrides of the design: got %v", got)
	}
}
