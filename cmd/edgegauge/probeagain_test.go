package main

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/stat"
)

// resets are runs of a service that resets so many of 100 requests of each, which are sent again and answered.
func resets(n int) []figures {
	all := runsOf(0, 10*time.Millisecond, 11*time.Millisecond, 9*time.Millisecond, 10*time.Millisecond,
		10*time.Millisecond, 11*time.Millisecond)
	for i := range all {
		all[i].quality.Repetitions, all[i].quality.Reconnects = n, n
	}
	return all
}

// A service that resets requests keeps to no bound on failures unless a condition says how many may be sent again.
func TestConditionsOnFailuresCountRetries(t *testing.T) {
	for _, tt := range []struct {
		again      int
		conditions []string
		want       []stat.Verdict
	}{
		{10, []string{"failures>0"}, []stat.Verdict{stat.Undecided}},
		{10, []string{"failures>1%"}, []stat.Verdict{stat.Undecided}},
		{10, []string{"failures>20%"}, []stat.Verdict{stat.Contradicted}},
		{10, []string{"failures<1%"}, []stat.Verdict{stat.Undecided}},
		{10, []string{"failures>0", "retries>50%"}, []stat.Verdict{stat.Contradicted, stat.Contradicted}},
		{10, []string{"failures>0", "retries>1%"}, []stat.Verdict{stat.Undecided, stat.Confirmed}},
		{10, []string{"retries>0", "mean>20ms"}, []stat.Verdict{stat.Confirmed, stat.Contradicted}},
		{0, []string{"failures>0", "retries>0"}, []stat.Verdict{stat.Contradicted, stat.Contradicted}},
	} {
		var bounds []bound
		for _, text := range tt.conditions {
			b, err := parseBound(text)
			if err != nil {
				t.Fatal(err)
			}
			bounds = append(bounds, b)
		}
		for i, got := range judgeAll(bounds, resets(tt.again), 0.95) {
			if got.Verdict != tt.want[i] {
				t.Errorf("%v: got %s, want %s", tt.conditions, got, tt.want[i])
			}
		}
	}
	p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
	text, _ := p.printed(t, resets(10), "failures>0")
	for _, want := range []string{"failures>0: undecided; 0 of 600 requests failed; but the connection broke during 60 " +
		"requests", "--fail-if 'retries>1%'"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("not %q: %s", want, text)
		}
	}
}

// Of two probes the new one is worse if more of its requests were sent again, beyond chance; files of an earlier
// edgegauge have no count for each run, and tell less.
func TestComparedProbesCountRetries(t *testing.T) {
	probed := func(again int, earlier bool) probeReport {
		out := probeReport{URL: "http://h/"}
		for range 8 {
			times := make([]int64, 100)
			for i := range times {
				times[i] = int64(1e6 + i)
			}
			body := 1.0
			r := probeRun{Requests: 100, RTT: withinOf(times, 0), ResponseTime: withinOf(times, 0), RequestBody: 1,
				ResponseBody: &body, Answers: 1, Repetitions: &again}
			if earlier {
				r.Repetitions = nil
			}
			out.PerRun = append(out.PerRun, r)
			out.Requests, out.Repetitions = out.Requests+100, out.Repetitions+again
		}
		return out
	}
	for _, tt := range []struct {
		old, new       int
		earlier, allow bool
		want           stat.Verdict
	}{{0, 11, false, false, stat.Confirmed}, {0, 11, true, false, stat.Undecided}, {0, 11, false, true, ""},
		{11, 0, false, false, ""}, {11, 11, false, false, ""}, {0, 0, false, false, ""}} {
		c, err := compareProbes("old", "new", probed(tt.old, tt.earlier), probed(tt.new, tt.earlier), nil,
			compareFlags{confidence: 0.95, margin: 0.05, lost: tt.allow})
		if err != nil {
			t.Fatal(err)
		}
		var json strings.Builder
		if err := c.JSON(&json); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(json.String(), `"repetitions": {`); c.Verdict() != tt.want ||
			told != (tt.old+tt.new > 0 && !tt.allow) {
			t.Errorf("%+v: got %q, %s; told %v", tt, c.Verdict(), c.Says(), told)
		}
	}
}
