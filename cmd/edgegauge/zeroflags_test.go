package main

import (
	"strings"
	"testing"
)

// A zero that is written is not a flag that is left out: probe took --requests 0 for its default of 1000.
func TestZeroIsNotLeftOut(t *testing.T) {
	o := newOwn(t)
	for line, want := range map[string]string{
		"probe http://127.0.0.1:1/ --requests 0":               "--requests 0; write 1 or more",
		"probe http://127.0.0.1:1/ --requests 0 --duration 1s": "--requests 0; write 1 or more",
		"probe http://127.0.0.1:1/ --duration 0s":              "--duration 0s; write more, such as 10s",
		"probe http://127.0.0.1:1/ --duration 0s --requests 5": "--duration 0s; write more, such as 10s",
		"probe http://127.0.0.1:1/ --max-body 0":               "--max-body 0; write 1 to 1 GiB",
		"capacity x.yaml --period 0s --slo rtt<1s":             "--period 0s; write more",
		"capacity x.yaml --late 0s --slo rtt<1s":               "--late 0s; write more",
	} {
		if out, code := o.run(t, strings.Fields(line)...); code != exitUsage || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d: %s", line, code, out)
		}
	}
}
