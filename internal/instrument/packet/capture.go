package packet

import (
	"fmt"
	"net/netip"
	"time"
)

// A Capture is what an Analyzer found.
type Capture struct {
	Packets int64 // all that were read
	Bytes   int64 // of them on the wire
	// Other, Fragments, Cut and Malformed packets are in no figure. The last
	// three take every figure between the same two addresses with them.
	Other, Fragments, Cut, Malformed int64
	Dropped                          uint64        // lost by the capturing side, by its own account
	First, Last                      time.Duration // stamps, since 1970
	Tick                             time.Duration // between stamps that can be told apart; 0: 1 ns or less
	Connections                      []Connection  // TCP, by first packet
	Exchanges                        []UDPCall     // UDP, by first datagram
	// Unmatched CoAP messages answer no request of this capture;
	// Notifications are further answers to one request; Pings are empty messages.
	Unmatched, Notifications, Pings int64
	Problems                        []string // why no figure can be trusted; empty when they can

	sizes []sized // of the packets of the ports, where Options ask for them
}

// sized is one packet: its stamp, since 1970, and its bytes on the wire.
type sized struct {
	at    time.Duration
	bytes int
	bare  bool // of TCP, and acknowledges at most
}

// A Span is what was on the wire for a while, both ways.
type Span struct {
	Packets, Bytes  int64  // of whole frames
	Retransmissions int64  // of TCP: packets that carried something seen before
	Refusal         string // why the counts cannot be trusted
}

// Between is what was on the wire from began to ended, where Options.Sizes kept it: from the first packet that
// carries something to the last. Acknowledgements before it are of what came before, and those behind it ride on
// what comes next.
func (c Capture) Between(began, ended time.Time) (out Span) {
	from, to := time.Duration(began.UnixNano()), time.Duration(ended.UnixNano())
	var since Span // the last packet that carries something
	for _, p := range c.sizes {
		if p.at < from || p.at > to || p.bare && since.Packets == 0 {
			continue
		}
		since.Packets++
		since.Bytes += int64(p.bytes)
		if !p.bare {
			out = since
		}
	}
	if c.Fragments+c.Cut+c.Malformed > 0 {
		out.Refusal = fmt.Sprintf("%d packets were fragments, %d truncated and %d malformed, and what belongs to them "+
			"is not known; use smaller messages or a larger MTU", c.Fragments, c.Cut, c.Malformed)
	}
	for _, conn := range c.Connections {
		if conn.SuperSegments > 0 && out.Refusal == "" {
			out.Refusal = "a captured packet stands for several on the wire; turn off segmentation offload"
		}
		for _, at := range conn.resent {
			if at >= from && at <= to {
				out.Retransmissions++
			}
		}
	}
	return out
}

// Traffic is what one direction carried.
type Traffic struct {
	Packets int64 `json:"packets"`    // frames
	Bytes   int64 `json:"wire_bytes"` // of whole frames, link-layer header included, without FCS
	Payload int64 `json:"payload"`    // of TCP or UDP, each byte once
}

