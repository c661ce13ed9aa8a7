package lab

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// sound is a trial that passes every gate.
func sound() *evidence {
	return &evidence{
		setup: &study.Setup{Requests: 2, Concurrency: 1},
		tallies: &tallies{sides: [2]accumulator{
			atClient: {n: 2, out: 20, in: 10, last: int64(time.Second), busy: int64(900 * time.Millisecond)},
			atServer: {n: 2, out: 10, in: 20},
		}},
		findings: new(findings),
	}
}

// lossyNON makes the trial's requests non-confirmable ones, behind a link that loses.
func (e *evidence) lossyNON(loss float64) {
	e.setup.Transport, e.setup.Options = "coap", map[string]string{"confirmable": "off"}
	e.lossy, e.link = true, link.Link{Up: link.Shape{Loss: loss}, Down: link.Shape{Loss: loss}}
}

// failing lets some of the requests fail at the client; the server served all.
func (e *evidence) failing(requests, failed int) {
	e.setup.Requests, e.sides[atClient].n, e.sides[atServer].n = requests, requests, requests
	e.sides[atClient].failed = failed
}

// driven gives the client a rate and so many CPUs, and the CPU time that it says and that the kernel counts.
func (e *evidence) driven(own, counted time.Duration, cpus int) {
	e.setup.Rate, e.clientCPUs = 1e5, cpus
	e.ends[atClient].CPU, e.usage.of[atClient][behindRun].CPU = own, max(own, counted)
}

