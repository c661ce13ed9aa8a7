package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
)

// The interval of the arrival rate covers the true one as often as it says,
// since every run has arrivals of its own. With one seed for all runs it
// excluded the truth nearly always.
func TestProbeIntervalCoversTheRate(t *testing.T) {
	const rate, probes, runs = 500.0, 400, 6
	covered := 0
	for i := range probes {
		p := probe{confidence: 0.95, runs: runs}
		p.job = drive.Job{Spec: drive.Spec{URL: "http://h/"}, Rate: rate, Arrivals: drive.Random, Seed: uint64(1 + 1000*i)}
		var all []figures
		for run := range runs {
			var x figures
			for due := range drive.Poisson(rate, p.jobOf(run).Seed, 0, time.Second) {
				_ = x.add(measure.Exchange{Due: due, Sent: due, Done: due + time.Millisecond})
				x.quality.Elapsed = due + time.Millisecond
			}
			all = append(all, x)
		}
		for _, f := range p.table(all) {
			if f.Name == "answers" && f.CI != nil && f.CI[0] <= rate && rate <= f.CI[1] {
				covered++
			}
		}
	}
	// Three standard errors of a share of 0.95 in 400: 0.033.
	if share := float64(covered) / probes; math.Abs(share-0.95) > 0.033 {
		t.Errorf("the 95 %% interval of the rate covers it in %.1f %% of %d probes", 100*share, probes)
	}
}

// Failed requests have no size and no time, and what cannot be negative has no
// interval below zero.
func TestProbeFiguresAreOfAnswers(t *testing.T) {
	p := probe{confidence: 0.95}
	var all []figures
	for _, rtt := range []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond, 900 * time.Millisecond} {
		x := figures{quality: drive.DriverStats{Elapsed: time.Second, Repetitions: 2, RunQueueWait: 300 * time.Millisecond}}
		for i := range 10 {
			e := measure.Exchange{Done: rtt, Out: 7, In: 100}
			if i%2 == 1 {
				e = measure.Exchange{Out: 7, In: 3, Failure: "cut off"}
			}
			_ = x.add(e)
		}
		all = append(all, x)
	}
	seen := 0
	for _, f := range p.table(all) {
		switch f.Name {
		case "response body", "request body":
			if want := map[string]float64{"response body": 100, "request body": 7}[f.Name]; f.Mean != want {
				t.Errorf("%s %g B, want %g", f.Name, f.Mean, want)
			}
			seen++
		case "rtt":
			if len(f.CI) != 2 || f.CI[0] <= 0 || f.CI[0] > f.Mean || f.CI[1] < f.Mean {
				t.Errorf("rtt %g, interval %v", f.Mean, f.CI)
			}
			seen++
		}
	}
	total := totalOf(all)
	if text := total.String(); seen != 3 || text != "40 requests, 20 failures (the first: cut off), 8 retried" {
		t.Errorf("%d figures; %s", seen, text)
	}
	if text := strings.Join(total.warnings(), "\n"); !strings.Contains(text, "up to 48 requests") ||
		!strings.Contains(text, "waited for a CPU for 0.3 s") {
		t.Errorf("warnings: %s", text)
	}
}

// Answers that may be those of earlier requests are told of.
func TestProbeTellsOfUnsureAnswers(t *testing.T) {
	for unsure, want := range map[int]int{0: 0, 1: 1} {
		all := []figures{{sent: 10, quality: drive.DriverStats{Unsure: unsure}}, {sent: 10}}
		if said := totalOf(all).warnings(); len(said) != want || want > 0 && !strings.HasPrefix(said[0], "1 of 20 requests") {
			t.Errorf("%d answers: %q", unsure, said)
		}
	}
}

// Connections that are not kept although they were to be are told: what connecting takes is no RTT.
func TestProbeTellsOfConnectionsThatAreNotKept(t *testing.T) {
	for reconnects, want := range map[int]bool{0: false, 1: false, 2: true, 100: true} {
		total := totalOf([]figures{{sent: 100, quality: drive.DriverStats{Reconnects: reconnects}}})
		text := strings.Join(total.warnings(), "\n")
		if said := strings.Contains(text, "needed a new connection, since the server had closed"); said != want {
			t.Errorf("%d of 100: %s", reconnects, text)
		}
	}
}

