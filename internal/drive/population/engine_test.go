package population

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// A counter is a server's own account, apart from all that the population says.
type counter struct {
	mu       sync.Mutex
	requests int
	peers    map[netip.Addr]int
	bytes    int
}

// count serves CoAP on a socket until the test ends.
func (c *counter) serve(t *testing.T, conn *net.UDPConn) { c.serveAs(t, conn, nil) }

func (c *counter) serveAs(t *testing.T, conn *net.UDPConn, ring *coap.Keyring) {
	s := c.server()
	s.Keyring = ring
	untilTheEnd(t, func(ctx context.Context) { s.Serve(ctx, conn) })
}

func (c *counter) serveListener(t *testing.T, l net.Listener) {
	s := c.server()
	untilTheEnd(t, func(ctx context.Context) { s.ServeListener(ctx, l) })
}

// served is how many requests it has answered.
func (c *counter) served() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

func (c *counter) server() *coap.Server {
	c.peers = map[netip.Addr]int{}
	return &coap.Server{Handler: func(req *coap.Request, resp *coap.Response) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests++
		c.bytes += len(req.Body)
		c.peers[req.From.Addr().Unmap()]++
		resp.Body = append(resp.Body, "ok"...)
	}}
}

func untilTheEnd(t *testing.T, serve func(context.Context)) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); serve(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// posted is a Spec whose devices post four bytes.
func posted(n int, period time.Duration, at net.Addr) Spec {
	s := sensors(n, period, Random)
	m := coap.Message{Code: coap.POST, Payload: []byte("data")}
	m.AddParts(coap.URIPath, "echo", '/')
	s.Server = at.(*net.UDPAddr).AddrPort()
	s.Request, s.Body = m.Append(nil)[4:], 4
	s.Timeout = 30 * time.Second
	s.Judge = func(b []byte) error {
		if string(b) != "ok" {
			return fmt.Errorf("got %q", b)
		}
		return nil
	}
	return s
}

// counters reads the kernel's counters of a protocol, Udp or Tcp, of this thread's network.
func counters(t *testing.T, protocol string) map[string]int64 {
	b, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	out := map[string]int64{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if f[0] != protocol+":" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i, n := range names[1:] {
			var v int64
			fmt.Sscan(f[i+1], &v)
			out[n] = v
		}
	}
	return out
}

// up brings up the loopback interface of this thread's network.
func up() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// holdAll makes room in a server's socket for that many small datagrams, so that none is lost while the server has no
// CPU: nobody sends a NON request again.
func holdAll(conn *net.UDPConn, datagrams int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	const each = 2048 // more than the kernel charges for a small one
	var forced error
	err = raw.Control(func(fd uintptr) {
		forced = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, datagrams*each)
	})
	return errors.Join(err, forced)
}

