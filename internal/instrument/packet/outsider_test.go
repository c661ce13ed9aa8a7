package packet

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"
)

// why is every reason that a call's figures are refused for.
func why(c *Call) string { return strings.Join([]string{c.NoDelay, c.NoData, c.NoBytes}, "|") }

// TestTheCauseIsNamed: what is damaged between two hosts is the reason, not what follows from it; and it is no reason
// to refuse what another protocol carried.
func TestTheCauseIsNamed(t *testing.T) {
	const checksum, fragments = "wrong length or checksum", "fragmented"
	for name, c := range map[string]struct {
		damage   func(s *script)
		tcp, udp string
	}{
		"checksum of TCP": {func(s *script) { s.pkts[4].Data[60] ^= 1 }, checksum, ""},
		"checksum of UDP": {func(s *script) { s.pkts[10].Data[44] ^= 1 }, "", checksum},
		"fragment of UDP": {func(s *script) {
			reheader(s.pkts[10].Data, func(ip []byte) { ip[6] |= 0x20 })
		}, "", fragments},
		"fragment of ICMP": {func(s *script) {
			s.udp(cliAddr, srvAddr, make([]byte, 32))
			reheader(s.pkts[11].Data, func(ip []byte) { ip[6], ip[9] = ip[6]|0x20, 1 })
		}, "", ""},
	} {
		s := newScript(t)
		a, v := s.open(cliAddr, srvAddr)
		call(a, v)
		hangUp(a, v)
		s.udp(cliAddr, coapAddr, []byte("question"))
		s.udp(coapAddr, cliAddr, []byte("answer"))
		c.damage(s)
		got := s.analyze(Options{})
		conn := first(t, got)
		for _, x := range []struct {
			call *Call
			want string
		}{{&conn.Call, c.tcp}, {&conn.Requests[0], c.tcp}, {&got.Exchanges[0].Call, c.udp}} {
			said := why(x.call)
			if x.want == "" && said != "||" || x.want != "" && strings.Count(said, x.want) != 3 {
				t.Errorf("%s: refused for %q, want %q", name, said, x.want)
			}
		}
	}
}

// TestAFragmentBehindAnExtensionHeader: nobody knows what it carries, so TCP's figures are refused, too.
func TestAFragmentBehindAnExtensionHeader(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr6, srvAddr6)
	call(c, v)
	hangUp(c, v)
	s.udp(cliAddr6, srvAddr6, make([]byte, 32))
	s.extend(len(s.pkts)-1, 44, []byte{60, 0, 0, 1, 0, 0, 0, 7}) // destination options follow
	if got := s.analyze(Options{}); got.Fragments != 1 || strings.Count(why(&first(t, got).Call), "fragmented") != 3 {
		t.Errorf("%d fragments, refused for %q", got.Fragments, why(&first(t, got).Call))
	}
}

