package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// Two probes are of equal services, of which one gives up its slowest 2 %: compare calls the one that answers them not
// worse for its times, nor by a file that does not say where the median of all requests lies, as earlier ones.
func TestProbesAreComparedByAllRequests(t *testing.T) {
	const comparisons = 100
	worse, err := advise.ParseChange("rtt > 5%")
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(29, 40))
	probed := func(scale float64, fail int, earlier bool) probeReport {
		p := probeReport{URL: "http://h/"}
		for range 12 {
			times := make([]int64, 200)
			base := scale * 461e3 * math.Exp(0.05*rnd.NormFloat64())
			for i := range times {
				times[i] = int64(base * math.Exp(0.3*rnd.NormFloat64()))
				if rnd.Float64() < 0.04 {
					times[i] += int64(1e7 * (1 + rnd.Float64()))
				}
			}
			slices.Sort(times)
			body := 1.0
			r := probeRun{Requests: 200, Failures: fail, RTT: withinOf(times[:200-fail], fail),
				ResponseTime: withinOf(times[:200-fail], fail), RequestBody: 1, ResponseBody: &body, Answers: 1}
			if earlier {
				for _, w := range []*within{r.RTT, r.ResponseTime} {
					w.MedianOfAll, w.P95OfAll = nil, nil
				}
			}
			p.PerRun = append(p.PerRun, r)
			p.Requests, p.Failures = p.Requests+200, p.Failures+fail
		}
		return p
	}
	for _, x := range []struct {
		words   string
		scale   float64
		fail    int // of the old one
		earlier bool
		right   bool // it is worse
	}{
		{"none gives up", 1, 0, false, false},
		{"the old one gave up 2 %", 1, 4, false, false},
		{"the same in earlier files", 1, 4, true, false},
		{"the old one gave up 60 %", 1, 120, false, false},
		{"the old one gave up 2 %, the new one takes 1.6 times as long", 1.6, 4, false, true},
	} {
		said := 0
		for range comparisons {
			c, err := compareProbes("old", "new", probed(1, x.fail, x.earlier), probed(x.scale, 0, x.earlier),
				[]advise.Condition{worse}, compareFlags{confidence: 0.95, margin: 0.05})
			if err != nil {
				t.Fatal(err)
			}
			if c.Verdict() == stat.Confirmed {
				said++
			}
		}
		t.Logf("%s: worse in %d of %d comparisons", x.words, said, comparisons)
		if x.right && said < comparisons*9/10 || !x.right && said > 12 {
			t.Errorf("%s: worse in %d of %d comparisons", x.words, said, comparisons)
		}
	}
}

// Where requests failed, the table says once that its times are of the others; where none did, it does not.
func TestProbeSaysOfWhomItsTimesAre(t *testing.T) {
	p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
	for failed, want := range map[int]int{0: 0, 3: 1} {
		text, _ := p.printed(t, runsOf(failed, 10*time.Millisecond, 11*time.Millisecond), "rtt.mean>20ms")
		if strings.Count(text, "Times and the response body are of the 200 of 206 requests that were answered") != want {
			t.Errorf("%d failed of each run: %s", failed, text)
		}
	}
}

// A driver that waited for a CPU explains requests without an answer in time, and no others; of a file that does not
// say how they failed it may explain all.
func TestWaitingExplainsLateRequestsOfProbes(t *testing.T) {
	probed := func(failed int, late *int) probeReport {
		p := probeReport{URL: "http://h/"}
		times := slices.Repeat([]int64{1e6}, 200)
		body := 1.0
		for i := range 8 {
			times[0] += int64(1e3 * i)
			p.PerRun = append(p.PerRun, probeRun{Requests: 200, Failures: failed, Late: late, Waiting: 0.3, RequestBody: 1,
				RTT: withinOf(times[:200-failed], failed), ResponseTime: withinOf(times[:200-failed], failed), ResponseBody: &body,
				Answers: 1})
			p.Requests, p.Failures = p.Requests+200, p.Failures+failed
		}
		return p
	}
	zero, all := 0, 20
	for what, tt := range map[string]struct {
		late *int
		want stat.Verdict
	}{"errors": {&zero, stat.Confirmed}, "late": {&all, stat.Undecided}, "nobody knows": {nil, stat.Undecided}} {
		c, err := compareProbes("old", "new", probed(0, &zero), probed(20, tt.late), nil, compareFlags{margin: 0.05})
		if err != nil || c.Verdict() != tt.want {
			t.Errorf("%s: got %s, %v", what, c.Verdict(), err)
		}
	}
	x := figures{}
	for _, why := range []string{"status 500", "no response within 5s", ""} {
		if err := x.add(measure.Exchange{Failure: why, Done: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if x.failed != 2 || x.late != 1 {
		t.Errorf("got %d, %d late", x.failed, x.late)
	}
	if p := probed(20, &all); !p.possible() {
		t.Error("a possible file is not read")
	} else if all = 21; p.possible() {
		t.Error("more requests were late than failed")
	}
}

// The throughput of a probe of an earlier version in which requests failed is until the last answer: it is compared all
// the same, and said to be so. Where none failed, it is that of the run.
func TestEarlierProbesAreSaidToBeTooFast(t *testing.T) {
	probed := func(failed int, length *float64) probeReport {
		p := probeReport{URL: "http://h/"}
		times, body := slices.Repeat([]int64{1e6}, 200), 1.0
		for i := range 8 {
			times[0] += int64(1e3 * i)
			p.PerRun = append(p.PerRun, probeRun{Requests: 200, Failures: failed, RequestBody: 1, ResponseBody: &body,
				RTT: withinOf(times[:200-failed], failed), ResponseTime: withinOf(times[:200-failed], failed),
				Answers: 600 + float64(i), Length: length})
			p.Requests, p.Failures = p.Requests+200, p.Failures+failed
		}
		return p
	}
	second := 1.0
	for what, tt := range map[string]struct {
		old  probeReport
		want bool
	}{
		"an earlier one that failed": {probed(20, nil), true}, "an earlier one": {probed(0, nil), false},
		"one of today that failed": {probed(20, &second), false},
	} {
		c, err := compareProbes("old", "new", tt.old, probed(0, &second), nil, compareFlags{margin: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(c.Warnings, "\n"), "old: an earlier edgegauge counted"); got != tt.want {
			t.Errorf("%s: %q, want a warning: %v", what, c.Warnings, tt.want)
		}
	}
}
