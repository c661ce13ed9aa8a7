package drive

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
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

// Over TCP a request of 5 kB goes in one message to a server that takes it, over a connection that is kept and over one
// of its own: else the difference between them would be one of blocks.
func TestCoAPOverTCPGoesTheSameWayOverEachConnection(t *testing.T) {
	const requests, body = 6, 5000
	for _, connection := range []string{KeepAlive, PerRequest} {
		for _, concurrency := range []int{1, 2} { // blocking calls, epoll
			var messages, blocks atomic.Int64
			at := hostile(t, func(c net.Conn, _ int) {
				csm := coap.Message{Code: coap.CSM}
				csm.AddUint(2, 1<<20) // Max-Message-Size
				c.Write(csm.AppendStream(nil))
				var buf []byte
				for piece := make([]byte, 1<<16); ; {
					n, err := c.Read(piece)
					if err != nil {
						return
					}
					buf = append(buf, piece[:n]...)
					for {
						var m coap.Message
						n, err := m.DecodeStream(buf, 1<<20)
						if err != nil || n == 0 {
							break
						}
						if m.Code == coap.POST {
							messages.Add(1)
							if _, has := m.Block(coap.Block1); has {
								blocks.Add(1)
							}
							c.Write((&coap.Message{Code: coap.Changed, Token: m.Token}).AppendStream(nil))
						}
						buf = buf[n:]
					}
				}
			})
			_, xs := drive(t, Spec{URL: "coap+tcp" + strings.TrimPrefix(at, "http"), Connection: connection,
				Concurrency: concurrency, Timeout: 5 * time.Second}, Load{Schedule: ClosedLoop(requests, 0)},
				Fixed(strings.Repeat("x", body)))
			for _, x := range xs {
				if x.Failure != "" {
					t.Errorf("%s, %d at once: request %d: %s", connection, concurrency, x.Seq, x.Failure)
				}
			}
			if messages.Load() != requests || blocks.Load() != 0 {
				t.Errorf("%s, %d at once: %d messages, %d of them blocks; want %d and none", connection, concurrency,
					messages.Load(), blocks.Load(), requests)
			}
		}
	}
}
