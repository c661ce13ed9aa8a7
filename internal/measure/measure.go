// Package measure says what was measured, in which unit, when, and how much.
// It reads no clock and no instrument.
package measure

import (
	"context"
	"time"
)

// A Quantity is something that can be measured. It never changes once published.
type Quantity struct{ Name, Unit string } // {"rtt", "s"}: SI, or "B"

// A Sample is one reading.
type Sample struct {
	Quantity Quantity
	At       time.Duration // since the trial began, clock of the reading machine
	Value    float64       // in Quantity.Unit
	Seq      uint64        // the request it belongs to, from 1; 0 if to none
}

// Scheduled is how long the schedule of n requests at a rate is: the interval after the last one belongs to it, so that
// as many per second are due as the rate says. Of random arrivals, which begin with an interval, it is what limited
// them if that was a time, lasts, and not their number, most. 0: it is not known before the last answer.
func Scheduled(rate float64, random bool, n, most int, lasts time.Duration) time.Duration {
	switch {
	case !(rate > 0):
		return 0
	case !random:
		return time.Duration(min(float64(n)/rate*1e9, 1<<62))
	case most == 0 || n < most:
		return lasts
	}
	return 0
}

// A Side is the end of the link at which something was seen.
type Side string

const (
	Client Side = "client" // sends the requests
	Server Side = "server" // answers them
)

// An Exchange is one request and its response, as one side saw it. Instants
// are kept and count from the start of the recorded run; latencies are methods.
// A server leaves Due, Sent and Done 0: it does not see the wire.
type Exchange struct {
	Seq             uint64        // order of the request, from 1
	Due, Sent, Done time.Duration // Done is 0 if no response came
	// Serialization and Deserialization are object to bytes and bytes to object,
	// I/O excluded. Processing is the service's own work, server only.
	Serialization, Processing, Deserialization time.Duration
	// Sensor is the part of Processing that a sensor took; 0 if none was read.
	Sensor time.Duration
	// Connection is what a client took before Sent to open a connection, to make
	// sure that a kept one still stands, or to wait until one that requests share
	// takes another; 0 where it does not say.
	Connection time.Duration
	// Total is the time from before the request's serialization to after the
	// response's deserialization; at the server, from the request received
	// whole to the response handed to the socket.
	Total   time.Duration
	Out, In int64  // message body bytes sent and received by this side
	Failure string // empty on success
}

// RTT is the time from first byte sent to last byte received, one clock.
func (x Exchange) RTT() time.Duration { return x.Done - x.Sent }

// Response is the time from the due instant to the last byte received: free of
// coordinated omission.
func (x Exchange) Response() time.Duration { return x.Done - x.Due }

// Ended is when the request was over, answered rightly or not, closing the connection aside. It is false where the
// record does not tell: then it is when the request was sent, or due. A failed one lasts for its total, also if bytes
// came.
func (x Exchange) Ended() (at time.Duration, ok bool) {
	at = max(x.Due, x.Sent, x.Done)
	if x.Failure == "" {
		return x.Done, true
	}
	began := x.Sent - x.Connection - x.Serialization // of the total, which has no instant of its own
	if x.Sent == 0 {
		began = x.Due
	}
	return max(at, began+x.Total-x.Deserialization), x.Done > 0 || x.Total > 0
}

// An Instrument watches something until told to stop.
type Instrument interface {
	// Describe says what it is; it observes nothing.
	Describe() Description
	// Observe emits samples until ctx ends, then returns nil.
	Observe(ctx context.Context, emit func(Sample)) error
}

// A Description says what an instrument reads, how finely, and what watching costs.
type Description struct {
	Name       string
	Quantities []Quantity
	Resolution float64       // smallest step it can show, in the first quantity's unit; 0: unknown
	Interval   time.Duration // between readings; 0: on events
	Overhead   float64       // share of a core spent watching; 0: not on the device
	Modelled   bool          // computed from a model, not read from a meter
}
