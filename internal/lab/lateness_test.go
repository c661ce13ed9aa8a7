package lab

import (
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
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
	} {
		l := newLateness(tt.connections)
		for _, e := range tt.of {
			l.add(e)
		}
		if got := l.p99(); got != tt.want {
			t.Errorf("%s: %v, not %v", tt.what, got, tt.want)
		}
	}
}
