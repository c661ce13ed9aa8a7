package lab

import (
	"math"
	"slices"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// served are the records of n requests, one each gap, over so many connections to a service that takes as long as
// takes says; the client takes up each late by so much.
func served(n, connections int, gap, late time.Duration, takes func(i int) time.Duration) (all []measure.Exchange) {
	free := make([]time.Duration, connections)
	for i := range n {
		c := 0
		for k := range free {
			if free[k] < free[c] {
				c = k
			}
		}
		due := time.Duration(i) * gap
		took := max(due, free[c]) + late
		free[c] = took + takes(i)
		all = append(all, measure.Exchange{Due: due, Sent: took, Done: free[c], Total: free[c] - took})
	}
	return all
}

// What requests waited for: for a connection, whose number was chosen, or for a slow client. Nobody waits where
// there are connections enough.
func TestWaitsOfRequests(t *testing.T) {
	const ms = time.Millisecond
	always := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	for _, tt := range []struct {
		what        string
		connections int
		late        time.Duration
		takes       func(int) time.Duration
		want        measure.Waits // of 400 requests, 100 a second
	}{
		{"one connection, 44 ms", 1, 0, always(44 * ms), measure.Waits{Waited: 399, Wait: 34 * 399 * 400 / 2 * ms,
			Pace: 4 / (399*0.044 + 0.01), Use: 44 * ms}},
		{"five connections, 44 ms", 5, 0, always(44 * ms), measure.Waits{Pace: 1, Use: 44 * ms}},
		{"one in 20 takes 35 ms", 1, 0, func(i int) time.Duration {
			if i%20 == 10 {
				return 35 * ms
			}
			return ms
		}, measure.Waits{Waited: 60, Wait: 20 * (25 + 16 + 7) * ms, Pace: 1, Use: 35 * ms}},
		{"a client that is late by 3 ms", 1, 3 * ms, always(ms), measure.Waits{Late: 1200 * ms, Pace: 1, Use: ms}},
	} {
		l := NewLateness(tt.connections, DefaultLateness)
		for _, x := range served(400, tt.connections, 10*ms, tt.late, tt.takes) {
			l.Add(x)
		}
		got := l.Waits()
		if tt.want.Requests = 400; math.Abs(got.Pace-tt.want.Pace) > 0.01 || got.Use < tt.want.Use ||
			float64(got.Use) > 1.07*float64(tt.want.Use) {
			t.Errorf("%s: got %+v, want %+v", tt.what, got, tt.want)
		}
		got.AtOnce = 0 // see below
		if got.Pace, got.Use = tt.want.Pace, tt.want.Use; got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.what, got, tt.want)
		}
	}
}

// As many connections as requests would have been under way at once are enough, and not many more than that: one that
// waited is no evidence of a slow service, but one that waited while nothing was answered is of one that stands still.
func TestRequestsThatWouldBeUnderWayAtOnce(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	// A server that answers nothing in the second second, and what it is asked meanwhile at its end.
	stalls := func(connections int) (all []measure.Exchange) {
		free := make([]time.Duration, connections)
		for i := range 500 {
			due := time.Duration(i) * 10 * ms
			took := max(due, free[0])
			done := took + ms
			if took < 2*s && done > s {
				done = 2*s + ms
			}
			free[0] = done
			slices.Sort(free)
			all = append(all, measure.Exchange{Due: due, Sent: took, Done: done, Total: done - took})
		}
		return all
	}
	always := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	one := func(i int) time.Duration {
		if i == 100 {
			return s
		}
		return ms
	}
	for _, tt := range []struct {
		what        string
		connections int
		requests    []measure.Exchange
		least, most int
	}{
		{"a stall, 4 connections", 4, stalls(4), 100, 101}, {"a stall, 12 connections", 12, stalls(12), 100, 101},
		{"a stall, 200 connections", 200, stalls(200), 100, 101},
		{"44 ms, one connection", 1, served(400, 1, 10*ms, 0, always(44*ms)), 5, 9},
		{"44 ms, 8 connections", 8, served(400, 8, 10*ms, 0, always(44*ms)), 5, 5},
		{"one slow answer among 4 connections", 4, served(400, 4, 10*ms, 0, one), 2, 2},
	} {
		l := NewLateness(tt.connections, DefaultLateness)
		for _, x := range tt.requests {
			l.Add(x)
		}
		if got := l.Waits().AtOnce; got < tt.least || got > tt.most {
			t.Errorf("%s: %d, want %d to %d", tt.what, got, tt.least, tt.most)
		}
	}
}

// Records of several clients, one behind the other, are each held against their own schedule.
func TestWaitsOfSeveralClients(t *testing.T) {
	const ms = time.Millisecond
	l := NewLateness(1, DefaultLateness)
	for range 3 {
		l.anew()
		for _, x := range served(100, 1, 10*ms, 0, func(int) time.Duration { return 20 * ms }) {
			l.Add(x)
		}
	}
	if w := l.Waits(); w.Requests != 300 || w.Waited != 297 || math.Abs(w.Pace-0.5) > 0.01 {
		t.Errorf("got %+v", w)
	}
}

// A trial whose requests waited for a connection is valid, and says so; that holds for a client that is not judged.
func TestWaitsAreNoted(t *testing.T) {
	for _, device := range []string{"local", "constrained-10"} {
		setup := &study.Setup{Rate: 100, Concurrency: 1, Client: study.Side{Device: device}}
		kept := records{task: newTask(&Lab{}, study.Trial{Setup: setup})}
		kept.recorder(atClient, stack.Run{})
		r := evidence{setup: setup, tallies: &kept.tallies, findings: new(findings)}
		for _, x := range served(400, 1, 10*time.Millisecond, 0, func(int) time.Duration { return 44 * time.Millisecond }) {
			r.late.Add(x)
		}
		if why := r.onTime(); why != "" {
			t.Errorf("%s: %s", device, why)
		}
		noted := map[string]float64{}
		for _, q := range r.findings.quality {
			noted[q.Key] = q.Value
		}
		if noted["waited_for_connection"] != 399 || !(noted["rate_reached"] < 0.25) ||
			!(noted["wait_for_connection"] > 2700) || noted["connection_use_p99"] < 0.044 ||
			!(noted["requests_at_once"] >= 5) {
			t.Errorf("%s: noted %v", device, noted)
		}
	}
}

// Requests that waited for a stream of the connection that they share are counted, answered or not; what each takes to
// connect on its own is no such wait.
func TestWaitsForAStreamAreNoted(t *testing.T) {
	for connection, want := range map[string]float64{"multiplexed": 2, "per-request": 0} {
		r := sound()
		r.setup.Connection = connection
		client := &r.sides[atClient]
		*client = accumulator{}
		client.reserve(measure.Client, 3, new(spare))
		for i, x := range []measure.Exchange{{Connection: time.Second, Sent: 2e9, Done: 3e9, Total: 3e9},
			{Sent: 1, Done: 2, Total: 1}, {Connection: 2 * time.Second, Sent: 3e9, Total: 5e9, Failure: "no response"}} {
			x.Seq = uint64(i) + 1
			client.add(x)
		}
		if client.wrong != "" {
			t.Fatal(client.wrong)
		}
		r.summarize()
		noted := map[string]float64{}
		for _, q := range r.findings.quality {
			noted[q.Key] = q.Value
		}
		if noted["waited_for_stream"] != want || noted["wait_for_stream"] != want*1.5 {
			t.Errorf("%s: noted %v", connection, noted)
		}
	}
}
