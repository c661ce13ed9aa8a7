package coap

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pion/dtls/v3"
)

// A handler that takes its time is acknowledged first and answers separately,
// whether it runs beside the reader or on it.
func TestSeparateResponse(t *testing.T) {
	for _, workers := range []int{0, 1} {
		// A client that would lose patience, were it not acknowledged: after half as long again at most. A busy machine may
		// make it lose it all the same, if that is short.
		var body []byte
		var err error
		for patience := 250 * time.Millisecond; patience < 10*time.Second; patience *= 4 {
			s := &Server{Workers: workers, AckDelay: 50 * time.Millisecond, Handler: func(req *Request, resp *Response) {
				time.Sleep(2 * patience)
				resp.Body = append(resp.Body, "at last"...)
			}}
			if body, err = asked(t, s, patience); err == nil {
				break
			}
		}
		if err != nil || string(body) != "at last" {
			t.Errorf("%d workers: got %q, %v", workers, body, err)
		}
	}
}

// asked is what a server answers, separately, to who waits so long for its acknowledgement.
func asked(t *testing.T, s *Server, patience time.Duration) ([]byte, error) {
	t.Helper()
	conn, err := net.Dial("udp", start(t, s, "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := NewClient(conn, Params{AckTimeout: patience, MaxRetransmit: -1}).Do(t.Context(), &Call{Method: GET})
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(20 * time.Second); s.Counts.Separate.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if n := s.Counts.Separate.Load(); n != 1 {
		t.Errorf("%d workers: %d separate responses, want 1", s.Workers, n)
	}
	return reply.Body, nil
}

// Whom there is no room for is not heard, well-formed or not. Who is heard is answered also where a datagram is
// malformed, and the clock that is handed on was read behind the handler.
func TestStrangersAreMetAndHeardAtOnce(t *testing.T) {
	const takes = 5 * time.Millisecond
	s := &Server{MaxPeers: 1, Handler: func(*Request, *Response) { time.Sleep(takes) }}
	ep := s.endpoint(nil)
	one, other := netip.MustParseAddrPort("127.0.0.1:1"), netip.MustParseAddrPort("127.0.0.1:2")
	request := (&Call{Method: POST, Path: "echo"}).Message().Append(nil)
	malformed := []byte{0x40, 0x60, 0x00, 0x01} // confirmable, of a class that there is not
	busy, free := newTask(0), newTask(0)
	if handle, known := ep.meet(busy, one, request, 0); !handle || !known {
		t.Fatalf("the first: handled %v, known %v", handle, known)
	}
	for _, datagram := range [][]byte{request, malformed} {
		if handle, known := ep.meet(free, other, datagram, 0); handle || known {
			t.Errorf("one too many: handled %v, known %v", handle, known)
		}
	}
	if ignored, bad := s.Counts.Ignored.Load(), s.Counts.Malformed.Load(); ignored != 2 || bad != 0 {
		t.Errorf("%d were ignored, %d malformed, want 2 and none", ignored, bad)
	}
	ep.finish(busy, 0)
	if handle, known := ep.meet(free, other, malformed, 0); handle || !known || !bytes.Equal(free.wire,
		appendEmpty(nil, Reset, 1)) || s.Counts.Malformed.Load() != 1 {
		t.Errorf("malformed: handled %v, known %v, answered with %x", handle, known, free.wire)
	}
	for _, least := range []time.Duration{takes, 0} { // the second is a duplicate, which no handler sees
		began := ep.now()
		answers, at := ep.answerTo(free, other, request)
		took, handled := at-began, s.Counts.Requests.Load()
		if !answers || len(free.wire) == 0 || took < least || handled != 2 {
			t.Errorf("answers %v with %x after %v, want %v at least", answers, free.wire, took, least)
		}
	}
}

// Workers run handlers at once, and no more of them than allowed.
func TestWorkers(t *testing.T) {
	const workers = 3
	var mu sync.Mutex
	at, most := 0, 0
	all3 := make(chan struct{}) // are at it at once
	address := start(t, &Server{Workers: workers, Handler: func(*Request, *Response) {
		mu.Lock()
		at++
		if most < workers && at == workers {
			close(all3)
		}
		most = max(most, at)
		mu.Unlock()
		select {
		case <-all3:
		case <-time.After(20 * time.Second):
		}
		time.Sleep(30 * time.Millisecond)
		mu.Lock()
		at--
		mu.Unlock()
	}}, "127.0.0.1")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			conn, err := net.Dial("udp", address)
			if err != nil {
				t.Error(err)
				return
			}
			c := NewClient(conn, Params{AckTimeout: 40 * time.Millisecond, MaxRetransmit: 10})
			defer c.Close()
			if reply, err := c.Do(t.Context(), &Call{Method: POST}); err != nil || reply.Code != Changed {
				t.Error(reply.Code, err)
			}
		})
	}
	all.Wait()
	mu.Lock()
	defer mu.Unlock()
	if most != workers {
		t.Errorf("%d handlers ran at once, want %d", most, workers)
	}
}

func TestManyPeersAtOnce(t *testing.T) {
	address := start(t, &Server{Handler: echo, Workers: 2}, "::1")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			c, err := Dial(address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			body := pattern(5000 + i)
			for range 20 {
				reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Body: body})
				if err != nil || !bytes.Equal(reply.Body, body) {
					t.Errorf("client %d: got %v, %d bytes, %v", i, reply.Code, len(reply.Body), err)
				}
			}
		})
	}
	all.Wait()
}

