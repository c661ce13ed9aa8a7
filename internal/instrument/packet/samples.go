package packet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// The quantities a capture yields, one sample per call unless said otherwise.
var (
	Delay           = measure.Quantity{Name: "delay", Unit: "s"}
	DelayToData     = measure.Quantity{Name: "delay_to_data", Unit: "s"}
	Jitter          = measure.Quantity{Name: "jitter", Unit: "s"}         // of calls after one that stands
	JitterRFC3550   = measure.Quantity{Name: "jitter_rfc3550", Unit: "s"} // likewise
	WireBytes       = measure.Quantity{Name: "wire_bytes", Unit: "B"}
	WireBytesOut    = measure.Quantity{Name: "wire_bytes_out", Unit: "B"} // client to server
	WireBytesIn     = measure.Quantity{Name: "wire_bytes_in", Unit: "B"}
	PayloadOut      = measure.Quantity{Name: "payload_out", Unit: "B"}
	PayloadIn       = measure.Quantity{Name: "payload_in", Unit: "B"}
	Packets         = measure.Quantity{Name: "packets", Unit: "1"}
	Retransmissions = measure.Quantity{Name: "retransmissions", Unit: "1"}
	HandshakeBytes  = measure.Quantity{Name: "handshake_bytes", Unit: "B"} // of calls that began with one
	HandshakeTime   = measure.Quantity{Name: "handshake_time", Unit: "s"}
)

// Quantities lists all of them.
func Quantities() []measure.Quantity {
	return []measure.Quantity{Delay, DelayToData, Jitter, JitterRFC3550, WireBytes, WireBytesOut, WireBytesIn,
		PayloadOut, PayloadIn, Packets, Retransmissions, HandshakeBytes, HandshakeTime}
}

// A Unit says what counts as one call.
type Unit string

const (
	PerConnection Unit = "connection" // one request on each TCP connection
	PerRequest    Unit = "request"    // many on kept-alive connections
	PerExchange   Unit = "exchange"   // UDP
)

// ErrMismatch says that a capture does not hold what was sent, which makes the
// trial invalid.
var ErrMismatch = errors.New("the capture does not match the trial")

// A Selection says which samples a trial wants.
type Selection struct {
	Unit       Unit
	Skip       int                // calls of the warm-up, before the first that counts
	Count      int                // calls that count
	Origin     time.Duration      // of Sample.At, since 1970
	Quantities []measure.Quantity // nil: all
	// Failed are the calls, from 1 after the warm-up, that their caller gave up:
	// the capture may lack their response, and they give no samples.
	Failed map[uint64]bool
	// Whole says that each UDP exchange has a DTLS session of its own, whose
	// handshake and end count in WireBytes and Packets, as a TCP connection's do.
	Whole bool
}

