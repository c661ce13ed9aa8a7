package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
)

// What a condition of probe means, and where one that means nothing is wrong.
func TestBoundsOfProbe(t *testing.T) {
	for text, want := range map[string]bound{
		"p99>20ms":            {figure: "response", of: "p99", at: 0.02},
		" rtt.p99.9 >= 1.5 s": {figure: "rtt", of: "p99.9", equal: true, at: 1.5},
		"median<300us":        {figure: "response", of: "p50", less: true, at: 300e-6},
		"response.max>1min":   {figure: "response", of: "max", at: 60},
		"failures>0":          {figure: "failures", of: "number"},
		"failures > 1%":       {figure: "failures", of: "share", at: 0.01},
		"rate<100/s":          {figure: "rate", less: true, at: 100},
	} {
		want.text = strings.TrimSpace(text)
		got, err := parseBound(text)
		if err != nil || math.Abs(got.at-want.at) > 1e-12 {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if got.at = want.at; got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"p99>20mss":  `"p99>20mss", character 7: unknown unit "mss" of a time; write ns, us, ms, s or min`,
		"p99":        "character 4: expected < or >",
		"p99>":       "character 5: expected a number",
		"p100>1s":    `character 1: unknown figure "p100"`,
		"rrt>1s":     `character 1: unknown figure "rrt"`,
		"rate>5ms":   `character 7: unknown unit "ms" of a rate`,
		"failures>x": "character 10: expected a number",
		"":           "character 1: unknown figure",
	} {
		if _, err := parseBound(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// runsOf are runs of 100 requests, all of the same time in a run.
func runsOf(failed int, times ...time.Duration) []figures {
	var all []figures
	for _, d := range times {
		x := figures{sent: 100 + failed, failed: failed, last: 100 * d, quality: drive.DriverStats{Elapsed: 100 * d}}
		for range 100 {
			x.rtt, x.response = append(x.rtt, int64(d)), append(x.response, int64(d))
		}
		all = append(all, x)
	}
	return all
}

// A condition is met or excluded by the interval over the runs, and undecided where
// that holds the bound; failures and the greatest value are facts.
func TestConditionsOfProbe(t *testing.T) {
	const ms = time.Millisecond
	steady := runsOf(0, 10*ms, 11*ms, 9*ms, 10*ms, 10*ms, 10*ms)
	for text, want := range map[string]stat.Verdict{
		"p99>5ms": stat.Confirmed, "p99>20ms": stat.Contradicted, "p99>10ms": stat.Undecided,
		"rtt.mean<20ms": stat.Confirmed, "max>10.5ms": stat.Confirmed, "max>11.5ms": stat.Contradicted,
		"failures>0": stat.Contradicted, "rate<50": stat.Contradicted, "rate<200": stat.Confirmed,
		"p99.9>5ms": stat.Undecided, // 100 requests say nothing of it
	} {
		b, err := parseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := judgeAll([]bound{b}, steady, 0.95)[0]; got.Verdict != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	starved := runsOf(0, 10*ms, 11*ms, 9*ms, 10*ms, 10*ms, 10*ms)
	for i := range starved {
		starved[i].quality.RunQueueWait = starved[i].quality.Elapsed * 3 / 10 // times may be 1.56 times as long
	}
	for text, want := range map[string]stat.Verdict{
		"p99>5ms": stat.Confirmed, "p99>8ms": stat.Undecided, "p99>20ms": stat.Contradicted, "max>8ms": stat.Undecided,
		"mean<8ms": stat.Undecided, "rate<110": stat.Undecided, "rate<90": stat.Contradicted, "rate<200": stat.Confirmed,
	} {
		b, err := parseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := judgeAll([]bound{b}, starved, 0.95)[0]; got.Verdict != want ||
			strings.Contains(got.Why, "waited for a CPU") != (want == stat.Undecided) {
			t.Errorf("%s beside other programs: got %s, want %s", text, got, want)
		}
	}
	b, _ := parseBound("p99>5ms")
	if got := judgeAll([]bound{b}, runsOf(0, 10*ms), 0.95)[0]; got.Verdict != stat.Undecided ||
		*got.Value != 0.01 || !strings.Contains(got.Why, "one run has no interval") {
		t.Errorf("one run: got %s", got)
	}
	for text, want := range map[string]stat.Verdict{
		"failures>=2": stat.Confirmed, "failures>2": stat.Contradicted, "failures<=2": stat.Confirmed,
		"failures<2": stat.Contradicted, "failures>=3": stat.Contradicted, "max>=10ms": stat.Confirmed,
		"max>10ms": stat.Contradicted,
	} {
		b, err := parseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.held(runsOf(1, 10*ms, 10*ms), 0.95); got.Verdict != want {
			t.Errorf("%s, of 2 failures, 10 ms at most: got %s, want %s", text, got, want)
		}
	}
	b, _ = parseBound("failures>5%")
	if got := judgeAll([]bound{b}, runsOf(10, ms, ms), 0.95)[0]; got.Verdict != stat.Confirmed ||
		got.Why != "20 of 220 requests failed (5.6 % to 14 %)" {
		t.Errorf("got %s", got)
	}
}

// The mean of the answered requests keeps to a bound where a condition says how many may fail, and no more did.
func TestAMeanBesideFailures(t *testing.T) {
	const ms = time.Millisecond
	const of = "the mean covers only the requests that were answered, and 1.96 % of all failed"
	for _, tt := range []struct {
		beside string
		want   stat.Verdict
		why    string
	}{
		{"", stat.Undecided, of + ": say how many may fail, too, such as --fail-if 'failures>1%'"},
		{"failures>5%", stat.Contradicted, of},
		{"failures>6", stat.Contradicted, of},
		{"failures>1%", stat.Undecided, of + ": whether failures>1% is open"},
		{"failures>0.1%", stat.Undecided, of + ": more than failures>0.1% allows"},
		{"failures<50%", stat.Undecided, of + ": say how many may fail"},
		{"p90>20ms", stat.Undecided, of + ": say how many may fail"},
	} {
		conditions := []string{"mean>20ms"}
		if tt.beside != "" {
			conditions = append(conditions, tt.beside)
		}
		p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
		text, _ := p.printed(t, runsOf(2, 10*ms, 10*ms+ms/10, 10*ms-ms/10), conditions...)
		want := "mean>20ms: " + map[stat.Verdict]string{stat.Undecided: "undecided", stat.Contradicted: "not met"}[tt.want] +
			", 10.0 ms ("
		if !strings.Contains(text, want) || !strings.Contains(text, "; "+tt.why) {
			t.Errorf("beside %q: want %q and %q in %s", tt.beside, want, tt.why, text)
		}
	}
}

// The percentile of requests of which more failed than lie beyond it is that of those that were answered: among all it
// is one that was not, and no bound is kept to by it. One that even those break is broken.
func TestAPercentileOfAnsweredRequestsKeepsToNoBound(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		failed int // beside 100 that were answered, in each of three runs
		text   string
		want   stat.Verdict
	}{
		{1, "p99>20ms", stat.Contradicted}, {2, "p99>20ms", stat.Undecided}, {2, "rtt.p99>20ms", stat.Undecided},
		{2, "p99>5ms", stat.Confirmed}, {2, "p95>20ms", stat.Contradicted}, {2, "mean>20ms", stat.Undecided},
		{2, "rtt.mean>20ms", stat.Undecided}, {2, "mean>5ms", stat.Confirmed}, {2, "mean<20ms", stat.Undecided},
		{0, "max>20ms", stat.Contradicted}, {1, "max>20ms", stat.Undecided}, {1, "max>5ms", stat.Confirmed},
		{2, "median<20ms", stat.Confirmed}, {150, "median<20ms", stat.Undecided},
		{150, "median<5ms", stat.Contradicted}, {2, "failures>0.5%", stat.Confirmed}, {2, "failures>5%", stat.Contradicted},
		{150, "rate<50", stat.Contradicted},
	} {
		b, err := parseBound(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		got := judgeAll([]bound{b}, runsOf(tt.failed, 10*ms, 10*ms+ms/10, 10*ms-ms/10), 0.95)[0]
		if got.Verdict != tt.want || strings.Contains(got.Why, "answered") != (tt.want == stat.Undecided) {
			t.Errorf("%d of %d failed, %s: got %s, want %s", tt.failed, 100+tt.failed, tt.text, got, tt.want)
		}
	}
	b, _ := parseBound("p99>20ms")
	starved := runsOf(5, 30*ms, 30*ms, 30*ms+ms/10)
	for i := range starved {
		starved[i].quality.RunQueueWait = starved[i].quality.Elapsed * 3 / 10
	}
	const want = "p99>20ms: undecided, 30.0 ms (29.9 ms to 30.2 ms); the driver waited for a CPU"
	if got := judgeAll([]bound{b}, starved, 0.95)[0].String(); !strings.HasPrefix(got, want) {
		t.Errorf("what is broken, and waited: got %s, want %s", got, want)
	}
	const answered = "p99>40ms: undecided, 30.0 ms (29.9 ms to 30.2 ms); 4.76 % of all requests have failed, " +
		"and p99 covers"
	if b, _ = parseBound("p99>40ms"); !strings.HasPrefix(judgeAll([]bound{b}, starved, 0.95)[0].String(), answered) {
		t.Errorf("got %s, want %s", judgeAll([]bound{b}, starved, 0.95)[0], answered)
	}
}

// The verb itself: conditions decide the exit code, by a service whose time is
// known; timers and the kind of loop are named; two outputs are compared.
func TestProbeGates(t *testing.T) {
	o, a := newOwn(t), &account{}
	url := serveOwnMQTT(t, a)
	probe := func(want int, args ...string) string {
		t.Helper()
		args = append([]string{"probe", url, "--topic", "sensor/request", "--response-topic", "sensor/response",
			"--body", "body", "--requests", "20", "--warmup", "0"}, args...)
		out, code := o.run(t, args...)
		if code != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, want, out)
		}
		return out
	}
	o.write(t, "body", "21.5")
	// Every request takes 5 ms or more, whatever the machine does; the quickest hardly more.
	out := probe(exitWorse, "--runs", "3", "--fail-if", "rtt.p10>2ms", "--fail-if", "failures>0")
	if !strings.Contains(out, "rtt.p10>2ms: met, ") ||
		!strings.Contains(out, "failures>0: not met; 0 of 60 requests failed") ||
		!strings.Contains(out, "closed loop: 1 connection,") ||
		!strings.Contains(strings.Join(strings.Fields(out), " "), "coordinated omission") {
		t.Errorf("got %s", out)
	}
	if n, wrong := a.seen(); n != 60 || wrong != "" {
		t.Errorf("the service saw %d requests, want 60; %s", n, wrong)
	}
	probe(exitDone, "--runs", "3", "--fail-if", "median<4ms", "--fail-if", "failures>0")
	if out := probe(exitUsage, "--fail-if", "p99>20ms"); !strings.Contains(out,
		"p99 needs at least 100 requests in a run") {
		t.Errorf("got %s", out)
	}
	if out := probe(exitUsage, "--fail-if", "p99>20mss"); !strings.Contains(out, "character 7") {
		t.Errorf("got %s", out)
	}
	if out := probe(exitDone, "--runs", "1", "--rate", "50"); !strings.Contains(out,
		"open loop: 50 requests per second (constant)") {
		t.Errorf("got %s", out)
	}
	out = strings.Join(strings.Fields(probe(exitDone, "--runs", "1", "--rate", "500")), " ")
	if !strings.Contains(out, "open loop: 500 requests per second (constant) were due, but not all were sent then") ||
		!strings.Contains(out, "warning: the rate was not reached: requests left at ") ||
		!strings.Contains(out, "found the only connection in use") || !strings.Contains(out, "set --concurrency to ") {
		t.Errorf("a rate that one connection cannot send: got %s", out)
	}
	old := probe(exitDone, "--runs", "6", "--json")
	var read probeReport
	if err := json.Unmarshal([]byte(old), &read); err != nil || read.Format != 1 || len(read.PerRun) != 6 ||
		read.Load.Loop != "closed" ||
		read.PerRun[0].RTT.Mean < 0.005 || read.PerRun[0].RTT.P99 != nil || read.Load.Protocol != "mqtt5" {
		t.Fatalf("%v: got %s", err, old)
	}
	// Ten times the times, made here: a change that is certain, had the driver not waited for a CPU.
	for i := range read.PerRun {
		read.PerRun[i].Waiting = 0
	}
	unhindered, _ := json.Marshal(read)
	slow := read
	slow.PerRun = nil
	for _, r := range read.PerRun {
		for _, v := range []*float64{&r.RTT.Mean, &r.RTT.Median, r.RTT.P95, r.RTT.P99, &r.RTT.Max} {
			if v != nil {
				*v *= 10
			}
		}
		slow.PerRun, slow.Load.Concurrency = append(slow.PerRun, r), 2
	}
	text, _ := json.Marshal(slow)
	o.write(t, "old.json", string(unhindered))
	o.write(t, "slow.json", string(text))
	o.write(t, "earlier.json", `{"url": "http://h/", "runs": 6, "figures": []}`)
	o.write(t, "newer.json", `{"format": 2, "kind": "probe", "url": "http://h/"}`)
	one := slow
	one.PerRun, one.Runs = slow.PerRun[:1], 1
	one.Requests, one.Failures = one.PerRun[0].Requests, one.PerRun[0].Failures
	text, _ = json.Marshal(one)
	o.write(t, "one.json", string(text))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"old.json", "slow.json", "--fail-if", "rtt.median > 100%"}, exitUsage, "are of different loads"},
		{[]string{"old.json", "slow.json", "--fail-if", "rtt.median > 100%", "--other-load"}, exitWorse,
			"worse: a condition is met beyond doubt"},
		{[]string{"old.json", "slow.json", "--other-load"}, exitDone,
			"the set-up differs: load: mqtt5 POST, keep-alive, closed loop over 1"},
		{[]string{"old.json", "one.json", "--fail-if", "rtt.median > 100%", "--other-load"}, exitDone,
			"1 run: intervals are wide"},
		{[]string{"old.json", "earlier.json"}, exitUsage, "earlier.json has no figures of runs"},
		{[]string{"old.json", "newer.json"}, exitUsage, "newer.json has format 2, and this edgegauge reads 1"},
		{[]string{"old.json", "."}, exitUsage, "one is a probe, the other a results directory"},
		{[]string{"old.json", "body"}, exitUsage, "body is not what edgegauge probe --json prints"},
	} {
		out, code := o.run(t, append([]string{"compare"}, c.args...)...)
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(out), " "), c.want) {
			t.Errorf("%v: exit code %d, want %d: %s; want %q", c.args, code, c.code, out, c.want)
		}
	}
}