func TestClientGivesUp(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(silent.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, &Call{Method: GET}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a context: got %v", err)
	}
	impatient := NewClient(c.conn, Params{AckTimeout: 5 * time.Millisecond, MaxRetransmit: 2})
	if _, err := impatient.Do(t.Context(), &Call{Method: GET}); !errors.Is(err, ErrTimeout) ||
		impatient.Retransmissions() != 2 {
		t.Errorf("nobody answers: got %v after %d retransmissions", err, impatient.Retransmissions())
	}
	silent.Close()
	if _, err := impatient.Do(t.Context(), &Call{Method: GET}); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody listens: got %v", err)
	}
}

func TestDTLS(t *testing.T) {
	lab := PSK{Identity: "lab", Key: []byte(secret)}
	s := &Server{Handler: echo}
	address := startDTLS(t, s, "127.0.0.1", lab)
	for _, suite := range []Suite{CCM8, CCM, GCM} {
		k := lab
		k.Suites = []Suite{suite}
		c, err := DialDTLS(t.Context(), address, k, Params{})
		if err != nil {
			t.Fatalf("%v: %v", suite, err)
		}
		state, _ := c.conn.(*dtls.Conn).ConnectionState()
		if state.CipherSuiteID != suite {
			t.Errorf("asked for %v, got %v", suite, state.CipherSuiteID)
		}
		for _, n := range []int{10, 50_000} {
			body := pattern(n)
			if reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Body: body}); err != nil ||
				!bytes.Equal(reply.Body, body) {
				t.Errorf("%v, %d bytes: got %v, %d bytes, %v", suite, n, reply.Code, len(reply.Body), err)
			}
		}
		c.Close()
	}
	for name, k := range map[string]PSK{
		"wrong key":      {Identity: "lab", Key: []byte("wrong horse")},
		"wrong identity": {Identity: "bal", Key: []byte(secret)},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		if c, err := DialDTLS(ctx, address, k, Params{}); err == nil {
			t.Errorf("%s: let in", name)
			c.Close()
		}
		cancel()
	}
}

// relay carries datagrams between one client and the server at address. What
// the client sends passes through alter.
func relay(t *testing.T, address string, alter func(b []byte, send func([]byte))) string {
	t.Helper()
	down, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	up, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	var client atomic.Pointer[netip.AddrPort]
	var both sync.WaitGroup
	t.Cleanup(func() { down.Close(); up.Close(); both.Wait() })
	both.Go(func() {
		for b := make([]byte, udpRoom); ; {
			n, from, err := down.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			client.Store(&from)
			alter(b[:n], func(b []byte) { up.Write(b) })
		}
	})
	both.Go(func() {
		for b := make([]byte, udpRoom); ; {
			n, err := up.Read(b)
			if err != nil {
				return
			}
			down.WriteToUDPAddrPort(b[:n], *client.Load())
		}
	})
	return down.LocalAddr().String()
}

// A relay says everything twice and once altered: replays and forgeries must
// not reach the handler.
func TestDTLSReplayAndForgery(t *testing.T) {
	s := &Server{Handler: shop(new(int))}
	lab := PSK{Identity: "lab", Key: []byte(secret)}
	address := relay(t, startDTLS(t, s, "127.0.0.1", lab), func(b []byte, send func([]byte)) {
		send(b)
		send(b)
		b[len(b)-1] ^= 1
		send(b)
	})
	c := dial(t, address, true, Params{})
	defer c.Close()
	for range 20 {
		if reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "6", NON: true}); err != nil || len(reply.Body) != 6 {
			t.Fatalf("got %v, %v", reply, err)
		}
	}
	if n := s.Counts.Requests.Load() + s.Counts.Duplicates.Load(); n != 20 {
		t.Errorf("%d requests came through, want 20", n)
	}
}

// Inside DTLS datagrams are lost too, and requests sent again.
func TestDTLSLoses(t *testing.T) {
	s := &Server{Handler: echo}
	n := 0
	address := relay(t, startDTLS(t, s, "127.0.0.1", PSK{Identity: "lab", Key: []byte(secret)}),
		func(b []byte, send func([]byte)) {
			const applicationData = 23
			if n++; b[0] != applicationData || n%3 == 0 {
				send(b)
			}
		})
	c := dial(t, address, true, Params{AckTimeout: 20 * time.Millisecond})
	defer c.Close()
	body := pattern(5000)
	reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Body: body})
	if err != nil || !bytes.Equal(reply.Body, body) || c.Retransmissions() == 0 {
		t.Errorf("got %v, %d bytes, %v, after %d retransmissions", reply.Code, len(reply.Body), err, c.Retransmissions())
	}
	if n := s.Counts.Requests.Load(); n != 1 {
		t.Errorf("handler ran %d times", n)
	}
}

// ServeConn answers on any connection that keeps datagrams apart.
func TestServeConn(t *testing.T) {
	near, far := net.Pipe() // one Write is one Read, if the reader has room
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- (&Server{Handler: echo}).ServeConn(ctx, far) }()
	c := NewClient(near, Params{})
	body := pattern(3000)
	if reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Body: body}); err != nil ||
		!bytes.Equal(reply.Body, body) {
		t.Errorf("got %v, %d bytes, %v", reply.Code, len(reply.Body), err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
