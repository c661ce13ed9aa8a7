package packet

import (
	"net/netip"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// delays makes a capture of exchanges that take so long, and carry 80 B each.
func delays(each ...time.Duration) (c Capture) {
	for i, d := range each {
		c.Exchanges = append(c.Exchanges, UDPCall{Call: Call{Start: time.Duration(i) * time.Second, Delay: d,
			Out: Traffic{Packets: 1, Bytes: 50}, In: Traffic{Packets: 1, Bytes: 30}}})
	}
	return c
}

// Jitter is of successive calls: one that failed has none, nor has the call after it.
func TestJitterAcrossFailures(t *testing.T) {
	c := delays(3*ms, 100*ms, 100*ms, 102*ms, 7*ms, 110*ms, 111*ms) // the first is of the warm-up
	for _, tt := range []struct {
		what   string
		failed map[uint64]bool
		want   map[uint64]float64 // s
	}{
		{"none", nil, map[uint64]float64{2: 0, 3: 0.002, 4: 0.095, 5: 0.103, 6: 0.001}},
		{"the first", map[uint64]bool{1: true}, map[uint64]float64{3: 0.002, 4: 0.095, 5: 0.103, 6: 0.001}},
		{"one in the middle", map[uint64]bool{4: true}, map[uint64]float64{2: 0, 3: 0.002, 6: 0.001}},
		{"two in a row", map[uint64]bool{3: true, 4: true}, map[uint64]float64{2: 0, 6: 0.001}},
		{"all but the last", map[uint64]bool{1: true, 2: true, 3: true, 4: true, 5: true}, nil},
	} {
		got, err := c.Samples(Selection{Unit: PerExchange, Skip: 1, Count: 6, Failed: tt.failed,
			Quantities: quantities(Jitter, JitterRFC3550)})
		if err != nil {
			t.Fatal(tt.what, err)
		}
		if len(got) != 2*len(tt.want) {
			t.Errorf("%s: got %d samples, want %d: %v", tt.what, len(got), 2*len(tt.want), got)
		}
		rfc := 0.0
		for _, s := range got {
			want, ok := tt.want[s.Seq]
			if s.Quantity == JitterRFC3550 {
				rfc += (want - rfc) / 16
				want = rfc
			}
			if d := s.Value - want; !ok || d > 1e-12 || d < -1e-12 {
				t.Errorf("%s: %s of call %d: got %g, want %g", tt.what, s.Quantity.Name, s.Seq, s.Value, want)
			}
		}
	}
}

// The bytes of a run are those of all its calls, whether they failed or not.
func TestBytesOfFailedCalls(t *testing.T) {
	c := delays(ms, ms, ms, ms, ms)
	s := Selection{Unit: PerExchange, Skip: 1, Count: 4, Failed: map[uint64]bool{2: true, 3: true},
		Quantities: []measure.Quantity{WireBytes}}
	got, err := c.Samples(s)
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}
	if n := c.OnWire(s); n != 4*80 {
		t.Errorf("got %d B on the wire, want %d", n, 4*80)
	}
	c.Exchanges[2].session = &Traffic{Packets: 9, Bytes: 1000}
	if n := c.OnWire(s); n != 4*80 {
		t.Errorf("got %d B on the wire without the session, want %d", n, 4*80)
	}
	if s.Whole = true; c.OnWire(s) != 3*80+1000 {
		t.Errorf("got %d B on the wire with a session, want %d", c.OnWire(s), 3*80+1000)
	}
}

// What the filter passes though it is not of the ports, as the kernel's multicast reports, is not of the run.
func TestOtherPacketsAreNotOfTheRun(t *testing.T) {
	s := newScript(t)
	c, v := s.open(cliAddr6, srvAddr6)
	report := make([]byte, 14+40+8+28)
	copy(report, []byte{0x33, 0x33, 0, 0, 0, 0x16, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 8 + 28, 0, 1})
	copy(report[14+40:], []byte{58, 0, 5, 2, 0, 0, 1, 0, 143}) // router alert, then MLDv2
	s.at += ms
	s.pkts = append(s.pkts, Packet{At: s.at, Data: report, Length: len(report), Link: LinkEthernet})
	call(c, v)
	hangUp(c, v)
	var want int64
	for i, p := range s.pkts {
		if i != 3 && i != len(s.pkts)-1 { // the report, and the last acknowledgement
			want += int64(p.Length)
		}
	}
	got := s.analyze(Options{Ports: []uint16{80}, Sizes: true})
	span := got.Between(time.Unix(0, 0), time.Unix(0, int64(s.at)))
	if got.Other != 1 || span.Bytes != want || span.Packets != int64(len(s.pkts)-2) || span.Refusal != "" {
		t.Errorf("got %+v with %d others, want %d B in %d packets", span, got.Other, want, len(s.pkts)-2)
	}
	got.Malformed = 1
	if span := got.Between(time.Unix(0, 0), time.Unix(0, int64(s.at))); span.Refusal == "" {
		t.Error("a malformed packet is no refusal")
	}
}

