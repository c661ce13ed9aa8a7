package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// A nastyCapture is one that a careless analysis gets wrong.
type nastyCapture struct {
	name  string
	build func(s *script)
	// check may be nil if agreeing with tshark says it all.
	check  func(t *testing.T, c Capture)
	differ bool // from tshark, or it has no say
}

// refusedAll wants figures refused, with any of the words that tell why.
func refusedAll(words ...string) func(t *testing.T, c Capture) {
	return func(t *testing.T, c Capture) {
		t.Helper()
		if len(c.Connections)+len(c.Exchanges) == 0 {
			t.Fatal("nothing was found")
		}
		calls := append(c.Calls(PerExchange), c.Calls(PerRequest)...)
		for _, x := range c.Connections {
			calls = append(calls, x.Call)
		}
		for _, x := range calls {
			told := slices.ContainsFunc(words, func(w string) bool {
				return strings.Contains(x.NoDelay, w) &&
					strings.Contains(x.NoBytes, w)
			})
			if !told || x.NoData == "" {
				t.Errorf("call %d: got refusals %q, %q, %q, want %q", x.Seq, x.NoDelay, x.NoData, x.NoBytes, words)
			}
		}
	}
}

func first(t *testing.T, c Capture) *Connection {
	t.Helper()
	if len(c.Connections) == 0 {
		t.Fatal("no connection")
	}
	return &c.Connections[0]
}

// counts wants the first connection's counters.
func counts(retrans, disorder, keepAlives, zero int64) func(t *testing.T, c Capture) {
	return func(t *testing.T, c Capture) {
		t.Helper()
		x := first(t, c)
		if x.Retransmissions != retrans || x.OutOfOrder != disorder || x.KeepAlives != keepAlives || x.ZeroWindows != zero {
			t.Errorf("got %d retransmissions, %d out of order, %d keep-alives, %d zero windows, want %d, %d, %d, %d",
				x.Retransmissions, x.OutOfOrder, x.KeepAlives, x.ZeroWindows, retrans, disorder, keepAlives, zero)
		}
	}
}

func ended(how string, delay time.Duration) func(t *testing.T, c Capture) {
	return func(t *testing.T, c Capture) {
		t.Helper()
		if x := first(t, c); x.End != how || x.NoDelay != "" || x.Delay != delay {
			t.Errorf("got end %q, delay %v (%s), want %q, %v", x.End, x.Delay, x.NoDelay, how, delay)
		}
	}
}

