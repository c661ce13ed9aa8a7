package link

import (
	"fmt"
	"time"
)

// A DirectionStats is what one direction of a link says of itself.
type DirectionStats struct {
	Counts
	// Late is how long after it was due a packet was handed to the receiver's
	// kernel, over all packets.
	Late Late `json:"late"`
	// Unread packets were dropped by the sender's kernel before the link could
	// read them, Unwritten ones were refused by the receiver's.
	Unread    int64 `json:"unread"`
	Unwritten int64 `json:"unwritten"`
	// Waiting is how long the link's thread was runnable without a CPU: packets
	// that came then were stamped late, which Late cannot show.
	Waiting time.Duration `json:"waiting"`
}

// Late are quantiles of lateness, in nanoseconds.
type Late struct {
	P50 time.Duration `json:"p50"` // ns
	P99 time.Duration `json:"p99"` // ns
	Max time.Duration `json:"max"` // ns
}

// A Report is the quality of both directions.
type Report struct {
	Up   DirectionStats `json:"up"`   // from client to server
	Down DirectionStats `json:"down"` // from server to client
}

// leastTolerance is the lateness that a virtual machine's wake-ups make of
// themselves.
const leastTolerance = 200 * time.Microsecond

// Tolerance is the p99 of lateness above which a trial is invalid: 5 % of the
// shortest time the link holds a packet, at least 200 µs.
func (s Shape) Tolerance() time.Duration {
	const smallest = 20 // B: an IPv4 header alone
	return max(leastTolerance, (s.Delay+s.serialization(smallest))/20)
}

// Fault says why a trial behind l cannot be trusted, or "".
func (l Link) Fault(r Report) string {
	for _, d := range []struct {
		name string
		s    Shape
		q    DirectionStats
	}{{"up", l.Up, r.Up}, {"down", l.Down, r.Down}} {
		if reason := d.s.fault(d.q, l.Shaper); reason != "" {
			return "link " + d.name + ": " + reason
		}
	}
	return ""
}

func (s Shape) fault(q DirectionStats, by Shaper) string {
	switch {
	case q.In != q.Out+q.Lost+q.Dropped+q.Queued:
		return fmt.Sprintf("%d packets entered, but %d left, %d were lost, %d dropped and %d are in transit", q.In,
			q.Out, q.Lost, q.Dropped, q.Queued)
	case q.Unread > 0:
		return fmt.Sprintf("%d packets were dropped before the link could read them; send slower, or give the link "+
			"an idle CPU", q.Unread)
	case q.Unwritten > 0:
		return fmt.Sprintf("%d packets were refused by the receiver's kernel", q.Unwritten)
	case by == Netem && s.Rate == 0 && s.Loss == 0 && q.Dropped > 0:
		return fmt.Sprintf("the kernel dropped %d packets on a link without loss and without a rate; send fewer at once, "+
			"or remove shaper: netem", q.Dropped)
	case by == Userspace && q.Late.P99 > s.Tolerance():
		mend := "keep the machine idle, or reserve a CPU for the link"
		if s.Rate == 0 {
			mend += ", or give the link a rate: without one, bursts arrive faster than it can deliver them"
		}
		return fmt.Sprintf("1 in 100 packets was delivered more than %v late; the limit is %v; %s",
			q.Late.P99.Round(time.Microsecond), s.Tolerance(), mend)
	}
	return ""
}
