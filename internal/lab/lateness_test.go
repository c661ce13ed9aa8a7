package lab

import (
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

func TestLatenessIsTheDriversOwn(t *testing.T) {
	const ms = time.Millisecond
	x := func(due, sent, done time.Duration) measure.Exchange {
		return measure.Exchange{Due: due, Sent: sent, Done: done, Total: done - sent}
	}
	for _, tt := range []struct {
		what        string
		connections int
		of          []measure.Exchange
		want        time.Duration
	}{
		{"in time", 1, []measure.Exchange{x(0, 0, ms), x(5*ms, 5*ms, 6*ms)}, 0},
		{"a slow server, one connection", 1, []measure.Exchange{x(0, 0, 50*ms), x(5*ms, 50*ms, 51*ms)}, 0},
		{"a slow driver", 1, []measure.Exchange{x(0, 0, ms), x(5*ms, 9*ms, 10*ms)}, 4 * ms},
		{"a connection was free", 2, []measure.Exchange{x(0, 0, 50*ms), x(5*ms, 50*ms, 51*ms)}, 45 * ms},
		{"serialized in time", 1, []measure.Exchange{{Due: ms, Serialization: 3 * ms, Sent: 4 * ms, Done: 5 * ms}}, 0},
		{"opened in time", 1, []measure.Exchange{{Due: ms, Connection: 3 * ms, Sent: 4 * ms, Done: 5 * ms}}, 0},
		{"waited for a request that failed", 1,
			[]measure.Exchange{{Sent: 0, Total: 20 * ms, Failure: "timeout"}, x(5*ms, 20*ms, 21*ms)}, 0},
		{"waited for a connection that was refused", 1,
			[]measure.Exchange{{Due: 5 * ms, Total: 20 * ms, Failure: "refused"}, x(10*ms, 25*ms, 26*ms)}, 0},
		{"one worker of two slept, the other was in time", 2,
			[]measure.Exchange{x(0, 30*ms, 31*ms), x(5*ms, 5*ms, 6*ms), x(6*ms, 6*ms, 7*ms)}, 30 * ms},
	} {
		l := NewLateness(tt.connections, ms)
		for _, e := range tt.of {
			l.Add(e)
		}
		if got := l.within(0.99); got != tt.want {
			t.Errorf("%s: %v, not %v", tt.what, got, tt.want)
		}
	}
}

// Requests that are due are judged whoever asks for the trial, unless their client is a device whose slowness is a
// figure.
func TestWhoseLatenessIsJudged(t *testing.T) {
	for _, tt := range []struct {
		what          string
		rate          float64
		device        string
		says, demands time.Duration
		want          time.Duration
	}{
		{"a closed loop", 0, "local", 0, 0, 0},
		{"a rate", 100, "local", 0, 0, DefaultLateness},
		{"a rate of a study that says how late", 100, "local", time.Second, 0, time.Second},
		{"a search", 100, "local", 0, time.Millisecond, time.Millisecond},
		{"a small machine", 100, "constrained-10", 0, 0, 0},
		{"a small machine that must be in time", 100, "constrained-10", time.Second, 0, time.Second},
		{"a search from a small machine", 100, "constrained-10", 0, time.Millisecond, time.Millisecond},
	} {
		setup := &study.Setup{Rate: tt.rate, Concurrency: 1, Client: study.Side{Device: tt.device},
			Population: study.Population{Lateness: tt.says}}
		r := &records{task: newTask(&Lab{MostLate: tt.demands}, study.Trial{Setup: setup})}
		if got := r.mostLate(); got != tt.want {
			t.Errorf("%s: %v, not %v", tt.what, got, tt.want)
		}
		r.recorder(atServer, stack.Run{})
		if r.late != nil {
			t.Errorf("%s: the server's records are judged", tt.what)
		}
		if r.recorder(atClient, stack.Run{}); (r.late == nil) != (tt.rate == 0) || r.late != nil && r.late.limit != tt.want {
			t.Errorf("%s: judged: %+v", tt.what, r.late)
		}
	}
}

// stalled are the records of a thousand requests, one each ms, of a client with a few connections. Either it
// or the server, which takes 1 ms, stands still from from to to.
func stalled(connections int, client bool, from, to time.Duration) (all []measure.Exchange) {
	const ms = time.Millisecond
	runs := func(at time.Duration) time.Duration { // the first instant from then on at which what stands still runs
		if at > from && at < to {
			return to
		}
		return at
	}
	free := make([]time.Duration, connections)
	for i := range 1000 {
		due := time.Duration(i)*ms + ms/2
		c := 0
		for k := range free {
			if free[k] < free[c] {
				c = k
			}
		}
		took := max(due, free[c])
		if client {
			took = runs(took)
		}
		free[c] = runs(took + ms)
		all = append(all, measure.Exchange{Due: due, Sent: took, Done: free[c], Total: free[c] - took})
	}
	return all
}

// Most requests that a standstill of the client delays wait for a connection when it is over, and are the client's
// lateness nevertheless. After one of the server none is: it is the server that was slow.
func TestLatenessOfAClientThatStoodStill(t *testing.T) {
	const ms = time.Millisecond
	for _, connections := range []int{4, 8} {
		for _, client := range []bool{true, false} {
			l := NewLateness(connections, 5*ms)
			late := 0
			for _, x := range stalled(connections, client, 200*ms, 300*ms) {
				l.Add(x)
				if l.late[len(l.late)-1] > 5*ms {
					late++
				}
			}
			// Of 100 that were due meanwhile, those due in the last 5 ms are not late.
			if wanted := map[bool]int{true: 95, false: 0}[client]; late < wanted-2 || late > wanted+2 {
				t.Errorf("%d connections, the client stood still: %v: %d requests are late, not %d", connections, client, late,
					wanted)
			}
			if got := l.within(0.99); client != (got > 80*ms) || !client && got != 0 {
				t.Errorf("%d connections, the client stood still: %v: 99 %% keep to %v", connections, client, got)
			}
			if got := l.within(0.92); client != (got > 0) {
				t.Errorf("%d connections, the client stood still: %v: 92 %% keep to %v", connections, client, got)
			}
		}
	}
}