// Files of format 1 stay readable: this one was written by the first version of it.
func TestProbeReadsFormatOne(t *testing.T) {
	path := filepath.Join("testdata", "probe", "format1.json")
	p, is, err := readProbe(path)
	if err != nil || !is || len(p.PerRun) != 2 || len(p.series()) != 5 || p.series()[0].Trials[1].Median != 0.0061 {
		t.Errorf("got %+v, %v, %v", p, is, err)
	}
	if text, _ := os.ReadFile(path); !strings.Contains(string(text), `"format": 1`) {
		t.Error("it is not of format 1")
	}
}

// A delayed acknowledgement is named: 40 ms in every request, with 1 ms of work.
func TestProbeHintsAtTimers(t *testing.T) {
	p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/"}}}
	if got := p.hints(runsOf(0, 41*time.Millisecond, 41*time.Millisecond)); len(got) != 1 ||
		!strings.Contains(got[0], "delayed acknowledgement") || strings.Contains(got[0], "network") {
		t.Errorf("got %q", got)
	}
	p.job.URL = "http://192.0.2.1/"
	if got := p.hints(runsOf(0, 41*time.Millisecond)); len(got) != 1 ||
		!strings.Contains(got[0], "or the network takes as long") {
		t.Errorf("far away: got %q", got)
	}
	if got := p.hints(runsOf(0, 5*time.Millisecond)); len(got) != 0 {
		t.Errorf("5 ms: got %q", got)
	}
	p.job.URL, p.job.Protocol = "http://127.0.0.1/", drive.HTTP1 // whose answers the driver sees stand still, or not
	for held, want := range map[int]int{0: 0, 1: 0, 4: 1, 100: 1} {
		all := runsOf(0, 41*time.Millisecond)
		all[0].quality.Held = held
		if got := p.hints(all); len(got) != want {
			t.Errorf("%d of 100 answers stood still: got %q", held, got)
		}
	}
	all := runsOf(0, 41*time.Millisecond) // a continuum
	for i := range all[0].rtt {
		all[0].rtt[i] = int64(i) * 860e3
	}
	if p.job.Protocol = drive.HTTP2; len(p.hints(all)) != 0 {
		t.Errorf("0 to 86 ms: got %q", p.hints(all))
	}
}

// TestBoundsOfProbesReadWhatReportsPrint: a time of any size, as a report prints it, is a bound.
func TestBoundsOfProbesReadWhatReportsPrint(t *testing.T) {
	for v := 1.23e-14; v < 1e11; v *= 10 {
		b, err := parseBound("p99>" + report.Format(v, "s"))
		if err != nil || math.Abs(b.at-v) > 0.01*v {
			t.Errorf("%s: %v, %v", report.Format(v, "s"), b.at, err)
		}
	}
}
