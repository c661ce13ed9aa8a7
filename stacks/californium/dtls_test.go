// Package californium holds tests of the program in this folder.
package californium

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A relay carries datagrams between one client and a server, as a router that
// translates addresses does.
type relay struct {
	near   *net.UDPConn
	server *net.UDPAddr
	mu     sync.Mutex
	far    *net.UDPConn
	client *net.UDPAddr

	types map[byte]int
}

func newRelay(t *testing.T, server string) *relay {
	to, err := net.ResolveUDPAddr("udp", server)
	if err != nil {
		t.Fatal(err)
	}
	near, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{near: near, server: to, types: map[byte]int{}}
	r.move(t)
	go r.there()
	t.Cleanup(func() { near.Close(); r.far.Close() })
	return r
}

// move gives the client another address, as the server sees it.
func (r *relay) move(t *testing.T) {
	far, err := net.DialUDP("udp", nil, r.server)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	old := r.far
	r.far = far
	r.mu.Unlock()
	if old != nil {
		old.Close()
	}
	go r.back(far)
}

func (r *relay) there() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := r.near.ReadFromUDP(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n == 0 {
			continue
		}
		r.mu.Lock()
		r.client = from
		r.types[b[0]]++
		r.far.Write(b[:n])
		r.mu.Unlock()
	}
}

func (r *relay) back(far *net.UDPConn) {
	b := make([]byte, 1<<16)
	for {
		n, err := far.Read(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		r.mu.Lock()
		to := r.client
		r.mu.Unlock()
		r.near.WriteToUDP(b[:n], to)
	}
}

// With a connection ID a session outlives its address; without, it does not.
func TestConnectionIDOutlivesTheAddress(t *testing.T) {
	d := built(t)
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		security, level string
		survives        bool
	}{{"dtls-psk", "on", true}, {"dtls-x509", "on", true}, {"dtls-psk", "off", false}} {
		t.Run(tt.security+" "+tt.level, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			options := map[string]string{"connection_id": tt.level}
			srv, cl := start(t, d, "serve"), start(t, d, "call")
			ready, err := srv.Serve(ctx, stack.Serve{Service: "echo", Encoding: "protobuf", Security: tt.security,
				Transport: "coap", Host: "127.0.0.1",
				Credentials: credentials, Options: options, Limits: stack.Limits{Body: 1 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(ready.URL)
			if err != nil {
				t.Fatal(err)
			}
			r := newRelay(t, u.Host)
			u.Host = r.near.LocalAddr().String()
			timeout := 20 * time.Second
			if !tt.survives {
				timeout = 3 * time.Second
			}
			_, err = cl.Call(ctx, stack.Call{URL: u.String(), Service: "echo", Encoding: "protobuf", Security: tt.security,
				Transport: "coap", Connection: "keep-alive",
				Message: stack.Message{Seed: 1, N: 10}, Timeout: int64(timeout), Credentials: credentials, Options: options})
			if err != nil {
				t.Fatal(err)
			}
			if failed := failures(t, ctx, cl, 5); failed != 0 {
				t.Fatalf("%d of 5 requests failed before the move", failed)
			}
			r.move(t)
			failed := failures(t, ctx, cl, 1)
			if tt.survives {
				failed += failures(t, ctx, cl, 4)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if (failed == 0) != tt.survives || (r.types[25] > 0) != tt.survives {
				t.Errorf("%d requests failed after the move, records by type %v", failed, r.types)
			}
		})
	}
}

func failures(t *testing.T, ctx context.Context, cl *stack.Conn, n int) (failed int) {
	t.Helper()
	_, err := cl.Run(ctx, stack.Run{Requests: n, Record: true}, func(x measure.Exchange) {
		if x.Failure != "" {
			failed++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return failed
}

// start starts the program and ends it with the test.
func start(t *testing.T, d stack.Description, verb string) *stack.Conn {
	t.Helper()
	p := d.Serve
	if verb == "call" {
		p = d.Call
	}
	argv, err := p.Argv(0)
	if err != nil {
		t.Fatal(err)
	}
	return stacktest.Start(t, d.Dir, argv...)
}

// built is the stack, which CI must have built.
func built(t *testing.T) stack.Description {
	t.Helper()
	d, err := stack.Read(".")
	if err != nil {
		t.Fatal(err)
	}
	if !d.Built() {
		if os.Getenv("CI") == "true" {
			t.Fatal("not built; run: edgegauge stacks build californium")
		}
		t.Skip("not built; run: edgegauge stacks build californium")
	}
	return d
}