// A connection that the driver closed since an answer was longer than its length was not closed by the server, and only
// CoAP has message IDs.
func TestProbeTellsWhyConnectionsAreNotKept(t *testing.T) {
	const surplus, closed, used = "bytes beyond its length", "since the server had closed", "message IDs"
	for _, tt := range []struct {
		url                 string
		reconnects, surplus int
		says                []string
	}{
		{"http://a/", 99, 100, []string{surplus}}, {"http://a/", 0, 1, []string{surplus}},
		{"http://a/", 100, 50, []string{surplus, closed}}, {"http://a/", 10, 0, []string{closed}},
		{"coap://a/", 10, 0, []string{closed, used}}, {"coap://a/", 0, 0, nil},
	} {
		p := probe{job: drive.Job{Spec: drive.Spec{URL: tt.url}}}
		all := []figures{{sent: 100, rtt: []int64{1},
			quality: drive.DriverStats{Reconnects: tt.reconnects, Surplus: tt.surplus}}}
		text := strings.Join(p.warnings(all, totalOf(all)), "\n")
		for _, part := range []string{surplus, closed, used} {
			if strings.Contains(text, part) != slices.Contains(tt.says, part) {
				t.Errorf("%+v: said %q", tt, text)
			}
		}
	}
}

// A file of a probe that was damaged or made up is an error, not a verdict and not a crash.
func TestCompareRefusesImpossibleProbes(t *testing.T) {
	const run = `{"requests":2,"failures":0,"rtt":{"n":2,"mean":1,"median":1,"min":1,"max":1},` +
		`"response_time":{"n":2,"mean":1,"median":1,"min":1,"max":1},"request_body":1,"response_body":1,"answers":1,"waiting":0}`
	const good = `{"format":1,"kind":"probe","url":"http://a/","requests":4,"failures":0,"per_run":[` + run + "," +
		run + "]}"
	o := newOwn(t)
	o.write(t, "good.json", good)
	if out, code := o.run(t, "compare", "good.json", "good.json"); code != exitDone {
		t.Fatalf("exit %d: %s", code, out)
	}
	for _, change := range [][2]string{
		{`"response_body":1`, `"response_body":null`}, {`"response_body":1,`, ""}, {`"rtt":{`, `"other":{`},
		{`"response_time":{`, `"other":{`}, {`"failures":0`, `"failures":7`}, {`"failures":0`, `"failures":-1`},
		{`"requests":4`, `"requests":-4`}, {`{"requests":2`, `{"requests":-2`}, {`"mean":1`, `"mean":0.1`},
		{`"mean":1`, `"mean":5`}, {`"mean":1`, `"mean":-1`}, {`"median":1`, `"median":3`}, {`"n":2`, `"n":0`},
		{`"n":2`, `"n":3`},
		{`"url"`, `"runs":99,"url"`}, {"," + run, ""}, {`"url"`, `"confidence":5,"url"`}, {`"answers":1`, `"answers":-1`},
		{`"requests":4,"failures":0,"per_run":[{"requests":2,"failures":0`,
			`"requests":4,"failures":2,"per_run":[{"requests":2,"failures":2`}, // times of no answer
		{`"max":1`, `"max":1,"sd":-1`}, {`"median":1`, `"median":1,"p95":0.5`}, {"]}", ""},
	} {
		o.write(t, "bad.json", strings.Replace(good, change[0], change[1], 1))
		for _, pair := range [][]string{{"good.json", "bad.json"}, {"bad.json", "good.json"}} {
			out, code := o.run(t, append([]string{"compare"}, pair...)...)
			if code != exitUnmeasured || !strings.Contains(out, "bad.json is damaged") {
				t.Errorf("%v: exit %d: %s", change, code, out)
			}
		}
	}
}

// A gRPC call is a POST of media type application/grpc, though its message is empty.
func TestProbeCallsGRPCWithAnEmptyMessage(t *testing.T) {
	asked := make(chan string, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		frame, _ := io.ReadAll(r.Body)
		asked <- fmt.Sprintf("%s %s %x", r.Method, r.Header.Get("Content-Type"), frame)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		w.Write(frame)
		w.Header().Set("Grpc-Status", "0")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	p := probe{job: drive.Job{Spec: drive.Spec{URL: s.URL + "/test.Health/Check", Protocol: drive.GRPC, Concurrency: 1,
		Timeout: 20 * time.Second}, Requests: 1}, runs: 1, cpu: drive.AnyCPU, confidence: 0.95}
	if err := p.complete(); err != nil {
		t.Fatal(err)
	}
	d, err := drive.Dial(t.Context(), p.job.Spec)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	record, err := d.Run(t.Context(), drive.Load{Schedule: drive.ClosedLoop(1, 0), Record: true}, drive.Fixed(""))
	if err != nil {
		t.Fatal(err)
	}
	for x := range record.Exchanges() {
		if x.Failure != "" {
			t.Error(x.Failure)
		}
	}
	if got := <-asked; got != "POST application/grpc 0000000000" {
		t.Errorf("asked with %s", got)
	}
	p.job.Method = "GET"
	if err := p.complete(); err == nil || !strings.Contains(err.Error(), "a gRPC call is a POST") {
		t.Errorf("GET: got %v", err)
	}
}
