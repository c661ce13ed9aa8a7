package reference

import (
	"context"
	"fmt"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// 500 kB up and down again, block by block, over every way that Californium has,
// among its own two ends and across with ours where ours has the way.
func TestLargeBodiesWithCalifornium(t *testing.T) {
	theirs := stacktest.Built(t, "../californium")
	credentials, err := stack.NewCredentials(t.TempDir(), []string{})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("REFERENCE_TEST_PROGRAM", "1")
	ours := func(t *testing.T, transport, verb string) *stack.Conn {
		name := Prefix + "coap-protobuf"
		if transport == "coap-tcp" {
			name = Prefix + "coap-tcp-protobuf"
		}
		return stacktest.Start(t, "", "/proc/self/exe", name, verb)
	}
	server := stacktest.Start(t, theirs.Dir, argv(t, theirs.Serve)...) // each JVM for all ways
	client := stacktest.Start(t, theirs.Dir, argv(t, theirs.Call)...)
	on := func(option, level string) map[string]string { return map[string]string{option: level} }
	for _, way := range []struct {
		security, transport string
		options             map[string]string
		crossed             bool // ours has it too
	}{
		{"none", "coap", nil, true},
		{"none", "coap", on("confirmable", "off"), true},
		{"none", "coap-tcp", nil, true},
		{"oscore", "coap", nil, true},
		{"oscore", "coap", on("confirmable", "off"), true},
		{"dtls-psk", "coap", nil, true},
		{"dtls-psk", "coap", on("confirmable", "off"), true},
		{"dtls-psk", "coap", on("connection_id", "on"), false},
		{"dtls-rpk", "coap", nil, false},
		{"dtls-rpk", "coap", on("connection_id", "on"), false},
		{"dtls-x509", "coap", nil, false},
		{"dtls-x509", "coap", on("connection_id", "on"), false},
	} {
		for _, pair := range []struct{ client, server string }{{"theirs", "theirs"}, {"ours", "theirs"}, {"theirs", "ours"}} {
			if pair.client != pair.server && !way.crossed {
				continue
			}
			t.Run(fmt.Sprintf("%s %s %v, %s asks %s", way.security, way.transport, way.options, pair.client, pair.server),
				func(t *testing.T) {
					srv, cl := server, client
					if pair.server == "ours" {
						srv = ours(t, way.transport, "serve")
					}
					if pair.client == "ours" {
						cl = ours(t, way.transport, "call")
					}
					exchange(t, srv, cl, stack.Serve{Service: "echo", Encoding: "protobuf", Security: way.security,
						Transport: way.transport, Host: "127.0.0.1",
						Limits: stack.Limits{Body: 1 << 20}, Credentials: credentials, Options: way.options}, 500_000, 3)
				})
		}
	}
}

// exchange has the client send requests of n, which both sides must count whole.
func exchange(t *testing.T, srv, cl *stack.Conn, s stack.Serve, n, requests int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ready, err := srv.Serve(ctx, s)
	if err != nil {
		t.Fatal("serve:", err)
	}
	if _, err := cl.Call(ctx, stack.Call{URL: ready.URL, Service: s.Service, Encoding: s.Encoding, Security: s.Security,
		Transport: s.Transport, Connection: "keep-alive",
		Message: stack.Message{Seed: 5, N: n}, Timeout: int64(time.Minute), Limits: s.Limits, Credentials: s.Credentials,
		Options: s.Options}); err != nil {
		t.Fatal("call:", err)
	}
	if _, err := cl.Run(ctx, stack.Run{Requests: requests, Record: true}, func(x measure.Exchange) {
		if x.Failure != "" || x.Out < int64(n) || x.In < int64(n) {
			t.Errorf("request %d: %d B out, %d B in, %s", x.Seq, x.Out, x.In, x.Failure)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if end, err := srv.Report(ctx, false, func(x measure.Exchange) {
		if x.In < int64(n) || x.Out < int64(n) {
			t.Errorf("the server has %d B in, %d B out", x.In, x.Out)
		}
	}); err != nil || end.Count != requests {
		t.Errorf("the server counts %d, %v; want %d", end.Count, err, requests)
	}
}

func argv(t *testing.T, p stack.Program) []string {
	t.Helper()
	a, err := p.Argv(0)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