// What acknowledges the last answer is sent bare if the client lives on, and else rides on its FIN: it is in no
// figure, as the acknowledgements of the other answers ride on the requests behind them.
func TestLastAcknowledgementIsOfNoRequest(t *testing.T) {
	for name, lives := range map[string]bool{"ends at once": false, "lives on": true} {
		s := newScript(t)
		c, v := s.open(cliAddr, srvAddr)
		call(c, v) // of the warm-up, acknowledged in the run
		began := s.at
		c.segment(ackFlag, c.seq, nil)
		first := len(s.pkts)
		for range 2 {
			c.send(ackFlag, "request")
			v.send(ackFlag, "")
			v.send(ackFlag, "response")
		}
		last := len(s.pkts)
		if lives {
			c.send(ackFlag, "")
			v.segment(ackFlag, v.seq-1, nil) // a keep-alive probe
			c.send(ackFlag, "")
		}
		ended := s.at
		hangUp(c, v)
		var want int64
		for _, p := range s.pkts[first:last] {
			want += int64(p.Length)
		}
		got := s.analyze(Options{Ports: []uint16{80}, Sizes: true})
		if span := got.Between(time.Unix(0, int64(began)), time.Unix(0, int64(ended))); span.Packets != 6 ||
			span.Bytes != want {
			t.Errorf("%s: got %+v of the run, want %d B in 6 packets", name, span, want)
		}
		sel := Selection{Unit: PerRequest, Skip: 1, Count: 2, Quantities: quantities(WireBytes, Packets)}
		samples, err := got.Samples(sel)
		if err != nil || len(samples) != 4 {
			t.Fatalf("%s: got %v, %v", name, samples, err)
		}
		for _, x := range samples {
			if each := map[string]float64{"wire_bytes": float64(want) / 2, "packets": 3}[x.Quantity.Name]; x.Value != each {
				t.Errorf("%s: got %v %s of request %d, want %v", name, x.Value, x.Quantity.Name, x.Seq, each)
			}
		}
		if n := got.OnWire(sel); n != want {
			t.Errorf("%s: got %d B on the wire, want %d", name, n, want)
		}
	}
}

// Over loopback the kernel takes many of QUIC's datagrams as one packet, which is none.
func TestQUICInSuperDatagrams(t *testing.T) {
	for _, tt := range []struct {
		client, server string
		payload        int
		o              Options
		refused        bool
	}{
		{"127.0.0.1:40000", "127.0.0.1:443", 1252, Options{}, false},
		{"127.0.0.1:40000", "127.0.0.1:443", 10 * 1252, Options{}, true},
		{"127.0.0.1:40000", "127.0.0.1:443", 8000, Options{MTU: 9000}, false},
		{"10.0.0.1:40000", "10.0.0.2:443", 1252, Options{}, false},
		{"10.0.0.1:40000", "10.0.0.2:443", 2 * 1252, Options{}, true},
	} {
		s := newScript(t)
		client, server := netip.MustParseAddrPort(tt.client), netip.MustParseAddrPort(tt.server)
		s.udp(client, server, append([]byte{0xc0, 0, 0, 0, 1}, make([]byte, 1195)...))
		s.udp(server, client, append([]byte{0xc0, 0, 0, 0, 1}, make([]byte, tt.payload-5)...))
		x := s.analyze(tt.o).Exchanges
		if len(x) != 1 || x[0].Protocol != "quic" || (x[0].NoBytes != "") != tt.refused {
			t.Errorf("%s, %d B: got %+v", tt.client, tt.payload, x)
		}
	}
}
