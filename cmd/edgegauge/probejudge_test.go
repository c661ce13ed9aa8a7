package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Answers per second are those until the last answer, as of a trial: time in which requests only failed after it is no
// part of them. But where that time decides a condition on the rate, the condition is undecided.
func TestProbeRateIsUntilTheLastAnswer(t *testing.T) {
	const ms = time.Millisecond
	var all []figures
	for range 6 { // 100 answers in 0.1 s; the next request has none within 4.9 s
		var x figures
		for i := range 100 {
			at := time.Duration(i) * ms
			_ = x.add(measure.Exchange{Due: at, Sent: at, Done: at + ms})
		}
		_ = x.add(measure.Exchange{Due: 100 * ms, Sent: 100 * ms, Total: 4900 * ms, Failure: "no response"})
		x.quality.Elapsed = 5 * time.Second
		all = append(all, x)
	}
	p := probe{asJSON: true, confidence: 0.95}
	var out strings.Builder
	if err := p.print(&out, all); err != nil {
		t.Fatal(err)
	}
	var read probeReport
	if err := json.Unmarshal([]byte(out.String()), &read); err != nil || len(read.PerRun) != 6 {
		t.Fatalf("%v: %s", err, out.String())
	}
	if rate := read.PerRun[0].Answers; math.Abs(rate-1000) > 1e-6 {
		t.Errorf("%g answers per second of a run, want 1000", rate)
	}
	if last := read.Figures[len(read.Figures)-1]; last.Name != "answers" || math.Abs(last.Mean-1000) > 1e-6 {
		t.Errorf("got %+v, want 1000 answers per second", last)
	}
	for text, want := range map[string]stat.Verdict{ // until the end of the run it is 20 per second
		"rate<10": stat.Contradicted, "rate<100": stat.Undecided, "rate>100": stat.Undecided, "rate<2000": stat.Confirmed,
	} {
		b, err := parseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		got := b.judge(all, 0.95)
		if got.Verdict != want || *got.Value != 1000 ||
			strings.Contains(got.String(), "until the end of the runs it is 20.0 /s") != (want == stat.Undecided) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
