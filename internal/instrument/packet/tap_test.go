package packet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const exchanges = 1000 // the figure

// capture captures while f runs, analyzes as it goes, and checks that the kept
// file gives the very same figures.
func capture(t *testing.T, n *namespace, o RecordOptions, f func()) (Capture, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kept.pcapng")
	w, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	o.Keep = w
	var r *Recording
	n.must(func() (err error) {
		r, err = Start(o)
		return err
	})
	f()
	c, q, err := r.Stop()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if q.Packets != uint64(c.Packets) || q.Packets == 0 || q.Err() != nil {
		t.Errorf("quality: %v; analyzed %d packets", q, c.Packets)
	}
	t.Log(q)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := AnalyzeWith(bytes.NewReader(data), Options{Ports: o.Tap.Ports, MTU: q.MTU, Application: o.Application})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := jsonOf(t, again), jsonOf(t, c); got != want {
		t.Errorf("the kept file gives other figures:\n%.2000s\nwant\n%.2000s", got, want)
	}
	return c, file
}

func jsonOf(t testing.TB, c Capture) string {
	var b strings.Builder
	if err := c.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// serveTCP answers each request, of the length its first four bytes say, with
// as many bytes as the next four say, until the client closes.
func serveTCP(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			for {
				var head [8]byte
				if _, err := io.ReadFull(c, head[:]); err != nil {
					return
				}
				if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head[:]))); err != nil {
					return
				}
				if _, err := c.Write(make([]byte, binary.BigEndian.Uint32(head[4:]))); err != nil {
					return
				}
			}
		}()
	}
}

// ask sends one request and reads its answer.
func ask(c net.Conn, out, in int) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(out))
	b = binary.BigEndian.AppendUint32(b, uint32(in))
	if _, err := c.Write(append(b, make([]byte, out)...)); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, in))
	return err
}

// A place is where the client runs, the server runs, and the tap sits.
type place struct {
	name, iface    string
	client, server *namespace
	host4, host6   string
}

func places(t *testing.T) []place {
	lo, a, b := newNamespace(t), newNamespace(t), newNamespace(t)
	connect(t, a, b)
	return []place{
		{"lo", "lo", lo, lo, "127.0.0.1", "::1"},
		{"veth", "v0", a, b, "10.9.0.2", "fd09::2"},
	}
}

func TestTCPAgreesWithTshark(t *testing.T) {
	for _, p := range places(t) {
		for _, host := range []string{p.host4, p.host6} {
			t.Run(p.name+" "+host, func(t *testing.T) {
				l := p.server.listen(net.JoinHostPort(host, "0"))
				go serveTCP(l)
				port := uint16(l.Addr().(*net.TCPAddr).Port)
				rng := rand.New(rand.NewPCG(1, 2))
				c, file := capture(t, p.client, RecordOptions{Tap: TapOptions{Interface: p.iface, Ports: []uint16{port}}}, func() {
					for i := range exchanges {
						p.client.must(func() error {
							c, err := net.Dial("tcp", l.Addr().String())
							if err != nil {
								return err
							}
							if i%10 == 0 { // some end in RST, as TLS servers' do
								c.(*net.TCPConn).SetLinger(0)
							}
							defer c.Close()
							return ask(c, rng.IntN(3000), 1+rng.IntN(5000))
						})
					}
				})
				if len(c.Connections) != exchanges {
					t.Fatalf("%d connections, want %d", len(c.Connections), exchanges)
				}
				compareTCP(t, file, c)
				if _, err := c.Samples(Selection{Unit: PerConnection, Count: exchanges}); err != nil {
					t.Error(err)
				}
				if _, err := c.Samples(Selection{Unit: PerConnection, Count: exchanges + 1}); !errors.Is(err, ErrMismatch) {
					t.Errorf("one call too many: %v, want a mismatch", err)
				}
			})
		}
	}
}

func TestKeptAliveRequests(t *testing.T) {
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) {
			l := p.server.listen(net.JoinHostPort(p.host4, "0"))
			go serveTCP(l)
			port := uint16(l.Addr().(*net.TCPAddr).Port)
			c, file := capture(t, p.client, RecordOptions{Tap: TapOptions{Interface: p.iface, Ports: []uint16{port}}}, func() {
				p.client.must(func() error {
					c, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						return err
					}
					defer c.Close()
					for i := range exchanges {
						if err := ask(c, i, 2*i+1); err != nil {
							return err
						}
					}
					if err := c.(*net.TCPConn).CloseWrite(); err != nil {
						return err
					}
					_, err = io.Copy(io.Discard, c) // until the server has closed, too, however long it waits for a CPU
					return err
				})
			})
			compareTCP(t, file, c)
			samples, err := c.Samples(Selection{Unit: PerRequest, Count: exchanges})
			if err != nil {
				t.Fatal(err)
			}
			var bytes, packets float64
			for _, s := range samples {
				switch s.Quantity {
				case PayloadOut:
					if want := float64(8 + s.Seq - 1); s.Value != want {
						t.Errorf("request %d: %v B out, want %v", s.Seq, s.Value, want)
					}
				case PayloadIn:
					if want := float64(2*(s.Seq-1) + 1); s.Value != want {
						t.Errorf("request %d: %v B in, want %v", s.Seq, s.Value, want)
					}
				case WireBytes:
					bytes += s.Value
				case Packets:
					packets += s.Value
				}
			}
			x := c.Connections[0]
			again := x.Retransmissions // of opening and closing: on a busy machine an answer to a SYN or a FIN comes late
			for _, r := range x.Requests {
				again -= r.Retransmissions
			}
			most := float64(8 + 2*again) // each is acknowledged once more
			if open, end := float64(x.Packets())-packets, float64(x.WireBytes())-bytes; open < 5 || open > most ||
				end > most*80 {
				t.Errorf("requests leave %v packets and %v B to opening and closing", open, end)
			}
			compareRequests(t, file, c)
		})
	}
}

