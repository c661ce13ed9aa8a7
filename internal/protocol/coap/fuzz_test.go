package coap

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// split cuts fuzzed bytes into datagrams: a byte of length, a byte saying from
// whom and how much later, the datagram.
func split(b []byte, each func(from byte, datagram []byte)) {
	for len(b) >= 2 {
		n := min(int(b[0]), len(b)-2)
		each(b[1], b[2:2+n])
		b = b[2+n:]
	}
}

// join is the reverse of split.
func join(from byte, datagrams ...[]byte) (b []byte) {
	for _, d := range datagrams {
		b = append(append(b, byte(len(d)), from), d...)
	}
	return b
}

// abuse puts a datagram before the endpoint and checks that answer and books are in order.
func (d *desk) abuse(from byte, datagram []byte) {
	d.peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, from & 7}), 5683)
	d.now += time.Duration(from>>3) * time.Second
	answer := d.raw(datagram)
	if len(answer) > 64+64 {
		d.t.Fatalf("answer to %x has %d bytes", datagram, len(answer))
	}
	var m Message
	if err := m.Decode(answer); len(answer) > 0 && err != nil {
		d.t.Fatalf("answer to %x is %x: %v", datagram, answer, err)
	}
	if len(d.ep.observers) > 3 || len(d.ep.pending) > 3 {
		d.t.Fatalf("after %x: %d observers, %d notifications under way", datagram, len(d.ep.observers), len(d.ep.pending))
	}
	if d.ep.transfers.n > 4 || len(d.ep.peers) > 4 || d.ep.held > 6000+5000 {
		d.t.Fatalf("after %x: %d transfers, %d bytes, %d peers", datagram, d.ep.transfers.n, d.ep.held, len(d.ep.peers))
	}
}

// well asks as an honest client would.
func (d *desk) well() {
	d.t.Helper()
	d.books()
	d.peer = someone
	d.now += stale
	x := NewClientExchange(Params{}, uint64(d.now))
	x.Start(&Call{Method: POST, Path: "sum", Body: pattern(5000)[:200]}, d.now)
	for b := x.Next(); b != nil; b = x.Next() {
		x.Receive(d.raw(b), d.now)
	}
	if reply, err := x.Result(); err != nil || reply.Code != Changed || len(reply.Body) != 50 {
		d.t.Fatalf("an honest client gets %v, %d bytes, %v", reply.Code, len(reply.Body), err)
	}
	d.ep.tick(d.now)
}

func abused(t testing.TB) *desk {
	d := newDesk(t, &Server{Handler: shop(new(int)), BlockSize: 64, MaxBody: 1000, MaxPeers: 4, MaxTransfers: 4,
		MaxHeld: 6000, Observable: everything, MaxObservers: 3})
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	d.ep.udp = conn // notifications are lost on the way
	d.ep.enlist()
	return d
}

// seeds are sequences of datagrams that reach far into the server.
func seeds(t testing.TB) [][]byte {
	put := func(id byte, b Block, n int) []byte {
		m := Message{Code: PUT, ID: uint16(id), Token: []byte{id}}
		m.AddParts(URIPath, "sum", '/')
		m.AddBlock(Block1, b)
		m.Payload = pattern(5000)[b.Offset():][:n]
		return m.Append(nil)
	}
	get := func(id byte, path string, b Block) []byte {
		m := Message{Code: GET, ID: uint16(id), Token: []byte{id}}
		m.AddParts(URIPath, path, '/')
		m.AddBlock(Block2, b)
		return m.Append(nil)
	}
	return [][]byte{
		join(1, put(1, Block{0, true, 2}, 64), put(2, Block{1, true, 2}, 64), put(3, Block{2, false, 2}, 10)),
		join(9, put(1, Block{0, true, 0}, 16), put(1, Block{0, true, 0}, 16), put(2, Block{2, true, 0}, 16)),
		join(2, get(1, "500", Block{0, false, 2}), get(2, "500", Block{1, false, 2}), get(3, "500", Block{28, false, 0})),
		join(4, unhex(t, "41 01 0001 55 60 53 '500'"), unhex(t, "41 01 0002 56 60 51 '6'"),
			unhex(t, "41 01 0003 55 61 01 53 '500'"), unhex(t, "70 00 0002")),
		join(3, unhex(t, "40 01 0001 b1 '6'"), unhex(t, "50 01 0002 b1 '6' d1 0a 00"), unhex(t, "49 01 1234 01"),
			unhex(t, "60 00 0001")),
	}
}