func TestGates(t *testing.T) {
	for _, tt := range []struct {
		what  string
		spoil func(*evidence)
		want  string
	}{
		{"a sound trial", func(*evidence) {}, ""},
		{"a request missing", func(r *evidence) { r.sides[atClient].n = 1 },
			"1 requests were recorded, 2 were requested"},
		{"no request at all", func(r *evidence) { r.setup.Requests = 0; r.sides[atClient].n = 0 },
			"no request was sent"},
		{"the server counts otherwise", func(r *evidence) { r.sides[atServer].n = 3 },
			"the client counted 2 requests, the server 3"},
		{"a wrong answer", func(r *evidence) {
			r.sides[atClient].failed, r.sides[atClient].why = 1, "answer is not sorted"
		}, "first failure: answer is not sorted"},
		{"a loss on a link that loses", func(r *evidence) {
			r.lossy = true
			r.failing(100, 5)
		}, ""},
		{"too many losses there", func(r *evidence) {
			r.lossy = true
			r.failing(100, 6)
		}, "6 of 100 requests failed"},
		{"losses that nobody sends again", func(r *evidence) {
			r.lossyNON(0.05)
			r.failing(20, 5)
		}, ""},
		{"more of them than the link explains", func(r *evidence) {
			r.lossyNON(0.05)
			r.failing(20, 15)
		}, "15 of 20 requests failed"},
		{"as many where CoAP sends again", func(r *evidence) {
			r.lossyNON(0.05)
			r.setup.Options = nil
			r.failing(20, 5)
		}, "5 of 20 requests failed"},
		{"failures where the server may be overloaded", func(r *evidence) {
			r.overload, r.sides[atClient].failed = true, 1
		}, ""},
		{"a client that is late", func(r *evidence) {
			r.late = NewLateness(1, time.Millisecond)
			r.late.Add(measure.Exchange{Due: 0, Sent: 2 * time.Millisecond, Done: 3 * time.Millisecond})
		}, "p99 2ms of 1ms allowed"},
		{"a client that is late at a rate that a search chose", func(r *evidence) {
			r.overload, r.mostLate, r.late = true, time.Millisecond, NewLateness(1, time.Millisecond)
			r.late.Add(measure.Exchange{Due: 0, Sent: 2 * time.Millisecond, Done: 3 * time.Millisecond})
		}, "for a while; drive it from another machine, or free a CPU for it, or allow more with --late"},
		{"a client of which few requests are late, and too many for the objective", func(r *evidence) {
			r.lateShare, r.late = 0.999, NewLateness(1, time.Millisecond)
			for i := range 500 {
				due := time.Duration(i) * time.Second
				r.late.Add(measure.Exchange{Due: due, Sent: due, Done: due + 1})
			}
			r.late.Add(measure.Exchange{Due: time.Hour, Sent: time.Hour + time.Second, Done: 2 * time.Hour})
		}, "p99.9 1s of 1ms allowed"},
		{"a warm-up that the server does not know", func(r *evidence) {
			r.conversation.warmUp = stack.WarmUp{Client: 500}
		}, "the client counted 500 requests of the warm-up, the server 0"},
		{"a server that counts more of it", func(r *evidence) {
			r.conversation.warmUp = stack.WarmUp{Client: 5, Server: 6}
		}, "the client counted 5 requests of the warm-up, the server 6"},
		{"one that was sent again over another connection", func(r *evidence) {
			r.conversation.warmUp = stack.WarmUp{Client: 5, Server: 6, Repeated: 1}
		}, ""},
		{"a warm-up of which the server did not see what failed", func(r *evidence) {
			r.conversation.warmUp = stack.WarmUp{Client: 5, Server: 3, Failures: stack.Failures{Failed: 2}}
		}, ""},
		{"nor what did not", func(r *evidence) {
			r.conversation.warmUp = stack.WarmUp{Client: 5, Server: 2, Failures: stack.Failures{Failed: 2}}
		}, "the client counted 5 requests of the warm-up, the server 2"},
		{"a warm-up behind a link that loses", func(r *evidence) {
			r.conversation.warmUp, r.lossy = stack.WarmUp{Client: 5, Server: 3}, true
		}, ""},
		{"one of a service that was there before", func(r *evidence) {
			r.conversation.warmUp, r.setup.URL = stack.WarmUp{Client: 5}, "http://127.0.0.1:80/"
		}, ""},
		{"a lab that was stopped", func(r *evidence) {
			r.stall = 3 * time.Second
		}, "this lab did not run for 3s of the trial"},
		{"a lab that waited for its CPU a little", func(r *evidence) {
			r.stall = time.Second
		}, ""},
		{"an impossible record", func(r *evidence) { r.sides[atServer].wrong = "request 1 has a negative phase" },
			"the server's record of request 1"},
		{"bodies that differ", func(r *evidence) { r.sides[atServer].in = 21 }, "the server received 21 B"},
		{"more under way than connections", func(r *evidence) { r.sides[atClient].busy = int64(2 * time.Second) },
			"on average 2.00 requests were in flight on 1 connections"},
		{"a driver that is the bottleneck",
			func(r *evidence) { r.setup.Rate = 1e5; r.ends[atClient].CPU = 850 * time.Millisecond }, "busy for 85 %"},
		{"the same of so few requests that each had 500 ms", func(r *evidence) {
			r.sides[atClient].last, r.setup.Rate, r.ends[atClient].CPU = int64(10*time.Millisecond), 2, 15*time.Millisecond
		}, ""},
		{"the same of requests that came at random", func(r *evidence) {
			r.sides[atClient].last, r.setup.Rate, r.ends[atClient].CPU = int64(10*time.Millisecond), 2, 15*time.Millisecond
			r.setup.Arrival = "poisson"
		}, "busy for 150 %"},
		{"the same at a rate that a search chose", func(r *evidence) {
			r.overload, r.setup.Rate, r.ends[atClient].CPU = true, 1e5, 850*time.Millisecond
		}, "it measures itself; drive it from another machine, or free a CPU for it"},
		{"the same in a closed loop, where it may",
			func(r *evidence) { r.ends[atClient].CPU = 850 * time.Millisecond }, ""},
		{"the same on a second CPU, with one request under way", func(r *evidence) {
			r.driven(850*time.Millisecond, 0, 2)
		}, "busy for 85 % of the run:"},
		{"the same with two", func(r *evidence) {
			r.driven(850*time.Millisecond, 0, 2)
			r.setup.Concurrency = 2
		}, ""},
		{"a driver that is the bottleneck on two CPUs", func(r *evidence) {
			r.driven(1650*time.Millisecond, 0, 2)
			r.setup.Concurrency = 2
		}, "busy for 82 % of the run on each of 2 CPUs"},
		{"a driver that does not account for itself", func(r *evidence) {
			r.driven(0, 900*time.Millisecond, 1)
		}, "busy for 85 % of the run:"},
		{"one of which the kernel counts what it does around the run", func(r *evidence) {
			r.driven(0, 840*time.Millisecond, 1)
		}, ""},
		{"one that compiles on a second CPU", func(r *evidence) { r.driven(0, 1550*time.Millisecond, 2) }, ""},
		{"one that has no CPU left", func(r *evidence) {
			r.driven(0, 1950*time.Millisecond, 2)
		}, "busy for 95 % of the run on each of 2 CPUs"},
		{"a client that claims less CPU time than it took", func(r *evidence) {
			r.driven(200*time.Millisecond, 900*time.Millisecond, 1)
			r.setup.Rate = 0
		}, "reports 200ms of CPU time for its run, but the kernel counted 900ms in it"},
		{"a driver that claims to be idle", func(r *evidence) {
			r.driven(time.Nanosecond, 990*time.Millisecond, 1)
		}, "reports 1ns of CPU time for its run, but the kernel counted 990ms in it"},
		{"a client that took as much again beside its run", func(r *evidence) {
			r.driven(300*time.Millisecond, 640*time.Millisecond, 1)
		}, ""},
		{"one that prints the records of many requests", func(r *evidence) {
			r.failing(100_000, 0)
			r.driven(100*time.Millisecond, 700*time.Millisecond, 1)
		}, ""},
		{"one that compiled before its run", func(r *evidence) {
			r.driven(100*time.Millisecond, 5*time.Second, 1)
			r.usage.of[atClient][beforeRun].CPU = 4900 * time.Millisecond
		}, ""},
		{"one on another device, of whose CPUs nothing is known", func(r *evidence) {
			r.driven(0, 1900*time.Millisecond, 0)
		}, ""},
	} {
		r := sound()
		tt.spoil(r)
		got := r.fault()
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

// What a study replaces of a profile is the study's, the rest the profile's.
func TestLinkOfAProfileWithOtherFigures(t *testing.T) {
	profiles := map[string]link.Link{"radio": {Name: "radio", MTU: 1280,
		Up:   link.Shape{Delay: time.Second, Rate: 1000, Loss: 0.01, Overhead: 9},
		Down: link.Shape{Delay: time.Second, Rate: 2000, Loss: 0.01, Overhead: 9}}}
	l, ok := LinkOf(&study.Setup{Link: study.Link{Text: "mine", Profile: "radio", Replaced: "loss up.rate",
		Up: study.Shape{Rate: 500}}}, profiles)
	want := link.Link{Name: "mine", MTU: 1280,
		Up:   link.Shape{Delay: time.Second, Rate: 500, Overhead: 9},
		Down: link.Shape{Delay: time.Second, Rate: 2000, Overhead: 9}}
	if !ok || l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
	if profiles["radio"].Up.Loss != 0.01 {
		t.Error("the profile itself was changed")
	}
}

func TestFaultsOfARecord(t *testing.T) {
	good := measure.Exchange{Seq: 1, Due: 1000, Sent: 2000, Done: 9000, Serialization: 500,
		Deserialization: 500, Total: 9000}
	for _, tt := range []struct {
		what  string
		spoil func(*measure.Exchange)
		want  string
	}{
		{"a good record", func(*measure.Exchange) {}, ""},
		{"sent before it was due", func(x *measure.Exchange) { x.Sent = 500 }, "due"},
		{"done before it was sent", func(x *measure.Exchange) { x.Done = 1500 }, "done"},
		{"a negative phase", func(x *measure.Exchange) { x.Serialization = -1 }, "negative phase"},
		{"phases beyond the total", func(x *measure.Exchange) { x.Total = 6000 },
			"phases sum to 8µs, more than the total 6µs"},
		{"the largest size, which no time could be", func(x *measure.Exchange) { x.In = largestBody }, ""},
		{"a larger size", func(x *measure.Exchange) { x.In = largestBody + 1 }, `a size "in" of 8589934593 B`},
		{"a negative size", func(x *measure.Exchange) { x.Out = -1 }, `a size "out" of -1 B`},
		{"a time as large as a size may be", func(x *measure.Exchange) { x.Total = largestBody }, "on the lab's clock"},
	} {
		x := good
		tt.spoil(&x)
		c := recordCheck{elapsed: func() time.Duration { return time.Millisecond }}
		if got := c.fault(x); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

func TestRequestsThatPacketsDoNotTellApart(t *testing.T) {
	for _, tt := range []struct{ transport, connection, want string }{
		{"http", "keep-alive", ""},
		{"http2", "keep-alive", ""},
		{"grpc", "keep-alive", ""},
		{"http", "per-request", ""},
		{"http", "pipelined", "overlap"},
		{"http2", "multiplexed", "overlap"},
		{"http3", "per-request", "QUIC"},
		{"mqtt5", "keep-alive", "interleave"},
		{"mqtt5", "per-request", ""},
		{"dpws", "keep-alive", "description"},
	} {
		if got := Overlaps(&study.Setup{Transport: tt.transport,
			Connection: tt.connection}); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: got %q, want %q", tt.transport, tt.connection, got, tt.want)
		}
	}
}

func TestResponsesThatPacketsLack(t *testing.T) {
	for _, tt := range []struct {
		setup          study.Setup
		response, want string
	}{
		{study.Setup{Transport: "http", Connection: "keep-alive"}, "delay", ""},
		{study.Setup{Transport: "http3"}, "delay", "QUIC"},
		{study.Setup{Transport: "grpc", Security: "tls", Connection: "keep-alive"}, "delay", "TLS hides"},
		{study.Setup{Transport: "http2", Security: "tls13", Connection: "per-request"}, "delay", ""},
		{study.Setup{Transport: "http", Connection: "keep-alive"}, "handshake_bytes", "kept-alive"},
		{study.Setup{Transport: "http", Connection: "per-request"}, "handshake_time", ""},
		{study.Setup{Transport: "coap", Security: "none", Connection: "per-request"}, "handshake_bytes", "no handshake"},
		{study.Setup{Transport: "coap", Security: "oscore", Connection: "per-request"}, "handshake_bytes", "no handshake"},
		{study.Setup{Transport: "coap", Security: "dtls-psk", Connection: "per-request"}, "handshake_bytes", ""},
		{study.Setup{URL: "coap://[::1]:5683/x", Transport: "coap", Security: "none", Connection: "per-request"},
			"handshake_bytes",
			"no handshake"},
		{study.Setup{URL: "coap+tcp://[::1]:5683/x", Transport: "coap-tcp", Connection: "per-request"},
			"handshake_bytes", ""},
		{study.Setup{Transport: "http", Requests: 1}, "jitter", "two requests"},
		{study.Setup{Transport: "http", Requests: 1, MinDuration: time.Second}, "jitter", ""},
		{study.Setup{Transport: "http", Rate: 2, Duration: 500 * time.Millisecond}, "jitter", "two requests"},
		{study.Setup{Transport: "http", Rate: 2, Duration: 501 * time.Millisecond}, "jitter", ""},
		{study.Setup{Transport: "http", Rate: 2, Duration: 500 * time.Millisecond, Arrival: "poisson"}, "jitter", ""},
		{study.Setup{Transport: "http", Duration: time.Millisecond}, "jitter_rfc3550", ""},
	} {
		if got := Lacks(&tt.setup, tt.response); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s of %+v: got %q, want %q", tt.response, tt.setup, got, tt.want)
		}
	}
}
