package drive

import (
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/dtls/v3"
)

var dtlsCredentials = Credentials{Identity: "device", Key: []byte("sixteen bytes or")}

// dtlsPeer serves sessions of DTLS, each behind a way of datagrams that a test can add to; from is the server's side.
func dtlsPeer(t *testing.T, serve func(c net.Conn, way *dtlsWay, before int)) Spec {
	t.Helper()
	l, err := dtls.ListenWithOptions("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)},
		dtls.WithPSK(func([]byte) ([]byte, error) { return dtlsCredentials.Key, nil }),
		dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_CCM_8), dtls.WithFlightInterval(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); front.Close() })
	var ways sync.Map // from the server's view of a client's address
	go func() {
		clients := map[string]net.Conn{}
		b := make([]byte, 1<<16)
		for {
			n, from, err := front.ReadFrom(b)
			if err != nil {
				return
			}
			back := clients[from.String()]
			if back == nil {
				if back, err = net.Dial("udp", l.Addr().String()); err != nil {
					return
				}
				clients[from.String()] = back
				alerted := make(chan bool)
				way := &dtlsWay{front: front, client: from, alerted: alerted, alert: sync.OnceFunc(func() { close(alerted) })}
				ways.Store(back.LocalAddr().String(), way)
				go func() {
					b := make([]byte, 1<<16)
					for {
						n, err := back.Read(b)
						if err != nil {
							return
						}
						way.Lock()
						way.last = append([]byte(nil), b[:n]...)
						way.Unlock()
						front.WriteTo(b[:n], from)
						if n > 0 && b[0] == 21 { // an alert: a client that looks finds it from now on
							way.alert()
						}
					}
				}()
			}
			back.Write(b[:n])
		}
	}()
	var before atomic.Int32
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			way, _ := ways.Load(c.RemoteAddr().String())
			i := int(before.Add(1) - 1)
			go func() { defer c.Close(); serve(c, way.(*dtlsWay), i) }()
		}
	}()
	return Spec{URL: "coaps://" + front.LocalAddr().String() + "/x", Credentials: dtlsCredentials}
}

// A dtlsWay is what leads to a client.
type dtlsWay struct {
	front   *net.UDPConn
	client  net.Addr
	alerted chan bool // closed when an alert has gone to the client
	alert   func()
	sync.Mutex
	last []byte
}

// answered is a 2.04 on the acknowledgement of a request.
func answered(b []byte) []byte {
	return append([]byte{0x60 | b[0]&15, 0x44, b[2], b[3]}, b[4:4+b[0]&15]...)
}

// dtlsRecord is one without protection, or that pretends to have it.
func dtlsRecord(kind byte, epoch uint16, body ...byte) []byte {
	return append([]byte{kind, 0xfe, 0xfd, 0, byte(epoch), 0, 0, 0, 0, 0, 200, 0, byte(len(body))}, body...)
}

// hears is what comes over a session; nil: it has ended.
func hears(c net.Conn) []byte {
	b := make([]byte, 2000)
	n, err := c.Read(b)
	if err != nil {
		return nil
	}
	return b[:n]
}

// A server may end a session by close_notify (RFC 5246, section 7.2.1), as one that keeps no more of them. Where it did
// between two requests, the next one finds another, and the handshake is none of its RTT. Where it did before it
// answered, there is no response, and what is idempotent goes again once.
func TestDTLSSessionsThatTheServerEnds(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		var ending atomic.Int32 // sessions that have answered, until their clients can find them closed
		s := dtlsPeer(t, func(c net.Conn, way *dtlsWay, _ int) {
			b := hears(c)
			if b == nil {
				return
			}
			ending.Add(1)
			defer ending.Add(-1)
			c.Write(answered(b))
			c.Close()
			<-way.alerted
		})
		s.Concurrency = concurrency
		call := after{Fixed("x"), func() {
			for ending.Load() > 0 {
				time.Sleep(time.Millisecond)
			}
		}}
		r, xs := drive(t, s, Load{Schedule: ClosedLoop(4, 50*time.Millisecond)}, call)
		sound(t, xs)
		if q := r.Quality; q.Reconnects != 4-concurrency || q.Repetitions != 0 {
			t.Errorf("%d connections: %d made anew, %d requests sent again", concurrency, q.Reconnects, q.Repetitions)
		}
		for i, x := range xs[concurrency:] {
			if x.Connection == 0 {
				t.Errorf("request %d: its session was made in no time", i+concurrency+1)
			}
		}
	}
	for method, again := range map[string]int{"POST": 0, "GET": 1} {
		s := dtlsPeer(t, func(c net.Conn, _ *dtlsWay, _ int) { hears(c) })
		s.Method = method
		r, xs := drive(t, s, Load{Schedule: ClosedLoop(2, 0)}, Fixed("x"))
		for _, x := range xs {
			if x.Failure != "connection closed before a response" {
				t.Errorf("%s: %q", method, x.Failure)
			}
		}
		if r.Quality.Repetitions != again { // the second one's session was made for it
			t.Errorf("%s: %d requests sent again, want %d", method, r.Quality.Repetitions, again)
		}
	}
}

