package lab

import (
	"container/heap"
	"fmt"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/drive/tally"
	"edgegauge.example/edgegauge/internal/measure"
)

// A Lateness tells how late a client itself was under open load: from the instant at
// which a request was due and one of its connections free to that at which it took
// the request up. To wait for a free connection is the server's slowness, and counts in
// the response time; to take up a request late is the driver's, and would be taken for it.
//
// A driver that stood still has a backlog, and of that only the first requests find a free
// connection. What others waited while it stood still is the driver's as well.
//
// Note: it follows from the records alone, so it holds for any client, ours or not.
// Requests are taken up in the order in which they are due, by whichever connection is free.
type Lateness struct {
	limit time.Duration // to be later is to stand still; 0: that is not judged
	free  instants      // when each connection becomes free, the earliest first
	from  time.Duration // when the client stood still last
	to    time.Duration
	late  []time.Duration
	waits measure.Waits
	use   tally.Histogram
	due   time.Duration // the instants at which the last request was due and taken up, summed over clients
	taken time.Duration
	ends  [2]time.Duration // both, of the present client
	// When requests that are not over yet are: as they were, and as they would be, had each left when it was due.
	over, unwaiting instants
}

// NewLateness is that of requests over so many connections.
func NewLateness(connections int, limit time.Duration) *Lateness {
	return &Lateness{limit: limit, free: make(instants, max(1, connections))}
}

// anew begins with another client's records: its connections are all free.
func (l *Lateness) anew() {
	clear(l.free)
	l.over, l.unwaiting = l.over[:0], l.unwaiting[:0]
	l.from, l.to = 0, 0
	l.due, l.taken, l.ends = l.due+l.ends[0], l.taken+l.ends[1], [2]time.Duration{}
}

// Add takes the next record in the order of Seq.
func (l *Lateness) Add(x measure.Exchange) {
	took := x.Sent - x.Serialization - x.Connection
	if x.Sent == 0 && x.Failure != "" { // it had no connection, and does not say when it was taken up: in time
		took = max(x.Due, l.free[0])
	}
	free := l.free[0]
	ready := max(x.Due, free)
	late := max(0, took-ready)
	stood := max(0, min(ready, took, l.to)-max(x.Due, l.from))
	if l.limit > 0 {
		l.late = append(l.late, late+stood)
	}
	l.count(x, took, late+stood)
	if l.limit > 0 && late > l.limit {
		if ready > l.to {
			l.from = ready
		}
		l.to = max(l.to, took)
	}
	l.free[0] = max(free, x.Due, x.Done, took+x.Total)
	heap.Fix(&l.free, 0)
}

// count counts what a request waited for that was taken up at an instant, of which late is the client's doing.
func (l *Lateness) count(x measure.Exchange, took, late time.Duration) {
	w := &l.waits
	w.Requests++
	w.Late += late
	use := max(x.Done, took+x.Total) - took
	l.over.until(x.Due)
	l.unwaiting.until(x.Due)
	end := x.Due + use
	if wait := took - x.Due - late; wait > 0 {
		w.Waited, w.Wait = w.Waited+1, w.Wait+wait
		if len(l.over) > 0 { // the server may have stood still until then, and have answered this one as late
			end = max(end, l.over[0])
		}
	}
	l.over.add(took + use)
	l.unwaiting.add(end)
	w.AtOnce = max(w.AtOnce, len(l.unwaiting))
	l.use.Add(use)
	l.ends[0], l.ends[1] = max(l.ends[0], x.Due), max(l.ends[1], took)
}

// Waits are those of all requests so far.
func (l *Lateness) Waits() measure.Waits {
	w := l.waits
	w.Use, w.Pace = l.use.Quantile(0.99), 1
	due, taken := l.due+l.ends[0], l.taken+l.ends[1]
	if n := w.Requests; n > 1 && taken > due { // the last one's own gap is part of the schedule
		gap := float64(due) / float64(n-1)
		w.Pace = (float64(due) + gap) / (float64(taken) + gap)
	}
	return w
}

// within is the lateness that a share of the requests keep to.
func (l *Lateness) within(share float64) time.Duration {
	n := len(l.late)
	if n == 0 {
		return 0
	}
	slices.Sort(l.late)
	return l.late[n-1-min(n-1, int(float64(n)*(1-share)+1e-6))]
}

type instants []time.Duration

func (h instants) Len() int           { return len(h) }
func (h instants) Less(i, k int) bool { return h[i] < h[k] }
func (h instants) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *instants) Push(x any)        { panic("add takes one without allocating it") }
func (h *instants) Pop() any          { panic("until takes them out") }

func (h *instants) add(t time.Duration) {
	*h = append(*h, t)
	heap.Fix(h, len(*h)-1)
}

// until takes out all that are not after t.
func (h *instants) until(t time.Duration) {
	for len(*h) > 0 && (*h)[0] <= t {
		last := len(*h) - 1
		(*h)[0] = (*h)[last]
		if *h = (*h)[:last]; last > 0 {
			heap.Fix(h, 0)
		}
	}
}

// DefaultLateness is what a client on this machine keeps to where other programs want its CPU as well.
const DefaultLateness = 50 * time.Millisecond

// noteWaits keeps what a reader of the response time must know.
func (e *evidence) noteWaits(w measure.Waits) {
	e.findings.note("waited_for_connection", "1", float64(w.Waited))
	e.findings.note("wait_for_connection", "s", w.Wait.Seconds())
	e.findings.note("wait_for_client", "s", w.Late.Seconds())
	e.findings.note("rate_reached", "1", w.Pace)
	e.findings.note("connection_use_p99", "s", w.Use.Seconds())
	e.findings.note("requests_at_once", "1", float64(w.AtOnce))
}

// onTime: the client sent when it was due, as far as the server let it.
func (e *evidence) onTime() string {
	if e.late == nil {
		return ""
	}
	e.noteWaits(e.late.Waits())
	limit := e.late.limit
	if limit == 0 {
		return ""
	}
	e.findings.note("lateness_p99", "s", e.late.within(0.99).Seconds())
	share := max(0.99, e.lateShare)
	got := e.late.within(share)
	if got <= limit {
		return ""
	}
	allow := ""
	switch {
	case e.mostLate == 0:
		allow = ", or allow more with lateness"
	case e.overload:
		allow = ", or allow more with --late"
	}
	return fmt.Sprintf("the client took up requests late, p%.6g %v of %v allowed: at %g requests per second it measures "+
		"itself, or it stood still for a while; %sfree a CPU for it%s", 100*share,
		got.Round(time.Microsecond), limit, e.setup.Rate, e.lowerRate(""), allow)
}