// The seeds captured-* in testdata/fuzz are of real exchanges with other makes, as
// stacks/reference/testdata/capture.py takes them.
func FuzzServer(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := abused(t)
		split(b, d.abuse)
		d.well()
	})
}

// FuzzProtected puts datagrams before a server that opens OSCORE, and before a
// client that waits for an answer in it. The seeds are Californium's, whose keys
// are gone: they reach everything but the plain text. FuzzOSCORE has the keys.
func FuzzProtected(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		c1, _, _ := vectorKeys(t)
		asked := 0
		d := newDesk(t, &Server{Keyring: &Keyring{Keys: turned(c1), Most: 2}, MaxPeers: 4,
			Handler: func(*Request, *Response) { asked++ }})
		x := NewClientExchange(Params{Security: secure(t, c1)}, 1)
		x.Start(&Call{Method: POST, Path: "a", Body: []byte("body")}, 0)
		x.Next()
		split(b, func(from byte, datagram []byte) {
			d.abuse(from, datagram)
			if len(datagram) >= 8 { // as if it were the answer
				answer := append([]byte{0x64, datagram[1], byte(x.mid >> 8), byte(x.mid)}, x.token[:]...)
				x.Receive(append(answer, datagram[8:]...), 0)
			}
		})
		if _, err := x.Result(); asked > 0 || len(d.ep.s.Keyring.contexts) > 1 || x.Done() && err == nil {
			t.Fatalf("%d asked, %d contexts, done %v", asked, len(d.ep.s.Keyring.contexts), x.Done())
		}
	})
}

func FuzzExchange(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Add(join(0, unhex(f, "60 45 0000 61 'a' ff 'x'")))
	f.Fuzz(func(t *testing.T, b []byte) {
		x := NewClientExchange(Params{MaxBody: 2000, BlockSize: 64}, 1)
		x.Start(&Call{Method: POST, Path: "a", Body: pattern(300)}, 0)
		split(b, func(how byte, datagram []byte) {
			var now time.Duration
			for range 3 {
				x.Next()
			}
			datagram = append([]byte(nil), datagram...)
			if how&1 == 0 && len(datagram) >= 8 { // make it fit, or the fuzzer never gets in
				datagram[0] = datagram[0]&0xf0 | 4
				datagram[2], datagram[3] = byte(x.mid>>8), byte(x.mid)
				copy(datagram[4:], x.token[:])
			}
			if x.Receive(datagram, now); len(x.body) > 2000+1024 {
				t.Fatalf("body of %d bytes", len(x.body))
			}
			if how&6 == 6 {
				now, _ = x.Deadline()
				x.Expire(now)
			}
			if x.Done() {
				x.Start(&Call{Method: GET, Path: "a"}, now)
			}
		})
	})
}

// TestServerSurvives throws spoiled datagrams at one long-lived endpoint whose
// books are checked after each; TestSocketSurvives has a socket instead.
func TestServerSurvives(t *testing.T) {
	datagrams, random := abuseOf(t)
	sane := saneDatagrams(t)
	d := abused(t)
	for i := range datagrams {
		b := spoiled(sane, random, i)
		d.abuse(byte(random.IntN(8)), b)
		if i%100 == 0 {
			for _, o := range slices.Clone(d.ep.observers) {
				d.ep.s.Changed(o.path)
			}
		}
		if i%1000 == 0 {
			d.well()
		}
	}
	d.well()
	c := &d.ep.s.Counts
	if c.Notifications.Load() == 0 || c.Malformed.Load() == 0 || c.Refused.Load() == 0 || c.Requests.Load() == 0 ||
		c.Expired.Load() == 0 {
		t.Errorf("the datagrams reached too little: %d malformed, %d refused, %d handled, %d expired",
			c.Malformed.Load(), c.Refused.Load(), c.Requests.Load(), c.Expired.Load())
	}
}
