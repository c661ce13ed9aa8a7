package reference

import (
	"context"
	"errors"
	"io"
	"log"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/stack"
)

// After an outage all devices over HTTP come back, each by a connection of its own, and with TLS by a handshake. The
// server has served what they were answered.
func TestDevicesOverHTTPComeBack(t *testing.T) {
	t.Parallel()
	const devices = 100
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ security, connection string }{{"none", "keep-alive"}, {"none", "per-request"},
		{"tls", "keep-alive"}, {"tls", "per-request"}} {
		t.Run(tt.security+" "+tt.connection, func(t *testing.T) {
			t.Parallel()
			k, _ := find("rest-protobuf")
			p := &program{kind: k, log: log.New(io.Discard, "", 0)}
			limits := stack.Limits{Body: 100_000}
			srv, err := serveHTTP(p, stack.Serve{Service: "monitor", Encoding: "protobuf", Security: tt.security,
				Host: "127.0.0.1", Credentials: credentials, Limits: limits})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.close()
			s := stack.Call{URL: srv.url(), Service: "monitor", Encoding: "protobuf", Security: tt.security, Transport: "http",
				Message: stack.Message{Seed: 1, N: 16}, Connection: tt.connection, Timeout: int64(500 * time.Millisecond),
				Limits: limits, Credentials: credentials}
			c, err := p.caller(s)
			if err != nil {
				t.Fatal(err)
			}
			d, err := p.spec(s, c)
			if err != nil {
				t.Fatal(err)
			}
			spec := population.Spec{Devices: devices, Phase: population.Random, Seed: 1,
				Classes: []population.Class{{Share: 1, Period: time.Second}},
				Retry: population.Backoff{First: 100 * time.Millisecond, Factor: 2, Most: 2 * time.Second,
					Jitter: population.Full},
				Outage: population.Outage{At: time.Second, For: 2 * time.Second, Share: 1}}
			if err := fill(&spec, d, c, 0); err != nil {
				t.Fatal(err)
			}
			all, err := population.New(spec)
			if err != nil {
				t.Fatal(err)
			}
			defer all.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// Who failed in the outage is down until it is over, however long that takes on a busy machine.
			met := false
			r, err := all.Run(ctx, population.Load{For: 5 * time.Minute, Record: true, Watch: func(s population.State) {
				if met = met || s.Down > devices/4; met && s.Down == 0 {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("not all came back: %v, %+v", err, r)
			}
			if r.DownMost < devices/4 || r.Withheld == 0 || r.Wrong > 0 || r.Connects < int64(devices+r.DownMost) {
				t.Errorf("%d were down, %d connections: %+v", r.DownMost, r.Connects, r.Counts)
			}
			if tls := tt.security == "tls"; tls != (r.Handshakes > devices) || r.Handshakes > r.Connects {
				t.Errorf("%d handshakes, %d connections", r.Handshakes, r.Connects)
			}
			if served := int64(srv.take().n); served < r.Answered || served > r.Requests {
				t.Errorf("the server served %d requests; %d were sent, %d of them answered", served, r.Requests, r.Answered)
			}
		})
	}
}
