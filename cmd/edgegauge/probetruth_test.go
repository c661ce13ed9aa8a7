package main

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
)

// drawnRun is a run of so many requests, of which shares fail or take 50 ms, and the others 1 ms.
func drawnRun(r *rand.Rand, requests int, failing, slow float64) figures {
	x := figures{sent: requests, last: time.Second}
	x.quality.Elapsed = time.Second
	for range requests {
		took := time.Millisecond
		switch u := r.Float64(); {
		case u < failing:
			x.failed++
			continue
		case u < failing+slow:
			took = 50 * time.Millisecond
		}
		x.rtt, x.response = append(x.rtt, int64(took)), append(x.response, int64(took))
	}
	return x
}

// tooOften reports whether so many of n are more than chance makes of a rate.
func tooOften(hits, n int, rate float64) bool { return stat.AtLeast(hits, n, rate) < 1e-4 }

// A probe of a service whose failures and slow requests are drawn: what is false is not said more often than the level
// allows, and what is plain is said.
func TestProbesOfAKnownTruth(t *testing.T) {
	const probes = 500
	for _, tt := range []struct {
		what           string
		runs, requests int
		failing, slow  float64
		condition      string
		verdict        stat.Verdict
		low, high      float64 // share of the probes that say so
	}{
		{"0.9 % fail", 2, 100, 0.009, 0, "failures>1%", stat.Confirmed, 0, 0.025},
		{"2 % fail", 2, 100, 0.02, 0, "failures>1%", stat.Contradicted, 0, 0.025},
		{"4 % fail", 6, 500, 0.04, 0, "failures>1%", stat.Confirmed, 0.95, 1},
		{"none fails", 6, 100, 0, 0, "failures>1%", stat.Contradicted, 1, 1},
		{"3 % fail", 2, 100, 0.03, 0, "failures<4%", stat.Contradicted, 0, 0.025},
		// Of all requests 1.6 % are slow or have no answer, of those with one 0.8 %.
		{"0.8 % fail, and 0.8 % are slow", 6, 1000, 0.008, 0.008, "p99>20ms", stat.Contradicted, 0, 0.05},
		{"one run, 1.1 % are slow", 1, 1000, 0, 0.011, "p99>20ms", stat.Contradicted, 0, 0.025},
		{"0.1 % fail, and 0.1 % are slow", 6, 1000, 0.001, 0.001, "p99>20ms", stat.Contradicted, 0.95, 1},
		{"0.1 % fail, and 3 % are slow", 6, 1000, 0.001, 0.03, "p99>20ms", stat.Confirmed, 0.95, 1},
	} {
		b, err := parseBound(tt.condition)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(29, 12))
		said := 0
		for range probes {
			var all []figures
			for range tt.runs {
				all = append(all, drawnRun(r, tt.requests, tt.failing, tt.slow))
			}
			if judgeAll([]bound{b}, all, 0.95)[0].Verdict == tt.verdict {
				said++
			}
		}
		t.Logf("%s: %s %s in %.1f %%", tt.what, tt.condition, tt.verdict, 100*float64(said)/probes)
		if tooOften(said, probes, tt.high) || tooOften(probes-said, probes, 1-tt.low) {
			t.Errorf("%s: %s is %s in %d of %d probes", tt.what, tt.condition, tt.verdict, said, probes)
		}
	}
}

// Three figures that lie exactly at their bounds, independent of each other: any of three conditions is decided in one
// probe of twenty at most, not in one of seven.
func TestConditionsOfAProbeShareItsLevel(t *testing.T) {
	const probes, runs = 1000, 6
	var bounds []bound
	for _, text := range []string{"rtt.mean>10ms", "mean>10ms", "rate<100"} {
		b, err := parseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, b)
	}
	r := rand.New(rand.NewPCG(29, 13))
	about := func(center float64) float64 { return center * (1 + 0.05*r.NormFloat64()) }
	any, said := 0, ""
	for range probes {
		var all []figures
		for range runs {
			last := time.Duration(1e9 / about(100))
			x := figures{sent: 1, last: last, rtt: []int64{int64(about(10e6))}, response: []int64{int64(about(10e6))}}
			x.quality.Elapsed = last
			all = append(all, x)
		}
		decided := false
		for _, j := range judgeAll(bounds, all, 0.95) {
			decided = decided || j.Verdict != stat.Undecided
			if j.p < 0.05 && j.Verdict == stat.Undecided {
				said = j.String()
			}
		}
		if decided {
			any++
		}
	}
	t.Logf("a condition is decided in %.1f %%: %s", 100*float64(any)/probes, said)
	if tooOften(any, probes, 0.05) || !strings.Contains(said, "but 3 conditions are judged at once") {
		t.Errorf("a condition is decided in %d of %d probes; %q", any, probes, said)
	}
}
