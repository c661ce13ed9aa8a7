package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// At a rate that a server keeps up with, answers per second are the rate, however few requests there are. Until the
// last answer they were more: 4.5 of 3 in a second.
func TestProbeAnswersNoMoreThanItsRate(t *testing.T) {
	o := newOwn(t)
	for _, tt := range []struct {
		rate, duration string
		slow           time.Duration
		want           float64 // the most; it is less where the last answer came after the schedule's end
	}{{"30", "100ms", 0, 30}, {"0.001", "100ms", 0, 0.001}, {"100", "150ms", 0, 100},
		{"20", "100ms", 150 * time.Millisecond, 10}} {
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(tt.slow) }))
		t.Cleanup(server.Close)
		out, code := o.run(t, "probe", server.URL, "--rate", tt.rate, "--duration", tt.duration, "--runs", "2",
			"--warmup", "0", "--concurrency", "10", "--json")
		var read probeReport
		if err := json.Unmarshal([]byte(out), &read); err != nil || code != exitDone {
			t.Fatalf("exit code %d, %v: %s", code, err, out)
		}
		for _, x := range read.PerRun {
			if x.Answers > tt.want*(1+1e-9) || !(x.Answers > 0) {
				t.Errorf("%s per second for %s: %g answers per second", tt.rate, tt.duration, x.Answers)
			}
		}
	}
}
