package main

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// printed is what a probe with these conditions says of the runs, and its exit code.
func (p probe) printed(t *testing.T, all []figures, conditions ...string) (string, int) {
	t.Helper()
	p.confidence = 0.95
	for _, text := range conditions {
		b, err := parseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		p.bounds = append(p.bounds, b)
	}
	var out strings.Builder
	err := p.print(&out, all)
	e := exit{exitDone, nil}
	if err != nil && !errors.As(err, &e) {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	if err != nil {
		text += " error: " + err.Error()
	}
	return text, e.code
}

// Answers per second are those of the whole run, as of a trial: a server that answers no more after 0.1 s is not quick.
func TestProbeRateIsOfTheWholeRun(t *testing.T) {
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
	if run := read.PerRun[0]; math.Abs(run.Answers-20) > 1e-6 || run.Length == nil || *run.Length != 5 {
		t.Errorf("%g answers per second of a run of %v s, want 20 and 5", run.Answers, run.Length)
	}
	if last := read.Figures[len(read.Figures)-1]; last.Name != "answers" || math.Abs(last.Mean-20) > 1e-6 {
		t.Errorf("got %+v, want 20 answers per second", last)
	}
	for text, want := range map[string]stat.Verdict{
		"rate<10": stat.Contradicted, "rate<100": stat.Confirmed, "rate>100": stat.Contradicted,
	} {
		b, err := parseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		got := judgeAll([]bound{b}, all, 0.95)[0]
		if got.Verdict != want || *got.Value != 20 {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Where a figure is the geometric mean of runs, it says so, and the mean that a condition names is not forgotten.
func TestProbeNamesGeometricMeans(t *testing.T) {
	const ms = time.Millisecond
	p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
	steady, code := p.printed(t, runsOf(0, 10*ms, 11*ms, 9*ms), "mean>5ms")
	if strings.Contains(steady, "geometric") || strings.Contains(steady, "rtt *") || code != exitWorse {
		t.Errorf("exit code %d: %s", code, steady)
	}
	// The logarithms have mean ln(900)/6 and standard deviation ln(900)/√6; t of 5 degrees of freedom is 2.5706, so the
	// geometric mean is 3.11 ms (0.169 ms to 57.3 ms). The mean is 150.8 ms.
	wild := runsOf(0, ms, ms, ms, ms, ms, 900*ms)
	for condition, want := range map[string]string{
		"mean>60ms":    ": undecided, 3.11 ms (169 µs to 57.3 ms), the geometric mean of runs; the mean of runs is 151 ms",
		"mean>200ms":   ": not met, 3.11 ms (169 µs to 57.3 ms), the geometric mean of runs",
		"mean<60ms":    ": undecided, 3.11 ms",
		"mean>150us":   ": met, 3.11 ms",
		"median<100us": ": not met, 3.11 ms",
	} {
		text, code := p.printed(t, wild, condition)
		for _, want := range []string{condition + want, "rtt * 3.11 ms 169 µs 57.3 ms",
			"* the geometric mean of runs: they differ so much that an interval of their mean would"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
		if worse := strings.HasPrefix(want, ": met"); (code == exitWorse) != worse {
			t.Errorf("%s: exit code %d", condition, code)
		}
	}
	p.asJSON = true
	if text, _ := p.printed(t, wild, "mean>60ms"); strings.Count(text, `"method": "geometric mean of trial means`) < 2 {
		t.Errorf("got %s", text)
	}
}

// silentRun is one in which every request failed.
func silentRun() figures {
	return figures{sent: 100, failed: 100, why: "no response", quality: drive.DriverStats{Elapsed: time.Second}}
}

// A run in which every request failed does not take away what the others say, nor what its failures do.
func TestProbeJudgesBesideARunThatFailed(t *testing.T) {
	const ms = time.Millisecond
	p := probe{job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}}}
	broken := p
	broken.broken = errors.New("connection refused")
	asJSON := p
	asJSON.asJSON = true
	strict := p
	strict.strict = true
	one := append(runsOf(0, 10*ms, 11*ms, 9*ms, 10*ms, 10*ms), silentRun())
	none := []figures{silentRun(), silentRun()}
	for _, tt := range []struct {
		p          probe
		all        []figures
		conditions string
		code       int
		want       string
	}{
		{p, one, "", exitDone, "warning: 1 of 6 runs had no answer: times and sizes are of the others"},
		{p, one, "", exitDone, "rtt 10.0 ms"},
		{p, one, "failures>0", exitWorse, "failures>0: met; 100 of 600 requests failed"},
		{p, one, "p99>5ms", exitWorse, "p99>5ms: met, 10.0 ms"},
		{p, one, "max>10.5ms", exitWorse, "max>10.5ms: met, 11.0 ms"},
		{p, one, "p99>20ms", exitDone, "p99>20ms: undecided, 10.0 ms"},
		{p, one, "max>20ms", exitDone, "undecided, 11.0 ms; 1 of 6 runs had no answer, and the others were judged"},
		{strict, one, "p99>20ms", exitWorse, "which --strict counts as worse"},
		// The rates are 100, 90.9, 111.1, 100, 100 and 0: their mean is 83.7, and the interval reaches from 40 to 127.
		{p, one, "rate<30", exitDone, "rate<30: not met, 83.7 /s"},
		{p, one, "rate<90", exitDone, "rate<90: undecided, 83.7 /s"},
		{p, one, "rate<200", exitWorse, "rate<200: met, 83.7 /s"},
		{p, append(none, runsOf(0, 10*ms)...), "rate<1", exitDone, "rate<1: undecided, 33.3 /s (0 /s to 177 /s)"},
		{asJSON, one, "p99>5ms", exitWorse, `"verdict": "confirmed"`},
		{p, none, "", exitUnmeasured, "error: http://127.0.0.1/: every request failed; first failure: no response"},
		{p, none, "p99>20ms", exitUnmeasured, "every request failed"},
		{strict, none, "p99>20ms", exitUnmeasured, "every request failed"},
		{p, none, "failures>500", exitUnmeasured, "every request failed"},
		{p, none, "failures>0", exitWorse, "failures>0: met; 200 of 200 requests failed"},
		{p, none, "rate<100", exitWorse, "rate<100: met, 0 /s"},
		{asJSON, none, "", exitUnmeasured, `"failures": 200`},
		{asJSON, none, "p99>20ms", exitUnmeasured, `"why": "no request was answered"`},
		{asJSON, none, "failures>1%", exitWorse, `"first_failure": "no response"`},
		{p, []figures{{}}, "failures<5", exitUnmeasured, "no request was sent; raise --duration or --rate"},
		{broken, nil, "failures<5", exitUnmeasured, "error: connection refused"},
		{broken, runsOf(0, ms), "failures>0", exitUnmeasured, "error: connection refused"},
		{broken, runsOf(7, ms), "failures>0", exitWorse, "warning: run 2 could not be made, so there is none after it either: " +
			"connection refused"},
	} {
		var conditions []string
		if tt.conditions != "" {
			conditions = []string{tt.conditions}
		}
		text, code := tt.p.printed(t, tt.all, conditions...)
		if code != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("%s: exit code %d, want %d: %s; want %q", tt.conditions, code, tt.code, text, tt.want)
		}
		if tt.code == exitUnmeasured && !tt.p.asJSON && !strings.HasPrefix(text, " error: ") {
			t.Errorf("%s: nothing was measured, and it prints %s", tt.conditions, text)
		}
	}
}

// A server that dies in the middle of a probe, after failures: that some requests failed stays true.
func TestProbeOfAServerThatDies(t *testing.T) {
	for condition, want := range map[string]int{"failures>0": exitWorse, "failures>1": exitUnmeasured} {
		o, asked := newOwn(t), 0
		s := httptest.NewUnstartedServer(nil)
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked++; asked == 3 {
				w.WriteHeader(http.StatusInternalServerError)
			}
			if asked == 5 { // the last of the first run
				s.Listener.Close()
			}
		})
		s.Start()
		defer s.Close()
		out, code := o.run(t, "probe", s.URL, "--requests", "5", "--warmup", "0", "--runs", "3", "--fail-if", condition)
		if code != want || !strings.Contains(out, "connection refused") ||
			strings.Contains(out, "run 2 could not be made") != (want == exitWorse) {
			t.Errorf("%s: exit code %d, want %d: %s", condition, code, want, out)
		}
	}
}