// Calls returns the calls of one unit in order. Connections that began before
// the capture do not count.
func (c Capture) Calls(u Unit) []Call {
	var calls []Call
	switch u {
	case PerConnection:
		for _, x := range c.Connections {
			if !x.Partial {
				calls = append(calls, x.Call)
			}
		}
	case PerRequest:
		for _, x := range c.Connections {
			for i, r := range x.Requests {
				if i == 0 {
					r.HandshakeBytes, r.NoHandshake = x.HandshakeBytes, x.NoHandshake
					r.HandshakeTime, r.NoHandshakeTime = x.HandshakeTime, x.NoHandshakeTime
				}
				calls = append(calls, r)
			}
		}
		slices.SortStableFunc(calls, func(a, b Call) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	case PerExchange:
		for _, x := range c.Exchanges {
			calls = append(calls, x.Call)
		}
	}
	for i := range calls {
		calls[i].Seq = i + 1
	}
	return calls
}

// Samples returns the samples of the calls that count, Seq from 1. It returns
// an error that wraps ErrMismatch unless the capture holds exactly Skip+Count
// calls and every quantity asked for stands for each that counts: 101 requests
// give 101 delays, or the trial is invalid. Jitter is of successive calls: the
// first has none, nor has one after a call that failed.
func (c Capture) Samples(s Selection) ([]measure.Sample, error) {
	if len(c.Problems) > 0 {
		return nil, fmt.Errorf("packet capture: %s: %w", c.Problems[0], ErrMismatch)
	}
	calls := c.Calls(s.Unit)
	if len(calls) != s.Skip+s.Count {
		return nil,
			fmt.Errorf("packet capture: %d calls were made (%d of them warm-up), but the capture has %d (unit: %s, %d "+
				"packets); keep the packets and inspect them with edgegauge packets: %w",
				s.Skip+s.Count, s.Skip, len(calls), s.Unit, c.Packets, ErrMismatch)
	}
	e := emitter{s: s, wanted: s.Quantities}
	if e.wanted == nil {
		e.wanted = Quantities()
	}
	for i := range calls[s.Skip:] {
		if err := e.call(uint64(i+1), &calls[s.Skip+i]); err != nil {
			return nil, err
		}
	}
	return e.out, nil
}

// OnWire is how many bytes the calls that count had on the wire, both ways, those that
// failed as well: what was sent for them was paid for.
func (c Capture) OnWire(s Selection) (sum int64) {
	calls := c.Calls(s.Unit)
	for i := range calls[min(s.Skip, len(calls)):] {
		sum += s.onWire(&calls[s.Skip+i]).Bytes
	}
	return sum
}

// onWire is what a call had on the wire, both ways. The acknowledgement of the last answer on a connection is no part
// of it: that of any other rides on the next request, and whether this one is sent bare depends on how soon the lab
// ends the client.
func (s Selection) onWire(c *Call) Traffic {
	if s.Whole && c.session != nil {
		return *c.session
	}
	return Traffic{Packets: c.Packets() - c.tail.Packets, Bytes: c.WireBytes() - c.tail.Bytes}
}

// An emitter turns calls into samples.
type emitter struct {
	s      Selection
	wanted []measure.Quantity
	out    []measure.Sample
	before uint64        // the last call that did not fail
	last   time.Duration // its delay
	rfc    float64
}

func (e *emitter) call(seq uint64, c *Call) error {
	if e.s.Failed[seq] {
		return nil
	}
	at := c.Start - e.s.Origin
	d, follows := math.Abs((c.Delay - e.last).Seconds()), seq > 1 && e.before == seq-1
	if e.before, e.last = seq, c.Delay; follows {
		e.rfc += (d - e.rfc) / 16 // RFC 3550, section 6.4.1, with delay as the transit time
	}
	for _, q := range e.wanted {
		v, refusal, has := c.figure(q)
		switch {
		case q == Jitter:
			v, refusal, has = d, c.NoDelay, follows
		case q == JitterRFC3550:
			v, refusal, has = e.rfc, c.NoDelay, follows
		case q == WireBytes:
			v = float64(e.s.onWire(c).Bytes)
		case q == Packets:
			v = float64(e.s.onWire(c).Packets)
		case q == Retransmissions && e.s.Quantities == nil: // all there are
			has, refusal = c.NoRetransmissions == "", c.NoBytes
		case (q == HandshakeBytes || q == HandshakeTime) && e.s.Unit != PerConnection:
			has, refusal = refusal == "", "" // most calls have none
		}
		if refusal != "" {
			return fmt.Errorf("packet capture: no %s of call %d (%v to %v): %s: %w", q.Name, seq, c.Client, c.Server,
				refusal, ErrMismatch)
		}
		if has {
			e.out = append(e.out, measure.Sample{Quantity: q, At: at, Value: v, Seq: seq})
		}
	}
	return nil
}

// figure returns a quantity's value and why it is refused; jitter is not one
// call's.
func (c *Call) figure(q measure.Quantity) (v float64, refusal string, has bool) {
	switch q {
	case Delay:
		return c.Delay.Seconds(), c.NoDelay, true
	case DelayToData:
		return c.DelayToData.Seconds(), cmp.Or(c.NoData, c.NoDataTime), true
	case WireBytes:
		return float64(c.WireBytes()), c.NoBytes, true
	case WireBytesOut:
		return float64(c.Out.Bytes), c.NoBytes, true
	case WireBytesIn:
		return float64(c.In.Bytes), c.NoBytes, true
	case PayloadOut:
		return float64(c.Out.Payload), c.NoData, true
	case PayloadIn:
		return float64(c.In.Payload), c.NoData, true
	case Packets:
		return float64(c.Packets()), c.NoBytes, true
	case Retransmissions:
		return float64(c.Retransmissions), cmp.Or(c.NoBytes, c.NoRetransmissions), true
	case HandshakeBytes:
		return float64(c.HandshakeBytes), c.NoHandshake, true
	case HandshakeTime:
		return c.HandshakeTime.Seconds(), cmp.Or(c.NoHandshake, c.NoHandshakeTime), true
	}
	return 0, "", false
}