// after is Fixed that does something when an answer has come.
type after struct {
	Fixed
	what func()
}

func (a after) Check(uint64) error { a.what(); return nil }

// Records that are not genuine are as if they had not come (RFC 6347, section 4.1.2.7), as are such that come twice
// (section 4.1.2.6), of another epoch (section 4.1), and a wish to negotiate anew (RFC 5246, section 7.4.1.1).
func TestDTLSPassesOverWhatIsNotGenuine(t *testing.T) {
	sealed := make([]byte, 40)
	for name, add := range map[string]func(way *dtlsWay) []byte{
		"no record":        func(*dtlsWay) []byte { return []byte("garbage") },
		"empty":            func(*dtlsWay) []byte { return nil },
		"zeros":            func(*dtlsWay) []byte { return make([]byte, 60_000) },
		"a wrong MAC":      func(*dtlsWay) []byte { return dtlsRecord(23, 1, sealed...) },
		"a later epoch":    func(*dtlsWay) []byte { return dtlsRecord(23, 2, sealed...) },
		"plain data":       func(*dtlsWay) []byte { return dtlsRecord(23, 0, 0x60, 0x44, 0, 0) },
		"a plain alert":    func(*dtlsWay) []byte { return dtlsRecord(21, 0, 2, 40) },
		"a plain warning":  func(*dtlsWay) []byte { return dtlsRecord(21, 0, 1, 90) },
		"a sealed alert":   func(*dtlsWay) []byte { return dtlsRecord(21, 1, sealed...) },
		"HelloRequest":     func(*dtlsWay) []byte { return dtlsRecord(22, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0) },
		"ChangeCipherSpec": func(*dtlsWay) []byte { return dtlsRecord(20, 0, 1) },
		"the answer before": func(way *dtlsWay) []byte {
			way.Lock()
			defer way.Unlock()
			return way.last
		},
	} {
		s := dtlsPeer(t, func(c net.Conn, way *dtlsWay, _ int) {
			for b := hears(c); b != nil; b = hears(c) {
				way.front.WriteTo(add(way), way.client)
				c.Write(answered(b))
			}
		})
		r, xs := drive(t, s, Load{Schedule: ClosedLoop(5, 0)}, Fixed("x"))
		for _, x := range xs {
			if x.Failure != "" {
				t.Errorf("%s: request %d: %q", name, x.Seq, x.Failure)
			}
		}
		if r.Quality.Reconnects > 0 {
			t.Errorf("%s: %d sessions made anew", name, r.Quality.Reconnects)
		}
	}
}

// A server that ends a handshake is not down. Who does not know a key may as well say nothing.
func TestDTLSHandshakesThatFail(t *testing.T) {
	for want, says := range map[string][]byte{
		"the server refused the handshake: HandshakeFailure; it may not know this identity or this key": {2, 40},
		"the server refused the handshake; it may not know this identity or this key":                   {2, 115},
		"no response in time; is the server up, and does it know this identity and this key?":           nil,
	} {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for b := make([]byte, 2000); ; {
				_, from, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				if says != nil {
					c.WriteTo(dtlsRecord(21, 0, says...), from)
				}
			}
		}()
		s := Spec{URL: "coaps://" + c.LocalAddr().String(), Credentials: dtlsCredentials, Timeout: time.Minute}
		if says == nil {
			s.Timeout = 200 * time.Millisecond
		}
		if _, err := Dial(t.Context(), s); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A warning of the other side's, genuine as it may be, ends nothing (RFC 5246, section 7.2).
func TestDTLSWarningsEndNothing(t *testing.T) {
	r := &run{d: &Driver{target: &target{}}}
	r.base = time.Now()
	p := netPipe{conn: &warning{}, session: &session{}}
	b := make([]byte, 10)
	if n, err := p.receive(&r.pacer, b, time.Minute); err != nil || string(b[:n]) != "answer" {
		t.Errorf("%q, %v", b[:n], err)
	}
}

type warning struct {
	net.Conn
	said bool
}

func (w *warning) SetReadDeadline(time.Time) error { return nil }

func (w *warning) Read(b []byte) (int, error) {
	if !w.said {
		w.said = true
		return 0, errors.New("alert: Alert Warning: UserCanceled")
	}
	return copy(b, "answer"), nil
}
