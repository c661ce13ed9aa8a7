package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
)

// A probe that is stopped prints the runs that it has, and says that they are not all; it judges nothing by them.
func TestStoppedProbePrintsWholeRuns(t *testing.T) {
	p := probe{confidence: 0.95, runs: 6, bounds: []bound{{text: "rtt>0", figure: "rtt", of: "mean"}},
		job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
	for _, tt := range []struct {
		runs  int
		json  bool
		shows bool
		want  string
	}{{3, false, true, "3 of 6 runs, and no condition was judged"}, {0, false, false, "prints no figures"},
		{3, true, false, "prints no figures"}} {
		p.asJSON = tt.json
		var out strings.Builder
		err := p.printStopped(&out, runsOf(0, slices.Repeat([]time.Duration{time.Millisecond}, tt.runs)...))
		var e exit
		if !errors.As(err, &e) || e.code != exitUnmeasured || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(out.String(), "rtt median") != tt.shows || strings.Contains(out.String(), "rtt>0") {
			t.Errorf("%+v: %v: %s", tt, err, out.String())
		}
	}
}

// A service that does not answer ends a probe early, but none whose time-outs are short before it had time to begin.
func TestProbeWaitsForAnAnswer(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{time.Millisecond: 30 * time.Second,
		10 * time.Second: 50 * time.Second} {
		p := probe{job: drive.Job{Spec: drive.Spec{Timeout: timeout}}}
		if got := p.jobOf(1).Silence; got != want {
			t.Errorf("--timeout %v: %v", timeout, got)
		}
	}
}