// A Call is one thing that was timed: a connection, a request on a kept-alive
// connection, or a UDP exchange. A figure stands only if its refusal is empty.
type Call struct {
	Seq            int // order within its kind, from 1
	Client, Server netip.AddrPort
	Start          time.Duration // first SYN, or first packet of the request, since 1970

	// Delay is, of a connection, from the client's first SYN to the last client
	// segment with ACK set. A connection that ends in RST has no closing
	// handshake, so the same rule holds: an RST of the client that carries ACK
	// counts, one that does not carry it does not, an RST of the server never.
	// Of a request, it is from its first data segment to the client's last ACK
	// before the next request or the first bare FIN; where that ACK rides on the
	// next request, it equals DelayToData. Of a UDP exchange, from its first
	// datagram to its last.
	Delay time.Duration
	// DelayToData is to the last segment that carried a byte of the server not
	// seen before; of a UDP exchange, to the first copy of its response.
	DelayToData time.Duration

	Out, In         Traffic // from the client, from the server
	Retransmissions int64   // packets both ways that carried something seen before

	// The handshake reaches from the first SYN to the ACK that completes it, or
	// with TLS to the last handshake record before application data; with DTLS
	// from the first ClientHello. HandshakeBytes counts whole frames both ways,
	// less the application bytes that share the last one.
	HandshakeTime  time.Duration
	HandshakeBytes int64

	NoDelay, NoData, NoBytes, NoHandshake, NoRetransmissions string // why a figure is refused
	NoDataTime, NoHandshakeTime                              string // and of data and handshake the times alone

	tick              time.Duration // the longest of its packets
	session           *Traffic      // of DTLS: all of its session, handshake and end included
	lastACK, lastData time.Duration
	acked, answered   bool
	tail              Traffic // of a connection's last request: bare segments behind the last data, both ways
	closing           bool    // of a request: the connection began to close
	closesAt          int64   // of a request: its answer ends here, with a FIN; 0: not so
	interim           interimWatch
	end               int64 // of a request: one past its answer's last number so far
	whole             bool  // of a request: the client has acknowledged all before end
	pinged            bool  // of a request: a PING of HTTP/2 came after its answer's last data
	alert             bool  // of a request: it looks like TLS's closing alert
}

// Packets counts both directions.
func (c *Call) Packets() int64 { return c.Out.Packets + c.In.Packets }

// WireBytes counts both directions.
func (c *Call) WireBytes() int64 { return c.Out.Bytes + c.In.Bytes }

// refuse refuses every figure not refused yet.
func (c *Call) refuse(why string) {
	for _, r := range []*string{&c.NoDelay, &c.NoData, &c.NoBytes, &c.NoHandshake} {
		if *r == "" {
			*r = why
		}
	}
}

// blame refuses every figure, for a cause of which all other reasons may be effects.
func (c *Call) blame(why string) {
	c.NoDelay, c.NoData, c.NoBytes = why, why, why
	setIfEmpty(&c.NoHandshake, why)
}

// refuseTimes refuses durations below zero, for which a clock was set back in mid-call, and those that the clock of
// their file cannot tell from none.
func (c *Call) refuseTimes() {
	for _, x := range []struct {
		d             time.Duration
		all, timeOnly *string
	}{{c.Delay, &c.NoDelay, &c.NoDelay}, {c.DelayToData, &c.NoData, &c.NoDataTime},
		{c.HandshakeTime, &c.NoHandshake, &c.NoHandshakeTime}} {
		if x.d < 0 {
			setIfEmpty(x.all, "its timestamps go backwards")
		} else if c.tick > 0 && x.d <= c.tick {
			setIfEmpty(x.timeOnly, fmt.Sprintf("the file's timestamps are %v apart, which is too coarse for it", c.tick))
		}
	}
}

func (c *Call) side(fromClient bool) *Traffic {
	if fromClient {
		return &c.Out
	}
	return &c.In
}

// A Connection is one TCP connection.
type Connection struct {
	Call
	Security    string // "", "TLS 1.2", "TLS 1.3"; older ones count as 1.2
	End         string // "FIN", "RST by client", "RST by server", "refused by server", "open"
	OutOfOrder  int64  // segments that filled a gap sooner than a sender could have known
	KeepAlives  int64  // and probes of a closed window
	ZeroWindows int64  // segments that closed the window
	Duplicates  int64  // packets the capture holds twice
	// SuperSegments are larger than the MSS or the MTU: one captured packet
	// stands for several on the wire, so packets and bytes are refused.
	SuperSegments int64
	Requests      []Call
	NoRequests    string // why they are not told apart
	Partial       bool   // its SYN is not in this capture

	resent []time.Duration // stamps of the retransmissions
}

// A UDPCall is one request and its response over UDP.
type UDPCall struct {
	Call
	Protocol  string // "coap", "udp", "dtls", "quic": a whole connection
	MessageID uint16 // CoAP
	Token     string // CoAP, in hexadecimal
	Separate  bool   // CoAP: answered by a message of its own
	Reset     bool   // CoAP: rejected

	flow        *flow
	index       int
	tokenKey    tokenKey
	observe     bool
	responseID  uint16
	responseHow uint8
}