// compareRequests finds, in tshark's rows, each request's first segment and the last data segment before the next. Data
// that were there before do not count: on a busy machine acknowledgements come late, and TCP sends the data again.
func compareRequests(t *testing.T, file string, c Capture) {
	var want []time.Duration
	var start, last time.Duration
	client := fmt.Sprint(c.Connections[0].Client.Port())
	sent := map[string]uint32{} // how far, by the sender's port
	for _, r := range tshark(t, file, "tcp.len > 0", "frame.time_epoch", "tcp.srcport", "tcp.nxtseq") {
		at := epoch(t, r[0])
		next, err := strconv.ParseUint(r[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := sent[r[1]]; ok && int32(uint32(next)-before) <= 0 {
			continue
		}
		sent[r[1]] = uint32(next)
		switch {
		case r[1] != client:
			last = at
		case start == 0 || last != 0:
			if last != 0 {
				want = append(want, last-start)
			}
			start, last = at, 0
		}
	}
	want = append(want, last-start)
	got := c.Connections[0].Requests
	if len(got) != len(want) {
		t.Fatalf("%d requests, tshark has %d", len(got), len(want))
	}
	for i := range want {
		if got[i].DelayToData != want[i] {
			t.Errorf("request %d: %d ns to data, tshark has %d", i+1, got[i].DelayToData, want[i])
		}
	}
}

// serveCoAP answers GET requests: every third separately, the others
// piggybacked, as RFC 7252, section 5.2 has it.
func serveCoAP(c *net.UDPConn) {
	b := make([]byte, 2048)
	for n := uint16(0); ; n++ {
		k, from, err := c.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		m, ok := parseCoAP(b[:k], k)
		if !ok || !m.request() {
			continue
		}
		token := m.token[:m.tokens]
		answer := func(how, code byte, id uint16, body string) {
			r := []byte{1<<6 | how<<4 | byte(len(token)), code, byte(id >> 8), byte(id)}
			if code == 0 {
				r[0] = 1<<6 | how<<4
			} else {
				r = append(append(r, token...), body...)
			}
			c.WriteToUDPAddrPort(r, from)
		}
		switch {
		case m.how == non:
			answer(non, 0x45, 0x8000+n, "\xffanswer")
		case n%3 == 0:
			answer(ack, 0, m.id, "")
			answer(con, 0x45, 0x8000+n, "\xffanswer")
		default:
			answer(ack, 0x45, m.id, "\xffanswer")
		}
	}
}

func TestCoAPAgreesWithTshark(t *testing.T) {
	for _, p := range places(t) {
		for _, host := range []string{p.host4, p.host6} {
			t.Run(p.name+" "+host, func(t *testing.T) {
				s := p.server.listenUDP(net.JoinHostPort(host, "5683"))
				go serveCoAP(s)
				c, file := capture(t, p.client, RecordOptions{Tap: TapOptions{Interface: p.iface, Ports: []uint16{5683}}}, func() {
					p.client.must(func() error { return askCoAP(s.LocalAddr().String()) })
				})
				compareCoAP(t, file, c)
			})
		}
	}
}

func askCoAP(server string) error {
	c, err := net.Dial("udp", server)
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, 2048)
	for i := range exchanges {
		how := byte(con)
		if i%5 == 0 {
			how = non
		}
		q := []byte{1<<6 | how<<4 | 2, 1, byte(i >> 8), byte(i), byte(i), byte(i >> 8), 0xb3, 'a', 'b', 'c'}
		if _, err := c.Write(q); err != nil {
			return err
		}
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		for {
			n, err := c.Read(b)
			if err != nil {
				return err
			}
			if b[1] == 0 {
				continue // acknowledged, the answer follows
			}
			if m, _ := parseCoAP(b[:n], n); m.how == con {
				if _, err := c.Write([]byte{1<<6 | ack<<4, 0, byte(m.id >> 8), byte(m.id)}); err != nil {
					return err
				}
			}
			break
		}
	}
	return nil
}

// compareCoAP matches by the tokens tshark reads, which here are unique, and
// wants the same where tshark matched a response to its request itself (which
// it does for piggybacked ones).
func compareCoAP(t *testing.T, file string, c Capture) {
	t.Helper()
	type frame struct {
		at   time.Duration
		size int64
	}
	frames := map[string]frame{}
	var requests, first []string
	response := map[string]string{}
	total := map[string]int64{} // bytes by token
	var whole int64
	matched := 0
	for _, r := range tshark(t, file, "coap", "frame.number", "frame.time_epoch", "frame.len", "coap.response_to",
		"coap.code", "coap.token") {
		frames[r[0]] = frame{epoch(t, r[1]), number(t, r[2])}
		whole += number(t, r[2])
		if code := number(t, r[4]); code > 0 && code < 32 {
			requests = append(requests, r[0])
			first = append(first, r[5])
		}
		if code := number(t, r[4]); code >= 64 {
			response[requests[slices.Index(first, r[5])]] = r[0]
		}
		if r[3] != "" {
			matched++
			if response[r[3]] != r[0] {
				t.Errorf("tshark says frame %s answers %s, the token says it does not", r[0], r[3])
			}
		}
		if r[5] != "" {
			total[r[5]] += number(t, r[2])
		}
	}
	if len(c.Exchanges) != exchanges || len(requests) != exchanges || len(response) != exchanges || matched < exchanges/2 {
		t.Fatalf("%d exchanges, tshark has %d requests and %d responses, want %d", len(c.Exchanges), len(requests),
			len(response), exchanges)
	}
	var bytes int64
	separate := 0
	for i, q := range requests {
		x := &c.Exchanges[i]
		if x.NoDelay+x.NoData+x.NoBytes != "" {
			t.Fatalf("exchange %d refused: %s %s %s", i+1, x.NoDelay, x.NoData, x.NoBytes)
		}
		if want := frames[response[q]].at - frames[q].at; x.DelayToData != want {
			t.Errorf("exchange %d: %d ns to its response, tshark has %d", i+1, x.DelayToData, want)
		}
		if x.Token != strings.ReplaceAll(first[i], ":", "") {
			t.Errorf("exchange %d: token %s, tshark has %s", i+1, x.Token, first[i])
		}
		if !x.Separate && x.WireBytes() != total[first[i]] {
			t.Errorf("exchange %d: %d B, tshark has %d", i+1, x.WireBytes(), total[first[i]])
		}
		if x.Separate {
			separate++
		}
		bytes += x.WireBytes()
	}
	if bytes != whole || separate == 0 {
		t.Errorf("%d B in all exchanges, tshark has %d; %d separate responses", bytes, whole, separate)
	}
	if _, err := c.Samples(Selection{Unit: PerExchange, Count: exchanges}); err != nil {
		t.Error(err)
	}
}

func TestUDPAgreesWithTshark(t *testing.T) {
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) {
			s := p.server.listenUDP(net.JoinHostPort(p.host6, "0"))
			go func() {
				b := make([]byte, 2048)
				for {
					n, from, err := s.ReadFromUDPAddrPort(b)
					if err != nil {
						return
					}
					s.WriteToUDPAddrPort(b[:n/2], from)
				}
			}()
			port := uint16(s.LocalAddr().(*net.UDPAddr).Port)
			o := RecordOptions{Tap: TapOptions{Interface: p.iface, Ports: []uint16{port}}, Application: Datagrams}
			c, file := capture(t, p.client, o, func() {
				p.client.must(func() error {
					c, err := net.Dial("udp", s.LocalAddr().String())
					if err != nil {
						return err
					}
					defer c.Close()
					for i := range exchanges {
						if _, err := c.Write(make([]byte, i)); err != nil {
							return err
						}
						if _, err := c.Read(make([]byte, 2048)); err != nil {
							return err
						}
					}
					return nil
				})
			})
			rows := tshark(t, file, "udp", "frame.time_epoch", "frame.len")
			if len(c.Exchanges) != exchanges || len(rows) != 2*exchanges {
				t.Fatalf("%d exchanges, tshark has %d datagrams", len(c.Exchanges), len(rows))
			}
			for i := range c.Exchanges {
				x, q, r := &c.Exchanges[i], rows[2*i], rows[2*i+1]
				if x.NoDelay+x.NoBytes != "" {
					t.Fatalf("exchange %d refused: %s %s", i+1, x.NoDelay, x.NoBytes)
				}
				if want := epoch(t, r[0]) - epoch(t, q[0]); x.Delay != want || x.DelayToData != want {
					t.Errorf("exchange %d: %d ns, %d ns, tshark has %d", i+1, x.Delay, x.DelayToData, want)
				}
				if want := number(t, q[1]) + number(t, r[1]); x.WireBytes() != want || x.Packets() != 2 {
					t.Errorf("exchange %d: %d B, tshark has %d", i+1, x.WireBytes(), want)
				}
			}
		})
	}
}
