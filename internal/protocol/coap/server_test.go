package coap

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

// echo answers with the request's body; "big" with n bytes; "slow" after a while.
func echo(req *Request, resp *Response) {
	switch string(req.Path) {
	case "echo":
		resp.Format = req.Format
		resp.Body = append(resp.Body, req.Body...)
	case "big":
		resp.Format = OctetStream
		resp.Body = append(resp.Body, pattern(500_000)...)
	case "slow":
		time.Sleep(1500 * time.Millisecond)
		resp.Body = append(resp.Body, "at last"...)
	case "path/with/parts":
		resp.Body = append(resp.Body, req.Query...)
	default:
		resp.Code = NotFound
	}
}

// pattern is n bytes in which every block differs from every other.
func pattern(n int) []byte {
	b := make([]byte, n)
	x := uint32(n)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// start serves on a free port of a loopback address until the test ends.
func start(t testing.TB, s *Server, host string) string {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(host)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, conn) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn.LocalAddr().String()
}

func TestServeOverUDP(t *testing.T) {
	rows := []struct{ bind, host string }{
		{"127.0.0.1", "127.0.0.1"},
		{"::1", "::1"},
		{"::", "127.0.0.1"}, // one socket for both: IPv4 addresses come mapped into IPv6
		{"::", "::1"},
	}
	for _, r := range rows {
		host := r.host
		for _, workers := range []int{0, 3} {
			_, port, err := net.SplitHostPort(start(t, &Server{Handler: echo, Workers: workers}, r.bind))
			if err != nil {
				t.Fatal(err)
			}
			address := net.JoinHostPort(host, port)
			c, err := Dial(address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for _, n := range []int{0, 1, 1023, 1024, 1025, 2048, 100_000, 500_000} {
				body := pattern(n)
				reply, err := c.Do(t.Context(), &Call{Method: POST, Path: "echo", Body: body, Format: CBOR})
				if err != nil {
					t.Fatalf("%s, %d workers, %d bytes: %v", host, workers, n, err)
				}
				if reply.Code != Changed || !bytes.Equal(reply.Body, body) || n > 0 && reply.Format != CBOR {
					t.Errorf("%s, %d workers, %d bytes: got %v, %d bytes, format %d", host, workers, n, reply.Code,
						len(reply.Body), reply.Format)
				}
			}
		}
	}
}

// A server that is asked without a pause waits in its socket. It ends with its context all the same, and the
// collector can stop it.
func TestServerThatWaitsInItsSocketEnds(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	s := &Server{Handler: echo}
	go func() { served <- s.Serve(ctx, conn) }()
	client, err := net.DialUDP("udp", nil, conn.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	m := (&Call{Method: POST, Path: "echo", NON: true}).Message()
	var flood sync.WaitGroup
	flood.Go(func() {
		for {
			m.ID++
			if _, err := client.Write(m.Append(nil)); errors.Is(err, net.ErrClosed) {
				return
			}
		}
	})
	for before := int64(0); before < 10_000; before = s.Counts.Requests.Load() {
		runtime.GC()
	}
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it still served after 20 s")
	}
	client.Close()
	flood.Wait()
}