var nasty = []nastyCapture{
	{name: "clean, sequence numbers wrap", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
	}, check: func(t *testing.T, c Capture) {
		x := first(t, c)
		if x.Delay != 8*ms || x.DelayToData != 4*ms || x.HandshakeTime != 2*ms || x.HandshakeBytes != 3*60 ||
			x.Out.Payload != 7 || x.In.Payload != 8 || len(x.Requests) != 1 {
			t.Errorf("got %+v", x)
		}
		r := x.Requests[0]
		if r.Delay != 2*ms || r.DelayToData != ms || r.Packets() != 3 || r.WireBytes() != 61+62+60 {
			t.Errorf("request: got %+v", r)
		}
	}},
	{name: "the server's TLS alert comes after the client closed", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		late := c.ack
		c.send(finFlag|ackFlag, "")
		v.send(ackFlag, "alert") // the client's kernel answers with RST, and nobody ever reads it
		v.send(finFlag|ackFlag, "")
		c.ack = late
		c.segment(rstFlag, c.seq, nil)
	}, check: func(t *testing.T, c Capture) {
		x := first(t, c)
		if x.Delay != 6*ms || x.DelayToData != 4*ms || x.End != "RST by client" || x.In.Payload != 13 {
			t.Errorf("got end %q, delay %v, to data %v, %d B", x.End, x.Delay, x.DelayToData, x.In.Payload)
		}
		if r := x.Requests[0]; r.DelayToData != ms || r.Delay < r.DelayToData {
			t.Errorf("request: got %v, to data %v", r.Delay, r.DelayToData)
		}
	}},
	{name: "the same, acknowledged by the client's RST", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		v.send(ackFlag, "alert")
		c.send(rstFlag|ackFlag, "")
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); x.Delay != 7*ms || x.DelayToData != 6*ms {
			t.Errorf("got delay %v, to data %v", x.Delay, x.DelayToData)
		}
	}},
	{name: "no answer was acknowledged", differ: true, build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		c.send(ackFlag, "request")
		before := c.ack
		v.send(ackFlag, "response")
		c.ack = before
		c.segment(rstFlag, c.seq, nil)
	}, check: func(t *testing.T, c Capture) {
		x := first(t, c)
		if !strings.Contains(x.NoData, "acknowledged no data") ||
			!strings.Contains(x.Requests[0].NoData, "acknowledged no data") {
			t.Errorf("got delay to data %v (%s), of the request %v (%s)", x.DelayToData, x.NoData, x.Requests[0].DelayToData,
				x.Requests[0].NoData)
		}
	}},
	{name: "data sent twice", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		c.send(ackFlag, "request")
		s.at += 300 * ms
		c.segment(ackFlag, c.seq-7, []byte("request"))
		v.send(ackFlag, "response")
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: counts(1, 0, 0, 0)},
	{name: "response sent twice: data ends with the first copy", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		c.send(ackFlag, "request")
		v.send(ackFlag, "response")
		s.at += 300 * ms
		v.segment(ackFlag, v.seq-8, []byte("response"))
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: func(t *testing.T, c Capture) {
		counts(1, 0, 0, 0)(t, c)
		if x := first(t, c); x.DelayToData != 4*ms || x.In.Payload != 8 {
			t.Errorf("got %v to data, %d B", x.DelayToData, x.In.Payload)
		}
	}},
	{name: "two segments change places", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		s.at += 20 * ms // the ring of the handshake is long against the swap
		c.send(ackFlag, "request")
		v.seq += 4
		p := v.send(ackFlag, "onse")
		p.At = s.at
		v.segment(ackFlag, v.seq-8, []byte("resp")).At = s.at
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: counts(0, 1, 0, 0)},
	{name: "a gap is filled after a round trip: sent again", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		c.send(ackFlag, "request")
		v.seq += 4
		v.send(ackFlag, "onse")
		s.at += 250 * ms
		v.segment(ackFlag, v.seq-8, []byte("resp"))
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: func(t *testing.T, c Capture) {
		counts(1, 0, 0, 0)(t, c)
		if x := first(t, c); x.DelayToData != 255*ms || x.In.Payload != 8 || x.Requests[0].DelayToData != 252*ms {
			t.Errorf("got %v to data, %d B, request %v", x.DelayToData, x.In.Payload, x.Requests[0].DelayToData)
		}
	}, differ: true}, // tshark takes the filled gap's segment as no new data
	{name: "SYN sent twice: delay from the first", build: func(s *script) {
		c, v := s.dial(cliAddr, srvAddr)
		c.send(synFlag, "")
		s.at += 999 * ms
		c.segment(synFlag, c.seq-1, nil)
		v.send(synFlag|ackFlag, "")
		c.send(ackFlag, "")
		call(c, v)
		hangUp(c, v)
	}, check: ended("FIN", 1008*ms)},
	{name: "FIN sent twice", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		c.send(finFlag|ackFlag, "")
		s.at += 300 * ms
		c.segment(finFlag|ackFlag, c.seq-1, nil)
		v.send(finFlag|ackFlag, "")
		c.send(ackFlag, "")
	}, check: counts(1, 0, 0, 0)},
	{name: "ports used again after FIN, after RST and with no end", build: func(s *script) {
		for i := range uint32(3) {
			c, v := s.dial(cliAddr, srvAddr)
			c.seq, v.seq = c.seq+100_000*i, v.seq+100_000*i
			c.send(synFlag, "")
			v.send(synFlag|ackFlag, "")
			c.send(ackFlag, "")
			call(c, v)
			if i == 0 {
				hangUp(c, v)
			} else {
				c.send(rstFlag|ackFlag, "")
			}
		}
	}, check: func(t *testing.T, c Capture) {
		if len(c.Connections) != 3 || c.Connections[1].Delay != 6*ms || c.Connections[1].End != "RST by client" ||
			len(c.Calls(PerConnection)) != 3 {
			t.Errorf("got %d connections, %+v", len(c.Connections), c.Connections)
		}
	}},
	{name: "a late copy of an old SYN", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		old := c.s.pkts[0]
		c, v = s.dial(cliAddr, srvAddr)
		c.seq += 5000
		c.send(synFlag, "")
		s.at += ms
		old.At = s.at
		s.pkts = append(s.pkts, old)
		v.seq += 5000
		v.send(synFlag|ackFlag, "")
		c.send(ackFlag, "")
		call(c, v)
		hangUp(c, v)
	}, check: func(t *testing.T, c Capture) {
		if len(c.Connections) != 2 || c.Connections[0].Retransmissions != 1 || c.Connections[1].Delay != 9*ms ||
			c.Connections[1].NoDelay != "" {
			t.Errorf("got %d connections, %+v", len(c.Connections), c.Connections)
		}
	}, differ: true}, // tshark takes the copy for a third connection
	{name: "RST with ACK by the client counts", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		c.send(rstFlag|ackFlag, "")
	}, check: ended("RST by client", 6*ms)},
	{name: "RST without ACK does not", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		c.send(rstFlag, "")
	}, check: ended("RST by client", 5*ms)},
	{name: "RST by the server after the client's FIN", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		c.send(finFlag|ackFlag, "")
		v.send(rstFlag|ackFlag, "")
	}, check: ended("RST by server", 6*ms)},
	{name: "refused by the server", build: func(s *script) {
		c, v := s.dial(cliAddr, srvAddr)
		c.send(synFlag, "")
		v.seq = 0
		v.send(rstFlag|ackFlag, "")
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); x.End != "refused by server" || !strings.Contains(x.NoDelay, "refused by server") ||
			x.NoData == "" || x.NoHandshake == "" {
			t.Errorf("got %+v", x)
		}
	}, differ: true},
	{name: "no SYN", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts = s.pkts[1:]
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); !x.Partial || x.NoDelay == "" || x.NoBytes == "" || x.NoHandshake == "" ||
			len(c.Calls(PerConnection)) != 0 {
			t.Errorf("got %+v", x)
		}
	}, differ: true},
	{name: "begins in the middle", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts = s.pkts[4:]
	}, check: refusedAll("SYN", "before the capture"), differ: true},
	{name: "no SYN/ACK", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts = append(s.pkts[:1], s.pkts[2:]...)
	}, check: refusedAll("a SYN is missing"), differ: true},
	{name: "a data segment is not in the capture", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts = append(s.pkts[:4], s.pkts[5:]...)
	}, check: refusedAll("acknowledged that are not in this capture", "no response"), differ: true},
	{name: "the server's side is not in the capture", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		var one []Packet
		for _, p := range s.pkts {
			if p.Data[29] == 1 { // source address
				one = append(one, p)
			}
		}
		s.pkts = one
	}, check: refusedAll("one direction", "no response"), differ: true},
	{name: "the last ACK is not in the capture", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts = s.pkts[:len(s.pkts)-1]
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); x.End != "open" || x.NoDelay == "" || x.NoData == "" || x.NoBytes == "" || x.NoHandshake != "" {
			t.Errorf("got %+v", x)
		}
	}, differ: true},
	{name: "keep-alive probes", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		s.at += 1000 * ms
		c.segment(ackFlag, c.seq-1, nil)
		v.send(ackFlag, "")
		c.segment(ackFlag, c.seq-1, []byte{0})
		v.send(ackFlag, "")
		hangUp(c, v)
	}, check: counts(0, 0, 2, 0)},
	{name: "one byte sent twice is no keep-alive", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		c.send(ackFlag, "r")
		s.at += 300 * ms
		c.segment(ackFlag, c.seq-1, []byte("r"))
		v.send(ackFlag, "response")
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: counts(1, 0, 0, 0), differ: true}, // tshark says keep-alive
	{name: "window closes, is probed and opens", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		c.send(ackFlag, "request")
		v.window = 0
		v.send(ackFlag, "")
		c.segment(ackFlag, c.seq-1, nil)
		v.send(ackFlag, "")
		v.window = 5000
		v.send(ackFlag, "response")
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: counts(0, 0, 1, 2)},
	{name: "super-segment", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		c.send(ackFlag, "request")
		v.send(ackFlag, strings.Repeat("x", 4000))
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); x.SuperSegments != 1 || !strings.Contains(x.NoBytes, "super-segment") ||
			x.NoDelay+x.NoData != "" || x.Delay != 8*ms {
			t.Errorf("got %+v", x)
		}
		if _, err := c.Samples(Selection{Unit: PerConnection, Count: 1}); !errors.Is(err, ErrMismatch) {
			t.Errorf("all quantities: %v, want a mismatch", err)
		}
		if got, err := c.Samples(Selection{Unit: PerConnection, Count: 1, Quantities: quantities(Delay)}); err != nil ||
			len(got) != 1 {
			t.Errorf("delay alone: %v, %v", got, err)
		}
	}, differ: true},
	{name: "every packet captured twice", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		var twice []Packet
		for _, p := range s.pkts {
			q := p
			q.At += 1000
			twice = append(twice, p, q)
		}
		s.pkts = twice
	}, check: refusedAll("duplicate packets"), differ: true},
	{name: "one segment of an earlier connection", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		v.segment(ackFlag, v.seq+0x50000000, []byte("old"))
		hangUp(c, v)
	}, check: refusedAll("another connection"), differ: true},
	{name: "IPv4 fragments", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		reheader(s.pkts[4].Data, func(ip []byte) { ip[6] |= 0x20 }) // more fragments
	}, check: func(t *testing.T, c Capture) {
		if c.Fragments != 1 {
			t.Errorf("%d fragments, want 1", c.Fragments)
		}
		if x := first(t, c); x.NoDelay == "" || x.NoData == "" || x.NoBytes == "" {
			t.Errorf("got %+v", x)
		}
	}, differ: true},
	{name: "wrong IP checksum", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts[8].Data[22]++ // TTL
	}, check: func(t *testing.T, c Capture) {
		if len(c.Problems) != 1 || c.Malformed != 1 || first(t, c).NoDelay == "" {
			t.Errorf("got %v", c.Problems)
		}
	}, differ: true},
	{name: "wrong TCP checksum", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts[4].Data[60] ^= 1
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); c.Malformed != 1 || x.NoDelay == "" || x.NoBytes == "" || x.NoData == "" {
			t.Errorf("got %+v", x)
		}
	}, differ: true},
	{name: "snaplen leaves the headers", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.snap(58)
	}, check: ended("FIN", 8*ms)},
	{name: "snaplen cuts TCP headers", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.snap(50)
	}, check: func(t *testing.T, c Capture) {
		if c.Cut != 9 || len(c.Connections) != 0 {
			t.Errorf("got %d cut, %d connections", c.Cut, len(c.Connections))
		}
	}, differ: true},
	{name: "snaplen cuts some TCP headers", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts[8].Data = s.pkts[8].Data[:50]
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); c.Cut != 1 || !strings.Contains(x.NoBytes, "snaplen") &&
			!strings.Contains(x.NoBytes, "not closed") {
			t.Errorf("got %+v", x)
		}
	}, differ: true},
	{name: "snaplen cuts addresses", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts[5].Data = s.pkts[5].Data[:20]
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); len(c.Problems) == 0 || x.NoDelay == "" || x.NoBytes == "" {
			t.Errorf("got %+v", x)
		}
	}, differ: true},
	{name: "stamps run backwards", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.pkts[7].At -= 50 * ms
	}, check: refusedAll("reordercap"), differ: true},
	{name: "both ends send a SYN", build: func(s *script) {
		c, v := s.dial(cliAddr, srvAddr)
		c.send(synFlag, "")
		v.send(synFlag, "")
		c.send(synFlag|ackFlag, "")
		v.send(synFlag|ackFlag, "")
		hangUp(c, v)
	}, check: refusedAll("both ends", "SYN"), differ: true},
	{name: "IPv6", build: func(s *script) {
		c, v := s.open(cliAddr6, srvAddr6)
		call(c, v)
		hangUp(c, v)
	}, check: ended("FIN", 8*ms)},
	{name: "IPv6 extension headers", build: func(s *script) {
		c, v := s.open(cliAddr6, srvAddr6)
		call(c, v)
		hangUp(c, v)
		for i := range s.pkts {
			// hop-by-hop with padding, then an atomic fragment header
			s.extend(i, 0, []byte{44, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 7})
		}
	}, check: ended("FIN", 8*ms)},
	{name: "IPv6 fragments", build: func(s *script) {
		c, v := s.open(cliAddr6, srvAddr6)
		call(c, v)
		hangUp(c, v)
		s.extend(4, 44, []byte{6, 0, 0, 1, 0, 0, 0, 7})
	}, check: func(t *testing.T, c Capture) {
		if x := first(t, c); c.Fragments != 1 || x.NoDelay == "" || x.NoBytes == "" {
			t.Errorf("%d fragments, got %+v", c.Fragments, x)
		}
	}, differ: true},
	{name: "VLAN tags and IPv4 options", build: func(s *script) {
		s.vlan = true
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
	}, check: ended("FIN", 8*ms)},
	{name: "kept alive, responses in two segments, ACKs delayed", build: func(s *script) {
		c, v := s.open(cliAddr, srvAddr)
		for range 3 {
			c.send(ackFlag, "request")
			v.send(ackFlag, "resp")
			s.at += 5 * ms
			v.send(ackFlag, "onse")
		}
		s.at += 40 * ms
		c.send(ackFlag, "")
		hangUp(c, v)
	}, check: func(t *testing.T, c Capture) {
		r := first(t, c).Requests
		if len(r) != 3 || r[0].DelayToData != 7*ms || r[0].Delay != 7*ms || r[2].DelayToData != 7*ms || r[2].Delay != 48*ms ||
			r[1].Packets() != 3 || r[2].Packets() != 4 {
			t.Errorf("got %+v", r)
		}
	}},
}

