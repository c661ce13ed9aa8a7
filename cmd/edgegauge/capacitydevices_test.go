package main

import (
	"strings"
	"testing"
)

// A search names what is on its command line, and no setting that it makes itself; a period of nothing is none.
func TestCapacityOfDevicesIsRefused(t *testing.T) {
	o := newOwn(t)
	o.write(t, "many.yaml", "study: many\nservice: monitor\nstack: rest-json\ndevices: 10\nperiod: 1s\nduration: 2s\n")
	for _, scale := range [][]string{{"--slo", "failed < 5%"}, {"--scale", "concurrency"}} {
		text, code := o.run(t, append([]string{"-q", "capacity", "many.yaml"}, scale...)...)
		if code != exitUsage || !strings.Contains(text, "many.yaml has devices, which send once per period") ||
			strings.Contains(text, "--set") {
			t.Errorf("%v: code %d: %s", scale, code, text)
		}
	}
	text, code := o.run(t, "-q", "capacity", "many.yaml", "--slo", "failed < 5%", "--period", "0s")
	if code != exitUsage || !strings.Contains(text, "--period 0s") {
		t.Errorf("code %d: %s", code, text)
	}
}