// Devices, server and kernel count the same, in a network where nobody else is: each
// device is a peer of its own, of the address that is its number.
func TestThreeAccountsAgree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		non  bool
		most int
	}{{"CON", false, batchSize}, {"NON", true, batchSize}, {"one by one", false, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ns, err := kernel.NewNetwork()
			if err != nil {
				t.Fatal(err)
			}
			defer ns.Close()
			const n, rounds = 3000, 2
			var server counter
			var account *Account
			var before, after map[string]int64
			err = kernel.InNetwork(ns, func() error {
				if err := up(); err != nil {
					return err
				}
				conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
				if err != nil {
					return err
				}
				if err := holdAll(conn, n*rounds); err != nil {
					return err
				}
				server.serve(t, conn)
				s := posted(n, time.Second, conn.LocalAddr())
				s.NON = tt.non
				p, err := New(s)
				if err != nil {
					return err
				}
				p.batch = tt.most
				before = counters(t, "Udp")
				account, err = p.Run(t.Context(), Load{For: rounds * time.Second, Record: true})
				after = counters(t, "Udp")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			// On a busy machine a device may still wait when it is due again.
			if account.Answered != account.Requests || account.Skipped+account.Requests != n*rounds {
				t.Errorf("got %+v, want %d reports, all answered or skipped", account, n*rounds)
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			// Where an answer takes seconds, as on a busy machine, a request is sent again.
			if sent := int(account.Requests + account.Retransmissions); server.requests != sent ||
				server.bytes != 4*server.requests || len(server.peers) != n {
				t.Errorf("the server counted %d requests with %d B from %d peers, the devices %d from %d", server.requests,
					server.bytes, len(server.peers), sent, n)
			}
			for i := range n {
				if server.peers[addressOf(i)] == 0 {
					t.Fatalf("nothing came from device %d, %v", i, addressOf(i))
				}
			}
			// Both ends are in this network, so each datagram is one out and one in.
			all := account.DatagramsOut + account.DatagramsIn
			if out := after["OutDatagrams"] - before["OutDatagrams"]; out != all {
				t.Errorf("the kernel sent %d datagrams, the devices account for %d", out, all)
			}
			lost := after["RcvbufErrors"] - before["RcvbufErrors"]
			if in := after["InDatagrams"] - before["InDatagrams"]; in+lost != all || lost < account.Dropped {
				t.Errorf("the kernel delivered %d datagrams and dropped %d, of %d", in, lost, all)
			}
			kept := 0
			for x := range account.Exchanges() {
				if kept++; x.Sent < x.Due || x.Done <= x.Sent || x.Out != 4 || x.In != 2 || x.Failure != "" {
					t.Fatalf("got %+v", x)
				}
			}
			if kept != int(account.Requests) || account.Sampled != 1 {
				t.Errorf("kept %d rows, one of %d", kept, account.Sampled)
			}
		})
	}
}

// asked is a run whose devices are to ask at once and whose rounds a test calls, and what answers all of them.
func asked(t *testing.T, n int, non bool) (e *engine, answer func()) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	s := posted(n, time.Hour, conn.LocalAddr())
	s.Phase, s.NON, s.Timeout = Aligned, non, time.Hour
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := newSocket(s.Server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shared.close)
	e = &engine{core: p.core, socket: shared}
	e.set(Load{Requests: n}, 1)
	e.begun(time.Now())
	return e, func() {
		const unread = 0 // SK_MEMINFO_RMEM_ALLOC
		b := make([]byte, room)
		for range n {
			size, from, err := conn.ReadFromUDPAddrPort(b)
			var m coap.Message
			if err = errors.Join(err, m.Decode(b[:size])); err != nil {
				t.Fatal(err)
			}
			kind := coap.Acknowledgement
			if non {
				kind = coap.NonConfirmable
			}
			before := shared.memory(unread)
			if _, err = conn.WriteToUDPAddrPort(bytesOf(kind, coap.Content, m.ID, m.Token, "ok"), from); err != nil {
				t.Fatal(err)
			}
			for shared.memory(unread) == before { // on a busy machine it is still under way
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// An answer that lies in the socket when its device's turn to send again has come takes that turn away.
func TestWhoeverIsDueHasLooked(t *testing.T) {
	const n = 5
	e, answer := asked(t, n, false)
	if _, err := e.round(batchSize); err != nil || e.Requests != n {
		t.Fatalf("asked %d times, %v", e.Requests, err)
	}
	answer()
	e.begun(time.Now().Add(-time.Minute)) // all would have sent again by now
	// One answer is taken: nobody has looked for the others, which may be there.
	if wait, err := e.round(1); err != nil || e.Answered != 1 || e.Retransmissions != 0 || wait != 0 {
		t.Errorf("one round: %d answers were taken, %d requests sent again, %v; goes on after %v", e.Answered,
			e.Retransmissions, err, wait)
	}
	if err := e.run(); err != nil || e.Answered != n || e.Retransmissions != 0 {
		t.Errorf("%d of %d answers were taken, %d requests sent again, %v", e.Answered, n, e.Retransmissions, err)
	}
}

// Where one datagram comes at a time it is asked for one; whether more come is seen at the 16th, and from then on.
func TestOneByOne(t *testing.T) {
	const all = 64
	var s singles
	for i, tt := range []struct{ times, asked, came, next int }{
		{oneByOne - 1, 1, 1, 1}, {1, 1, 1, all},
		{1, all, 1, 1}, {oneByOne - 1, 1, 1, 1}, {1, 1, 1, all},
		{1, all, 2, all}, {1, all, all, all}, {1, all, 1, 1},
	} {
		for range tt.times {
			s.took(tt.came, tt.asked)
		}
		if got := s.ask(all); got != tt.next {
			t.Errorf("row %d: asks for %d, want %d", i, got, tt.next)
		}
	}
}

// What was sent is not looked for at once: there is no answer yet, and poll tells when there is one.
func TestPollTellsOfAnswers(t *testing.T) {
	const n = 5
	e, answer := asked(t, n, true)
	if e.socket.wait(0, false) {
		t.Error("poll tells of an answer before there is any")
	}
	wait, err := e.round(0)
	if err != nil || e.Requests != n || wait <= 0 {
		t.Fatalf("asked %d times, %v; looks again at once: %v", e.Requests, err, wait)
	}
	answer()
	if !e.socket.wait(time.Minute, false) {
		t.Error("poll tells of no answer")
	}
	if wait, err = e.round(batchSize); err != nil || e.Answered != n || wait >= 0 {
		t.Errorf("%d of %d answers were taken, %v; goes on after %v", e.Answered, n, err, wait)
	}
}

// Without a server, requests fail and say so; a run ends with its context.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := posted(50, time.Second, conn.LocalAddr())
	s.Timeout = 100 * time.Millisecond
	p, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Run(t.Context(), Load{For: time.Second, Record: true})
	if err != nil || r.Failed != 50 || r.Requests != 50 || r.DownMost != 50 {
		t.Errorf("got %+v, %v; want 50 failures", r, err)
	}
	why := r.FirstFailure
	if r, err = p.Run(t.Context(), Load{For: time.Second}); err != nil || r.Failed != 50 || r.FirstFailure == "" ||
		r.FirstFailure != why {
		t.Errorf("without rows: got %+v, %v; want 50 failures, %s", r, err, why)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r, err = p.Run(ctx, Load{For: time.Hour}); err == nil || r.Requests != r.Failed {
		t.Errorf("got %+v, %v; want the context's error", r, err)
	}
	for _, l := range []Load{{}, {For: -1}, {For: 1 << 62}} {
		if _, err := p.Run(t.Context(), l); err == nil {
			t.Errorf("%+v: got no error", l)
		}
	}
}

// A recorded run lasts as long as it is to, also when nobody is due any more; what warms up before it ends.
func TestRunsLastTheirTime(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	new(counter).serve(t, conn)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })}
	go h.Serve(l)
	defer h.Close()
	over := posted(3, time.Hour, conn.LocalAddr())
	over.Phase = Aligned
	stream := over
	stream.Server, stream.Stream = netip.MustParseAddrPort(l.Addr().String()), &Stream{Protocol: HTTP}
	stream.Request = []byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	for name, s := range map[string]Spec{"datagrams": over, "connections": stream} {
		p, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		const lasts = 300 * time.Millisecond
		r, err := p.Run(t.Context(), Load{For: time.Hour})
		if err != nil || r.Answered != 3 {
			t.Errorf("%s, warming up: got %+v, %v", name, r, err)
		}
		r, err = p.Run(t.Context(), Load{For: lasts, Record: true})
		if err != nil || r.Answered != 3 || r.Elapsed < lasts {
			t.Errorf("%s: got %+v, %v, want %v", name, r, err, lasts)
		}
	}
}

// Each datagram comes whole with its device, however many came before in its place: the kernel writes into a header how
// much of its room it took, which may be less the next time.
func TestHeadersAreReadyForTheNext(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s, err := newSocket(conn.LocalAddr().(*net.UDPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	own, err := unix.Getsockname(s.fd)
	if err != nil {
		t.Fatal(err)
	}
	port := uint16(own.(*unix.SockaddrInet4).Port)
	for round, n := range []int{3, 1, batchSize, 2, batchSize, 7} {
		for i := range n {
			if _, err := conn.WriteToUDPAddrPort([]byte{byte(i)}, netip.AddrPortFrom(addressOf(i), port)); err != nil {
				t.Fatal(err)
			}
		}
		for left := n; left > 0; {
			if !s.wait(time.Minute, false) {
				t.Fatalf("round %d: %d of %d datagrams do not come", round, left, n)
			}
			got, err := s.receive(batchSize)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if b, device := s.datagram(i); len(b) != 1 || device != int(b[0]) {
					t.Fatalf("round %d: got %v for device %d", round, b, device)
				}
				h := &s.in.headers[i].Msghdr // as if all had taken less
				h.Namelen = 0
				h.SetControllen(0)
			}
			left -= got
		}
	}
}

// A datagram from a stranger is no answer.
func TestStrangersAreNotHeard(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s, err := newSocket(conn.LocalAddr().(*net.UDPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.put(0, copy(s.place(0)[:4], "ping"), 4711)
	if n, err := s.send(0, 1); n != 1 || err != nil {
		t.Fatalf("sent %d, %v", n, err)
	}
	b := make([]byte, 10)
	_, from, err := conn.ReadFromUDPAddrPort(b)
	if err != nil || from.Addr() != addressOf(4711) {
		t.Fatalf("got %v, %v; want %v", from, err, addressOf(4711))
	}
	other, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, c := range []*net.UDPConn{other, conn} {
		if _, err := c.WriteToUDPAddrPort([]byte("pong"), from); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for len(got) < 2 {
		s.wait(time.Second, false)
		n, err := s.receive(batchSize)
		if err != nil || n == 0 {
			t.Fatalf("received %d, %v", n, err)
		}
		for i := range n {
			_, device := s.datagram(i)
			got = append(got, device)
		}
	}
	if got[0] != -1 || got[1] != 4711 {
		t.Errorf("got datagrams for %v, want none and 4711", got)
	}
}

// A watcher sees the run grow up to what it comes to.
func TestWatch(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	new(counter).serve(t, conn)
	p, err := New(posted(50, 100*time.Millisecond, conn.LocalAddr()))
	if err != nil {
		t.Fatal(err)
	}
	var seen []State
	var r *Account
	for span := 400 * time.Millisecond; len(seen) < 2 && span < time.Minute; span *= 2 { // longer on a busy machine
		seen = nil
		if r, err = p.Run(t.Context(), Load{For: span, every: 50 * time.Millisecond,
			Watch: func(s State) { seen = append(seen, s) }}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 2 {
		t.Fatalf("it was told %d states", len(seen))
	}
	before := int64(0)
	for _, s := range seen {
		if s.Devices != 50 || s.Requests < before || s.Requests > r.Requests || (s.Rate > 0) != (s.Requests > before) {
			t.Errorf("of %d requests: %+v, after %d", r.Requests, s, before)
		}
		before = s.Requests
	}
	if before == 0 || seen[len(seen)-1].Lateness <= 0 {
		t.Errorf("the last is %+v", seen[len(seen)-1])
	}
}