// coarse writes the script as a pcapng file whose stamps count in another unit.
func (s *script) coarse(resolution byte, steps func(at time.Duration) uint64) []byte {
	var b []byte
	block := func(typ uint32, body []byte) {
		body = append(body, make([]byte, -len(body)&3)...)
		b = binary.LittleEndian.AppendUint32(b, typ)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(body)+12))
		b = append(b, body...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(body)+12))
	}
	block(blockSection, []byte("\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	block(blockInterface, append([]byte{1, 0, 0, 0, 0, 0, 0, 0, optResolution, 0, 1, 0, resolution}, make([]byte, 7)...))
	for _, p := range s.pkts {
		at := steps(p.At)
		var body []byte
		for _, n := range []uint32{0, uint32(at >> 32), uint32(at), uint32(len(p.Data)), uint32(p.Length)} {
			body = binary.LittleEndian.AppendUint32(body, n)
		}
		block(blockEnhanced, append(body, p.Data...))
	}
	return b
}

// TestAClockTooCoarseForAFigure: a time that is not longer than the distance of two stamps is refused, and says why.
// Bytes and packets stand.
func TestAClockTooCoarseForAFigure(t *testing.T) {
	for _, c := range []struct {
		resolution byte
		tick       time.Duration
		told       bool // a delay of 35 ms
	}{{0, time.Second, false}, {1, 100 * ms, false}, {2, 10 * ms, true}, {3, ms, true}, {9, 0, true}, {12, 0, true},
		{0x80, time.Second, false}, {0x80 | 4, time.Second / 16, false}, {0x80 | 20, time.Second >> 20, true}} {
		s := newScript(t)
		a, v := s.dial(cliAddr, srvAddr)
		for range 3 {
			s.at += 9 * ms
			a.send(synFlag, "")
			s.at += 9 * ms
			v.send(synFlag|ackFlag, "")
			a.send(ackFlag, "")
			a.send(ackFlag, "request")
			s.at += 9 * ms
			v.send(ackFlag, "response")
			a.send(ackFlag, "")
			s.at += 9 * ms
			hangUp(a, v)
			a.seq, v.seq = a.seq+100_000, v.seq+100_000
		}
		unit := func(at time.Duration) uint64 {
			if c.resolution == 12 {
				return uint64(at) * 1000
			}
			return uint64(at / max(c.tick, 1))
		}
		if c.resolution&0x80 != 0 {
			unit = func(at time.Duration) uint64 {
				n := c.resolution & 0x7f
				return uint64(at/time.Second)<<n + uint64(at%time.Second)<<n/1e9
			}
		}
		got, err := Analyze(bytes.NewReader(s.coarse(c.resolution, unit)))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := got.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if got.Tick != c.tick || strings.Contains(text.String(), "apart: no time is known better") != (c.tick > 1000) {
			t.Errorf("resolution %#x: a tick of %v, want %v\n%s", c.resolution, got.Tick, c.tick, text.String())
		}
		for i := range got.Connections {
			x := &got.Connections[i]
			for _, refusal := range []string{x.NoDelay, x.NoDataTime, x.NoHandshakeTime} {
				if (refusal == "") != c.told && !(c.tick == 10*ms && strings.Contains(refusal, "10ms apart")) ||
					refusal != "" && !strings.Contains(refusal, "timestamps are "+c.tick.String()+" apart") {
					t.Errorf("resolution %#x: refused for %q", c.resolution, refusal)
				}
			}
			if x.NoBytes+x.NoData+x.NoHandshake != "" || x.Packets() != 9 || x.In.Payload != 8 {
				t.Errorf("resolution %#x: %d packets, refused for %q", c.resolution, x.Packets(), x.NoBytes+x.NoData)
			}
			if c.told && (x.Delay-35*ms).Abs() > c.tick {
				t.Errorf("resolution %#x: a delay of %v", c.resolution, x.Delay)
			}
		}
	}
}

// TestInterimResponsesInPieces: an interim response is none of two, wherever its bytes are cut.
func TestInterimResponsesInPieces(t *testing.T) {
	const interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
	const final = "HTTP/1.1 200 OK\r\n\r\n"
	for at := 1; at < len(interim); at++ {
		s := newScript(t)
		c, v := s.open(cliAddr, srvAddr)
		for range 2 {
			c.send(ackFlag, "POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n")
			v.send(ackFlag, interim[:at])
			v.send(ackFlag, interim[at:])
			c.send(ackFlag, "body")
			v.send(ackFlag, final)
			c.send(ackFlag, "")
		}
		hangUp(c, v)
		requests([3]int64{5, 4, 45}, [3]int64{5, 4, 45})(t, s.analyze(Options{}))
	}
	for at := 1; at < len(final); at++ { // and an answer is one
		s := newScript(t)
		c, v := s.open(cliAddr, srvAddr)
		for range 2 {
			c.send(ackFlag, "GET / HTTP/1.1\r\n\r\n")
			v.send(ackFlag, final[:at])
			v.send(ackFlag, final[at:])
			c.send(ackFlag, "")
		}
		hangUp(c, v)
		requests([3]int64{3, 2, 18}, [3]int64{3, 2, 18})(t, s.analyze(Options{}))
	}
	s := newScript(t) // what begins like one, but is of another protocol
	c, v := s.open(cliAddr, srvAddr)
	for range 2 {
		c.send(ackFlag, "request")
		v.send(ackFlag, "HT")
		c.send(ackFlag, "")
	}
	hangUp(c, v)
	requests([3]int64{2, 1, 7}, [3]int64{2, 1, 7})(t, s.analyze(Options{}))
}

// TestAMessageIDUsedAgain: after its lifetime a message id names a new exchange, even with the same token, unless the
// first is still not answered. A ping takes a message id over, too.
func TestAMessageIDUsedAgain(t *testing.T) {
	for _, c := range []struct {
		how      uint8
		after    time.Duration
		answered bool
		want     int
	}{{non, 140 * time.Second, true, 1}, {non, 150 * time.Second, true, 2}, {non, 150 * time.Second, false, 2},
		{con, 240 * time.Second, true, 1}, {con, 250 * time.Second, true, 2}, {con, 250 * time.Second, false, 1}} {
		s := newScript(t)
		s.coap(cliAddr, coapAddr, c.how, 1, 7, "tk")
		answer := func(id uint16) {
			if c.how == con {
				s.coap(coapAddr, cliAddr, ack, 0x45, 7, "tk")
			} else {
				s.coap(coapAddr, cliAddr, non, 0x45, id, "tk")
			}
		}
		if c.answered {
			answer(300)
		}
		s.at += c.after
		s.coap(cliAddr, coapAddr, c.how, 1, 7, "tk")
		if c.want == 2 || !c.answered {
			answer(301)
		}
		got := s.analyze(Options{})
		if len(got.Exchanges) != c.want {
			t.Fatalf("%+v: %d exchanges", c, len(got.Exchanges))
		}
		if last := got.Exchanges[c.want-1]; c.want == 2 && (last.Delay != ms || why(&last.Call) != "||") {
			t.Errorf("%+v: %v, refused for %q", c, last.Delay, why(&last.Call))
		}
	}
	s := newScript(t)
	s.coap(cliAddr, coapAddr, con, 1, 7, "tk")
	s.coap(coapAddr, cliAddr, ack, 0x45, 7, "tk")
	s.at += time.Hour
	s.coap(cliAddr, coapAddr, con, 0, 7, "")
	s.coap(coapAddr, cliAddr, rst, 0, 7, "")
	if x := s.analyze(Options{}).Exchanges; len(x) != 1 || x[0].Delay != ms || x[0].Packets() != 2 || x[0].Reset {
		t.Errorf("after a ping: %+v", x)
	}
}

// TestWholeNumbersHaveWholeMeans: the same bytes many times have no spread.
func TestWholeNumbersHaveWholeMeans(t *testing.T) {
	for n := 1; n < 200; n++ {
		v := make([]float64, n)
		for i := range v {
			v[i] = 168
		}
		if s := summarizeValues("wire_bytes", "B", v); s.Mean != 168 || n > 1 && *s.SD != 0 {
			t.Fatalf("%d times 168: mean %v, deviation %v", n, s.Mean, *s.SD)
		}
	}
}

// TestABurstCapturedTwice: that other packets lie between a packet and its copy makes it no retransmission.
func TestABurstCapturedTwice(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	c.send(ackFlag, "request")
	from := len(s.pkts)
	for range 3 {
		v.send(ackFlag, "part")
	}
	for i, p := range s.pkts[from:] {
		p.At = s.at + time.Duration(i+1)*time.Microsecond
		s.pkts[from+i].At = s.at - time.Duration(3-i)*time.Microsecond
		s.pkts = append(s.pkts, p)
	}
	c.send(ackFlag, "")
	hangUp(c, v)
	if x := first(t, s.analyze(Options{})); x.Duplicates != 3 || !strings.Contains(x.NoBytes, "duplicate packets") {
		t.Errorf("%d duplicates, %d retransmissions, refused for %q", x.Duplicates, x.Retransmissions, x.NoBytes)
	}
}

// TestDatagramsCapturedTwice: likewise, and an answer may lie between.
func TestDatagramsCapturedTwice(t *testing.T) {
	s := newScript(t)
	s.coap(cliAddr, coapAddr, con, 1, 7, "tk")
	s.coap(coapAddr, cliAddr, ack, 0x45, 7, "tk")
	for i, p := range s.pkts {
		s.pkts[i].At = s.at + time.Duration(i)*time.Microsecond
		p.At = s.at + time.Duration(i+2)*time.Microsecond
		s.pkts = append(s.pkts, p)
	}
	if x := s.analyze(Options{}).Exchanges; len(x) != 1 || !strings.Contains(x[0].NoBytes, "duplicate datagrams") {
		t.Errorf("%+v", x)
	}
}

// TestTaggedCookedFrames: VLAN tags, one or two, behind every header that can have them.
func TestTaggedCookedFrames(t *testing.T) {
	const tags = "\x88\xa8\x00\x05\x81\x00\x00\x07\x08\x00"
	sll := strings.Repeat("\x00", 14)
	for name, x := range map[string]struct {
		link   LinkType
		header string
	}{
		"Ethernet":      {LinkEthernet, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02" + tags},
		"SLL":           {LinkSLL, sll + tags},
		"SLL2":          {LinkSLL2, tags[:2] + strings.Repeat("\x00", 18) + tags[2:]},
		"SLL2, one tag": {LinkSLL2, "\x81\x00" + strings.Repeat("\x00", 18) + "\x00\x05\x08\x00"},
	} {
		s := newScript(t)
		c, v := s.open(cliAddr, srvAddr)
		call(c, v)
		hangUp(c, v)
		s.relink(x.link, []byte(x.header))
		got := s.analyze(Options{})
		if len(got.Connections) != 1 || got.Connections[0].Delay != 8*ms || why(&got.Connections[0].Call) != "||" {
			t.Errorf("%s: %d ignored, %+v", name, got.Other, got.Connections)
		}
	}
}
