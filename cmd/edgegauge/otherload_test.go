package main

import (
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
)

// Results of different loads are not judged unless asked.
func TestCompareRefusesOtherLoads(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	const levels = "\nfactors: {way: [{name: low, n: 5}, {name: high, n: "
	for name, n := range map[string]string{"small": "\nn: 5", "large": "\nn: 5000", "same": "\nn: 5",
		"few":  levels + "9}]}",
		"many": levels + "900}]}", "far": "\nn: 5\nlink: delay=40ms"} {
		kept, plan, err := fabricated.Create(filepath.Join(o.dir, name), []byte("study: s\nservice: echo\nstack: a"+n+
			"\nrequests: 20\ndesign: {replications: 3, seed: 1}\nresponses: [rtt]\n"))
		ok(t, err)
		for _, trial := range plan.Trials {
			ok(t, fabricated.Trial(kept, trial, 20, nil))
		}
		ok(t, kept.Close())
	}
	for _, tt := range []struct {
		line string
		code int
		says string
	}{
		{"compare small same", exitDone, "0 higher"},
		{"compare small large", exitUsage, "small and large are of different loads, and not of two versions under one: n: 5 " +
			"before, 5000 now; measure both alike, or compare them all the same with --other-load"},
		{"compare small large --other-load", exitDone, "the set-up differs: n: 5 before, 5000 now"},
		{"compare few many", exitUsage, "few and many are of different loads, and not of two versions under one: n of " +
			"high: 9 before, 900 now"},
		{"compare few many --other-load", exitDone, "the settings of high, or their defaults, differ"},
		{"compare small far", exitUsage, "link: not set before, delay=40ms now"},
		{"compare small --other-load", exitUsage, "--other-load is for two results or probes; leave it out"},
	} {
		out, code := o.run(t, strings.Fields(tt.line)...)
		if flat := strings.Join(strings.Fields(out), " "); code != tt.code || !strings.Contains(flat, tt.says) {
			t.Errorf("edgegauge %s: exit code %d, want %d and %q:\n%s", tt.line, code, tt.code, tt.says, out)
		}
	}
}
