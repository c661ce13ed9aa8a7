package libcoap_test

import (
	"context"
	"net"
	"net/url"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// A DTLS session for one request is closed when its answer is there, not when the next request is due: there it would
// make that one late, and its datagrams would be among those of another request.
func TestSessionEndsWithItsRequest(t *testing.T) {
	stacktest.Built(t, ".")
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ready, err := stacktest.Start(t, "", "build/libcoap", "serve").Serve(ctx,
		stack.Serve{Service: "echo", Encoding: "protobuf", Security: "dtls-psk", Transport: "coap", Host: "127.0.0.1",
			Limits: stack.Limits{Body: 1e6}, Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	server, alerts := relayed(t, ready.URL)
	client := stacktest.Start(t, "", "build/libcoap", "call")
	_, err = client.Call(ctx, stack.Call{URL: server, Service: "echo", Encoding: "protobuf", Security: "dtls-psk",
		Transport: "coap", Message: stack.Message{Seed: 7, N: 40}, Connection: "per-request", Timeout: 30e9,
		Limits: stack.Limits{Body: 1e6}, Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		end, err := client.Run(ctx, stack.Run{Requests: 1}, nil)
		if err != nil || end.Failed != 0 {
			t.Fatalf("%+v: %v", end, err)
		}
		select {
		case <-alerts:
		case <-time.After(5 * time.Second):
			t.Fatal("the session of a request that is over is still open")
		}
	}
}

// relayed stands between one client at a time and the server at an URL, and tells of each alert of a client.
func relayed(t *testing.T, server string) (at string, alerts chan struct{}) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	far, err := net.ResolveUDPAddr("udp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	near, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	alerts = make(chan struct{}, 100)
	go func() {
		const alert = 21 // RFC 6347, section 4.1: the type of a record is its first byte
		to := map[string]*net.UDPConn{}
		defer func() {
			for _, c := range to {
				c.Close()
			}
		}()
		b := make([]byte, 1<<16)
		for {
			n, from, err := near.ReadFromUDP(b)
			if err != nil {
				return
			}
			c := to[from.String()]
			if c == nil {
				if c, err = net.DialUDP("udp", nil, far); err != nil {
					return
				}
				to[from.String()] = c
				go back(c, near, from)
			}
			c.Write(b[:n])
			if n > 0 && b[0] == alert {
				alerts <- struct{}{}
			}
		}
	}()
	u.Host = near.LocalAddr().String()
	return u.String(), alerts
}

// back passes what the server says to a client.
func back(server, near *net.UDPConn, client *net.UDPAddr) {
	b := make([]byte, 1<<16)
	for {
		n, err := server.Read(b)
		if err != nil {
			return
		}
		near.WriteToUDP(b[:n], client)
	}
}
