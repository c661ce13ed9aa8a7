package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// Results of another load or study are not two versions; how often was measured is no difference, whoever says so.
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
		{"another name, fewer requests", "study: s\nservice: echo\nstack: a\nn: 10\nrequests: 100",
			"study: z\nservice: echo\nstack: a\nn: 10\nrequests: 5", "", "study: s before, z now"},
		{"another study", "study: s\nservice: echo\nstack: a", "study: z\nservice: echo\nstack: b", "study: s before, z now",
			"study: s"},
	} {
		old := reportOf(t, simulated(t, plain, value))
		new := reportOf(t, simulated(t, strings.Replace(plain, tt.from, tt.to, 1), value))
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
