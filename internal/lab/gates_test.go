package lab

import (
	"strings"
	"testing"
	"time"

	"edgegauge/internal/measure"
	"edgegauge/internal/study"
)

// sound is a rig whose trial passes every gate.
func sound() *rig {
	r := &rig{s: &study.Setup{Requests: 2, Concurrency: 1}}
	r.tally[atClient] = tally{n: 2, out: 20, in: 10, last: int64(time.Second), busy: int64(900 * time.Millisecond)}
	r.tally[atServer] = tally{n: 2, out: 10, in: 20}
	return r
}

func TestGates(t *testing.T) {
	for _, tt := range []struct {
		what  string
		spoil func(*rig)
		want  string
	}{
		{"a sound trial", func(*rig) {}, ""},
		{"a request missing", func(r *rig) { r.tally[atClient].n = 1 }, "1 requests were recorded, 2 were asked for"},
		{"no request at all", func(r *rig) { r.s.Requests = 0; r.tally[atClient].n = 0 }, "no request was sent"},
		{"the server counts otherwise", func(r *rig) { r.tally[atServer].n = 3 }, "the client counts 2 requests, the server 3"},
		{"a wrong answer", func(r *rig) { r.tally[atClient].failed, r.tally[atClient].why = 1, "answer is not sorted" }, "the first with: answer is not sorted"},
		{"a loss on a link that loses", func(r *rig) {
			r.s.Link.Up.Loss = 0.05
			r.s.Requests, r.tally[atClient].n, r.tally[atClient].failed = 100, 100, 5
		}, ""},
		{"too many losses there", func(r *rig) {
			r.s.Link.Up.Loss = 0.05
			r.s.Requests, r.tally[atClient].n, r.tally[atClient].failed = 100, 100, 6
		}, "6 of 100 requests failed"},
		{"an impossible record", func(r *rig) { r.tally[atServer].wrong = "request 1 has a negative phase" }, "the server's record of request 1"},
		{"bodies that differ", func(r *rig) { r.tally[atServer].in = 21 }, "the server received 21 B"},
		{"more under way than connections", func(r *rig) { r.tally[atClient].busy = int64(2 * time.Second) }, "on average 2.00 requests were under way on 1 connections"},
		{"a driver that is the bottleneck", func(r *rig) { r.s.Rate = 1e5; r.cpu[atClient] = 850 * time.Millisecond }, "busy for 85 %"},
		{"the same in a closed loop, where it may", func(r *rig) { r.cpu[atClient] = 850 * time.Millisecond }, ""},
	} {
		r := sound()
		tt.spoil(r)
		got := ""
		for _, gate := range r.gates() {
			if got == "" {
				got = gate()
			}
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

func TestFaultsOfARecord(t *testing.T) {
	good := measure.Exchange{Seq: 1, Due: 1000, Sent: 2000, Done: 9000, Serialization: 500, Deserialization: 500, Total: 9000}
	for _, tt := range []struct {
		what  string
		spoil func(*measure.Exchange)
		want  string
	}{
		{"a good record", func(*measure.Exchange) {}, ""},
		{"sent before it was due", func(x *measure.Exchange) { x.Sent = 500 }, "due"},
		{"done before it was sent", func(x *measure.Exchange) { x.Done = 1500 }, "done"},
		{"a negative phase", func(x *measure.Exchange) { x.Serialization = -1 }, "negative phase"},
		{"phases beyond the total", func(x *measure.Exchange) { x.Total = 6000 }, "phases of 8µs in a total of 6µs"},
	} {
		x := good
		tt.spoil(&x)
		if got := fault(x); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

func TestRequestsThatPacketsDoNotTellApart(t *testing.T) {
	for _, tt := range []struct{ transport, connection, want string }{
		{"http", "keep-alive", ""},
		{"http", "per-request", ""},
		{"http", "pipelined", "overlap"},
		{"http2", "multiplexed", "overlap"},
		{"http3", "per-request", "QUIC"},
		{"mqtt5", "keep-alive", "turns"},
		{"mqtt5", "per-request", ""},
		{"dpws", "keep-alive", "description"},
	} {
		r := &rig{s: &study.Setup{Transport: tt.transport, Connection: tt.connection}}
		if got := r.overlaps(); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: got %q, want %q", tt.transport, tt.connection, got, tt.want)
		}
	}
}
