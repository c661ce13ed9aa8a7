package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
)

// Two runs of which one was paused do not tell their mean: no limits from femtoseconds to years are printed, and no
// geometric mean that hides the pause. JSON has both as before.
func TestProbeOfRunsThatDoNotTell(t *testing.T) {
	const ms = time.Millisecond
	p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
	paused := runsOf(0, 80*ms, 1200*time.Microsecond)
	for _, condition := range []string{"mean>60ms", "mean<1ms", "p95>5ms"} {
		text, code := p.printed(t, paused, condition)
		for _, want := range []string{"rtt ? 40.6 ms – –", "rtt p95 ? 40.6 ms – –", "request body 0 B",
			"? the arithmetic mean of runs. 2 runs that differ so much do not tell how near it is; more --runs would",
			condition + ": undecided, 40.6 ms, the arithmetic mean of runs; 2 runs that differ so much do not tell"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
		if strings.Contains(text, " Gs") || strings.Contains(text, " fs") || strings.Contains(text, "*") || code != exitDone {
			t.Errorf("exit code %d: %s", code, text)
		}
	}
	p.asJSON = true
	text, _ := p.printed(t, paused, "mean>60ms")
	var read probeReport
	if err := json.Unmarshal([]byte(text), &read); err != nil || read.Figures[0].Method != geometric ||
		len(read.Figures[0].CI) != 2 || math.Abs(read.Figures[0].Mean-math.Sqrt(80e-3*1.2e-3)) > 1e-9 {
		t.Errorf("%v: %s", err, text)
	}
}

// Where the geometric mean stands in the table, the arithmetic one stands below it.
func TestProbeTellsMeansApart(t *testing.T) {
	const ms = time.Millisecond
	p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
	text, _ := p.printed(t, runsOf(0, ms, ms, ms, ms, ms, 900*ms), "mean>60ms")
	if !strings.Contains(text, "rtt * 3.11 ms 169 µs 57.3 ms") ||
		!strings.Contains(text, "would reach below zero. The arithmetic mean: rtt 151 ms, rtt median 151 ms, rtt p95 151 ms") {
		t.Errorf("got %s", text)
	}
}
