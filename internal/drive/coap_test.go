package drive

import (
	"context"
	"net"
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
