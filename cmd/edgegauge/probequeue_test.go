package main

import (
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/measure"
)

// A driver that was slow sent nothing when it was due, either.
func TestProbePromisesPunctualityOnlyWhereItHeld(t *testing.T) {
	p := probe{job: drive.Job{Spec: drive.Spec{Concurrency: 1}, Rate: 100, Arrivals: drive.Even}}
	for late, punctual := range map[time.Duration]bool{50 * time.Microsecond: true, 2 * time.Millisecond: false} {
		x := runsOf(0, time.Millisecond)
		x[0].quality.LatenessP99 = late
		if got := p.loop(x); strings.Contains(got, "sent when due") != punctual {
			t.Errorf("late by %v: %s", late, got)
		}
	}
}

// What was asked of a rate and did not come about is told first, with the number of connections that it takes.
func TestProbeTellsOfARateThatWasNotReached(t *testing.T) {
	const ms = time.Millisecond
	p := probe{confidence: 0.95, job: drive.Job{Spec: drive.Spec{URL: "http://127.0.0.1/", Concurrency: 1}, Rate: 100,
		Arrivals: drive.Even}}
	of := func(takes time.Duration) (all []figures) {
		for range 2 {
			x, free := p.figures(), time.Duration(0)
			for i := range 400 {
				due := time.Duration(i) * 10 * ms
				sent := max(due, free)
				free = sent + takes
				_ = x.add(measure.Exchange{Due: due, Sent: sent, Done: free, Total: takes})
			}
			x.quality.Elapsed = free
			all = append(all, x)
		}
		return all
	}
	for _, tt := range []struct {
		takes  time.Duration
		behind bool
	}{{9 * ms, false}, {44 * ms, true}} {
		all := of(tt.takes)
		var text, js strings.Builder
		if err := p.print(&text, all); err != nil {
			t.Fatal(err)
		}
		p.asJSON = true
		if err := p.print(&js, all); err != nil {
			t.Fatal(err)
		}
		p.asJSON = false
		said := strings.Join(strings.Fields(text.String()), " ")
		warned := strings.Contains(said, "warning: the rate was not reached: requests left at 22.8 per second, not 100: 798 of "+
			"800 requests found the only connection in use") && strings.Contains(said, "set --concurrency to 6 or more")
		if warned != tt.behind || strings.Contains(said, "sent when due") == tt.behind ||
			strings.Contains(js.String(), "the rate was not reached") != tt.behind ||
			strings.Contains(js.String(), `"waited_for_connection": 399`) != tt.behind {
			t.Errorf("%v: %s; %s", tt.takes, said, js.String())
		}
	}
}

// Where requests share a connection, one of them follows another, and no connection its own last.
func TestProbeSaysWhatFollowsInAClosedLoop(t *testing.T) {
	const shared = "1 connection, which sends its next request when one of 4 in flight is answered"
	for connection, want := range map[string]string{drive.Pipelined: shared, drive.Multiplexed: shared,
		"": "4 connections, each of which sends its next request when the last"} {
		p := probe{job: drive.Job{Spec: drive.Spec{Concurrency: 4, Connection: connection}}}
		if got := p.loop(runsOf(0, time.Millisecond)); !strings.HasPrefix(got, "closed loop: "+want) {
			t.Errorf("%q: %s", connection, got)
		}
	}
}

// Where requests share a connection, probe tells that they waited for a stream; where each opens its own, it does not.
func TestProbeTellsOfWaitsForAStream(t *testing.T) {
	for connection, want := range map[string]bool{drive.Multiplexed: true, drive.PerRequest: false} {
		p := probe{job: drive.Job{Spec: drive.Spec{Concurrency: 40, Connection: connection}}}
		var x figures
		for i := range 10 {
			_ = x.add(measure.Exchange{Sent: 1, Done: 2, Connection: time.Duration(i%2) * time.Second})
		}
		said := strings.Join(p.warnings([]figures{x, x}, total{}), " ")
		if strings.Contains(said, "10 of 20 requests waited 1.00 s (mean) for a stream on their connection: the server "+
			"takes fewer at once than --concurrency 40") != want {
			t.Errorf("%s: %s", connection, said)
		}
	}
}
