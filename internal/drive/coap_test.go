package drive

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// What the server is asked with: confirmable, not confirmable, under OSCORE.
func TestCoAPIsAskedAsTheSpecSays(t *testing.T) {
	keys := coap.Keys{Secret: []byte("secret"), SenderID: []byte{1}, RecipientID: []byte{2}}
	served := keys
	served.SenderID, served.RecipientID = keys.RecipientID, keys.SenderID
	for _, tt := range []struct {
		name string
		spec Spec
		ring *coap.Keyring
		want coap.Type
	}{
		{"confirmable", Spec{}, nil, coap.Confirmable},
		{"non-confirmable", Spec{NON: true}, nil, coap.NonConfirmable},
		{"OSCORE", Spec{Credentials: Credentials{OSCORE: keys}}, &coap.Keyring{Keys: served}, coap.Confirmable},
		{"OSCORE, two connections", Spec{Concurrency: 2, Credentials: Credentials{OSCORE: keys}}, &coap.Keyring{Keys: served},
			coap.Confirmable},
	} {
		conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		types := map[coap.Type]int{}
		s := &coap.Server{Keyring: tt.ring, Handler: func(req *coap.Request, resp *coap.Response) {
			types[req.Type]++
			resp.Body = append(resp.Body, req.Body...)
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Serve(ctx, conn) }()
		tt.spec.URL, tt.spec.Timeout = "coap://"+conn.LocalAddr().String()+"/x", 20*time.Second
		d, err := Dial(t.Context(), tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(20, 0), Record: true}, Fixed("hello"))
		if err != nil {
			t.Fatal(err)
		}
		for x := range record.Exchanges() {
			if x.Failure != "" || x.In != 5 {
				t.Errorf("%s: request %d: %d bytes, %s", tt.name, x.Seq, x.In, x.Failure)
			}
		}
		d.Close()
		cancel()
		<-done
		if types[tt.want] != 20 || len(types) != 1 {
			t.Errorf("%s: served %v", tt.name, types)
		}
	}
}

// A server that keeps to RFC 7252, section 4.5, answers a message ID that it has heard from the same port within
// EXCHANGE_LIFETIME as it did before, whatever else the message says. None comes again.
func TestMessageIDsDoNotComeAgainOnAPort(t *testing.T) {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		from netip.AddrPort
		id   uint16
	}
	heard, again, ports := map[place]bool{}, 0, map[uint16]bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 64)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			// version, type and token length; code; message ID; token: an answer of 2.04 on the acknowledgement
			token := int(b[0] & 15)
			if n < 4+token {
				continue
			}
			at := place{from, binary.BigEndian.Uint16(b[2:])}
			if heard[at] {
				again++
			}
			heard[at], ports[from.Port()] = true, true
			b[0], b[1] = 1<<6|2<<4|byte(token), 2<<5|4
			conn.WriteToUDPAddrPort(b[:4+token], from)
		}
	}()
	d, err := Dial(t.Context(), Spec{URL: "coap://" + conn.LocalAddr().String() + "/x", Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	const n = 70_000 // in some seconds
	record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(n, 0), Record: true}, Fixed("x"))
	d.Close()
	conn.Close()
	<-done
	if err != nil {
		t.Fatal(err)
	}
	_, failed, why := record.Ended()
	if failed > 0 || again > record.Quality.Retransmissions || len(ports) != 3 || record.Quality.Reconnects != 2 {
		t.Errorf("%d failed (%s), %d message IDs came again, %d retransmissions, from %d ports, %d connections made anew", failed,
			why, again, record.Quality.Retransmissions, len(ports), record.Quality.Reconnects)
	}
}

// Who takes longer than EXCHANGE_LIFETIME for half of the message IDs keeps its port.
func TestSlowClientsKeepTheirPort(t *testing.T) {
	for _, tt := range []struct {
		took   time.Duration
		reused bool
	}{{coap.ExchangeLifetime - 1, false}, {coap.ExchangeLifetime, true}} {
		w, err := newCoAPConn(&target{Spec: Spec{Method: "POST", MostBody: 1}, path: "/x"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		const began = time.Hour
		for i := range 1 << 15 {
			if i > 0 && !w.reusable() {
				t.Fatalf("after %d message IDs", i)
			}
			now := began
			if i == 1<<15-1 {
				now += tt.took
			}
			if err := w.start(nil, now); err != nil {
				t.Fatal(err)
			}
			_, _ = w.got(0, now)
		}
		if got := w.reusable(); got != tt.reused {
			t.Errorf("half of the message IDs in %v: %v, want %v", tt.took, got, tt.reused)
		}
	}
}
