package packet

import (
	"strings"
	"testing"

	"github.com/gopacket/gopacket/layers"
)

// requests wants the first connection's requests: how many, and of each the
// delay, the delay to data and the bytes of the client, all in ms and B.
func requests(want ...[3]int64) func(t *testing.T, c Capture) {
	return func(t *testing.T, c Capture) {
		t.Helper()
		x := first(t, c)
		if len(x.Requests) != len(want) {
			t.Fatalf("got %d requests, want %d: %+v", len(x.Requests), len(want), x.Requests)
		}
		for i, w := range want {
			r := x.Requests[i]
			if got := [3]int64{int64(r.Delay / ms), int64(r.DelayToData / ms), r.Out.Payload}; got != w ||
				r.NoDelay+r.NoData != "" {
				t.Errorf("request %d: got %v (%s%s), want %v", i+1, got, r.NoDelay, r.NoData, w)
			}
		}
	}
}

// tls makes one TLS record.
func tls13(typ byte, n int) string {
	return string([]byte{typ, 3, 3, byte(n >> 8), byte(n)}) + strings.Repeat("x", n)
}

// shake13 scripts the handshake of TLS 1.3 with AES-128-GCM up to the client's
// Finished, which rides on what follows.
func shake13(c, v *end) (finished string) {
	c.send(ackFlag, "\x16\x03\x01\x00\x2a\x01"+strings.Repeat("h", 41))
	hello := "\x02\x00\x00\x2e\x03\x03" + strings.Repeat("r", 32) + "\x00\x13\x01\x00\x00\x06\x00\x2b\x00\x02\x03\x04"
	v.send(ackFlag, "\x16\x03\x03"+string([]byte{0, byte(len(hello))})+hello+tls13(23, 500))
	return tls13(23, 4+32+1+16)
}

// Requests are told apart by turns, and what comes in mid-request is no turn.
func TestWhatComesInMidRequest(t *testing.T) {
	for name, c := range map[string]struct {
		build func(s *script)
		check func(t *testing.T, c Capture)
	}{
		"the answer carries a FIN: its ACK is the last one": {func(s *script) {
			c, v := s.open(cliAddr, srvAddr)
			c.send(ackFlag, "request")
			v.send(ackFlag, "half")
			v.send(ackFlag|finFlag, "half")
			c.send(ackFlag, "")
			c.send(ackFlag|finFlag, "")
			v.send(ackFlag, "")
		}, requests([3]int64{3, 2, 7})},
		"the request carries a FIN: its answer counts": {func(s *script) {
			c, v := s.open(cliAddr, srvAddr)
			c.send(ackFlag|finFlag, "request")
			v.send(ackFlag, "response")
			c.send(ackFlag, "")
			v.send(ackFlag|finFlag, "")
			c.send(ackFlag, "")
		}, requests([3]int64{2, 1, 7})},
		"Expect: 100-continue is one request": {func(s *script) {
			c, v := s.open(cliAddr, srvAddr)
			for range 2 {
				c.send(ackFlag, "POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n")
				v.send(ackFlag, "HTTP/1.1 100 Continue\r\n\r\n")
				c.send(ackFlag, "body")
				v.send(ackFlag, "HTTP/1.1 200 OK\r\n\r\n")
				c.send(ackFlag, "")
			}
			hangUp(c, v)
		}, requests([3]int64{4, 3, 45}, [3]int64{4, 3, 45})},
		"an answer behind a 100 in one segment answers": {func(s *script) {
			c, v := s.open(cliAddr, srvAddr)
			for range 2 {
				c.send(ackFlag, "request")
				v.send(ackFlag, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
				c.send(ackFlag, "")
			}
			hangUp(c, v)
		}, requests([3]int64{2, 1, 7}, [3]int64{2, 1, 7})},
		"a session ticket between two records of a request": {func(s *script) {
			c, v := s.open(cliAddr, srvAddr)
			c.send(ackFlag, shake13(c, v))
			acked := v.ack
			c.send(ackFlag, tls13(23, 100)) // the head
			v.ack = acked                   // the ticket was sent before the head came
			v.send(ackFlag, tls13(23, 250))
			c.send(ackFlag, tls13(23, 1000)) // the body
			v.send(ackFlag, tls13(23, 300))
			c.send(ackFlag, "")
			c.send(ackFlag, tls13(23, 100))
			v.send(ackFlag, tls13(23, 300))
			c.send(ackFlag, "")
			hangUp(c, v)
		}, requests([3]int64{4, 3, 1110}, [3]int64{2, 1, 105})},
		"a session ticket in the middle of a record, the part before acknowledged": {func(s *script) {
			c, v := s.open(cliAddr, srvAddr)
			c.send(ackFlag, shake13(c, v))
			body := tls13(23, 1500)
			c.send(ackFlag, body[:1000])
			v.send(ackFlag, tls13(23, 250))
			c.send(ackFlag, body[1000:])
			v.send(ackFlag, tls13(23, 300))
			c.send(ackFlag, "")
			hangUp(c, v)
		}, requests([3]int64{4, 3, 1505})},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			c.build(s)
			got := s.analyze(Options{})
			if x := first(t, got); x.NoData != "" && x.End != "open" {
				t.Errorf("the connection: %s", x.NoData)
			}
			c.check(t, got)
		})
	}
}

// stamped sends a segment with a TCP timestamp.
func (e *end) stamped(at uint32, seq uint32, payload string) {
	t := &layers.TCP{SrcPort: layers.TCPPort(e.me.Port()), DstPort: layers.TCPPort(e.peer.Port()), Seq: seq, Ack: e.ack,
		Window: e.window, ACK: true,
		Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindTimestamps, OptionLength: 10,
			OptionData: []byte{byte(at >> 24), byte(at >> 16), byte(at >> 8), byte(at), 0, 0, 0, 0}}}}
	e.s.put(e.me, e.peer, t, []byte(payload))
}

// A gap filled sooner than the handshake's round trip (which asked for addresses,
// too) is told by the sender's clock: sent later is sent again, sent earlier is late.
func TestTheSendersClockTellsWhatWasSentAgain(t *testing.T) {
	for name, c := range map[string]struct {
		stamp                 uint32 // of what fills the gap; the segment that opened it has 1000
		retransmissions, late int64
	}{
		"sent later":               {1003, 1, 0},
		"sent earlier":             {999, 0, 1},
		"sent in the same instant": {1000, 0, 1}, // and within a round trip
	} {
		s := newScript(t)
		c1, v := s.dial(cliAddr, srvAddr)
		c1.send(synFlag, "")
		s.at += 500 * ms
		v.send(synFlag|ackFlag, "")
		c1.send(ackFlag, "")
		c1.send(ackFlag, "request")
		v.stamped(1000, v.seq+4, "part")
		v.stamped(c.stamp, v.seq, "lost")
		v.seq += 8
		c1.ack = v.seq
		c1.send(ackFlag, "")
		hangUp(c1, v)
		x := first(t, s.analyze(Options{}))
		if x.Retransmissions != c.retransmissions || x.OutOfOrder != c.late {
			t.Errorf("%s: got %d retransmissions, %d out of order, want %d, %d", name, x.Retransmissions, x.OutOfOrder,
				c.retransmissions, c.late)
		}
	}
}
