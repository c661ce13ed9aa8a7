package main

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
)

// A condition that no run can decide is refused before the first; one that a run may decide is not.
func TestProbeRefusesWhatItCannotDecide(t *testing.T) {
	for _, tt := range []struct {
		requests int
		duration time.Duration
		rate     float64
		arrivals string
		bound    string
		want     string // empty: it may be decided
	}{
		{0, time.Second, 30, "", "p99>50ms", "p99 needs at least 100 requests in a run, and --rate 30 for --duration 1s makes " +
			"30, so it would stay undecided; write --duration 3.4s or longer"},
		{0, time.Second, 30, drive.Random, "p99>50ms", "makes 30 on average, so it may stay undecided; write --duration 4.6s"},
		{0, 3400 * time.Millisecond, 30, "", "p99>50ms", ""},
		// 100 on average are fewer in half of the runs; 4.6 s have 138.
		{0, 3400 * time.Millisecond, 30, drive.Random, "p99>50ms", "makes 102 on average, so it may stay undecided; write " +
			"--duration 4.6s"},
		{0, 4600 * time.Millisecond, 30, drive.Random, "p99>50ms", ""},
		{200, 3400 * time.Millisecond, 30, drive.Random, "p99>50ms", "write --duration 4.6s"},
		{105, 4 * time.Second, 30, drive.Random, "p99>50ms", "makes 120 on average"},
		{0, 100 * time.Millisecond, 30, drive.Random, "mean>50ms", ""},
		{0, time.Second, 30, "", "mean>50ms", ""},
		{0, time.Second, 30, "", "failures>0", ""},
		{0, time.Second, 0, "", "p99>50ms", ""}, // a closed loop: nobody knows how many
		{50, time.Minute, 0, "", "p99>50ms", "raise --requests"},
		{50, time.Minute, 100, "", "p99>50ms", "raise --requests"},
		{0, 0, 30, "", "p99>50ms", ""},
		{0, 0, 30, "", "p99.95>50ms", "raise --requests"},
		{0, time.Minute, 1, "", "p99>50ms", "--rate 1 for --duration 1m makes 60, so it would stay undecided; write --duration " +
			"1m40s or longer"},
	} {
		p := probe{runs: 6, cpu: drive.AnyCPU, failIf: []string{tt.bound}}
		p.job = drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1, Timeout: time.Second,
			Connection: drive.KeepAlive}, Requests: tt.requests, Duration: tt.duration, Rate: tt.rate, Arrivals: tt.arrivals}
		err := p.complete()
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v", tt, err)
		}
	}
}

// What is judged by an interval over the runs takes two of them; what is counted takes one.
func TestProbeRefusesWhatOneRunCannotDecide(t *testing.T) {
	for bound, refused := range map[string]bool{"p99>50ms": true, "mean>50ms": true, "rtt>50ms": true, "rate<10": true,
		"max>1s": false, "failures>0": false, "failures>1%": false} {
		for runs, one := range map[int]bool{1: true, 2: false} {
			p := probe{runs: runs, cpu: drive.AnyCPU, failIf: []string{bound}}
			p.job = drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1, Timeout: time.Second,
				Connection: drive.KeepAlive}}
			err := p.complete()
			if (err != nil) != (refused && one) || err != nil && !strings.Contains(err.Error(), "one run has none; write") {
				t.Errorf("%s, %d runs: got %v", bound, runs, err)
			}
		}
	}
}