// TestNastyCaptures: figures are right, which means tshark's, or refused.
func TestNastyCaptures(t *testing.T) {
	for _, n := range nasty {
		t.Run(n.name, func(t *testing.T) {
			s := newScript(t)
			n.build(s)
			c := s.analyze(Options{})
			if n.check != nil {
				n.check(t, c)
			}
			if !n.differ && !t.Failed() {
				s.agrees(t, c)
			}
			if err := c.WriteText(io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTruncatedFiles cuts a file at every byte: whatever figure still stands
// is the whole file's.
func TestTruncatedFiles(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	call(c, v)
	hangUp(c, v)
	s.coap(cliAddr, coapAddr, con, 1, 7, "tk")
	s.coap(coapAddr, cliAddr, ack, 0x45, 7, "tk")
	for name, file := range map[string][]byte{"pcapng": s.file(), "pcap": s.classic(false, true)} {
		whole, err := Analyze(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		errs := 0
		for n := range file {
			got, err := Analyze(bytes.NewReader(file[:n]))
			if err != nil {
				errs++
				if got.Problems == nil {
					t.Errorf("%s of %d bytes: an error, but no problem", name, n)
				}
			}
			standing(t, got, whole)
		}
		if errs < len(file)*9/10 {
			t.Errorf("%s: %d of %d cuts were noticed", name, errs, len(file))
		}
	}
}

// TestCorruptFiles damages every byte of every packet from the IP header on.
func TestCorruptFiles(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	call(c, v)
	hangUp(c, v)
	s.coap(cliAddr, coapAddr, con, 1, 7, "tk")
	s.coap(coapAddr, cliAddr, ack, 0x45, 7, "tk")
	whole := s.analyze(Options{})
	for i := range s.pkts {
		end := 14 + int(binary.BigEndian.Uint16(s.pkts[i].Data[16:])) // padding follows
		for j := 14; j < end; j++ {
			for _, bit := range []byte{1, 0x10, 0x80} {
				s.pkts[i].Data[j] ^= bit
				got := s.analyze(Options{})
				s.pkts[i].Data[j] ^= bit
				standing(t, got, whole)
				if got.Malformed == 0 && len(got.Problems) == 0 {
					t.Errorf("packet %d, byte %d, bit %#x: nothing was noticed", i+1, j, bit)
				}
			}
		}
	}
}

// standing wants every figure that got does not refuse to be want's.
func standing(t *testing.T, got, want Capture) {
	t.Helper()
	check := func(g, w *Call) {
		if g.NoDelay == "" && g.Delay != w.Delay || g.NoData == "" && g.DelayToData != w.DelayToData ||
			g.NoBytes == "" && (g.Out != w.Out || g.In != w.In || g.Retransmissions != w.Retransmissions) ||
			g.NoHandshake == "" && g.HandshakeBytes != w.HandshakeBytes {
			t.Errorf("silently wrong: got %+v, want %+v", g, w)
		}
	}
	if len(got.Connections) > len(want.Connections) || len(got.Exchanges) > len(want.Exchanges) {
		if len(got.Problems) == 0 && got.Malformed == 0 {
			t.Errorf("more calls than there were: %+v", got)
		}
		return
	}
	for i := range got.Connections {
		check(&got.Connections[i].Call, &want.Connections[i].Call)
	}
	for i := range got.Exchanges {
		check(&got.Exchanges[i].Call, &want.Exchanges[i].Call)
	}
}
