package lab

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// A lateness tells how late a client itself was under open load: from the instant at
// which a request was due and one of its connections free to that at which it took
// the request up. To wait for a free connection is the server's slowness, and counts in
// the response time; to take up a request late is the driver's, and would be taken for it.
//
// Note: it follows from the records alone, so it holds for any client, ours or not.
// Requests are taken up in the order in which they are due, by whichever connection is free.
type lateness struct {
	free instants // when each connection becomes free, the earliest first
	late []time.Duration
}

func newLateness(connections int) *lateness {
	return &lateness{free: make(instants, max(1, connections))}
}

// anew begins with another client's records: its connections are all free.
func (l *lateness) anew() { clear(l.free) }

// add takes the next record in the order of Seq.
func (l *lateness) add(x measure.Exchange) {
	took := x.Sent - x.Serialization - x.Connection
	free := l.free[0]
	l.late = append(l.late, max(0, took-max(x.Due, free)))
	l.free[0] = max(free, x.Due, x.Done, took+x.Total)
	heap.Fix(&l.free, 0)
}

// p99 is the lateness that 99 of 100 requests keep to.
func (l *lateness) p99() time.Duration {
	if len(l.late) == 0 {
		return 0
	}
	slices.Sort(l.late)
	return l.late[len(l.late)-1-len(l.late)/100]
}

type instants []time.Duration

func (h instants) Len() int           { return len(h) }
func (h instants) Less(i, k int) bool { return h[i] < h[k] }
func (h instants) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *instants) Push(x any)        { *h = append(*h, x.(time.Duration)) }
func (h *instants) Pop() any          { panic("connections neither come nor go") }

// late: the client sent when it was due, as far as the server let it.
func (t *trialRunner) late() string {
	limit := t.lab.MostLate
	if t.course.late == nil || limit == 0 {
		return ""
	}
	p99 := t.course.late.p99()
	t.findings.note("lateness_p99", "s", p99.Seconds())
	if p99 <= limit {
		return ""
	}
	return fmt.Sprintf("the client took up requests late, p99 %v of %v allowed: at %g requests per second it measures "+
		"itself; lower the rate, or free a CPU for it", p99.Round(time.Microsecond), limit, t.setup.Rate)
}
