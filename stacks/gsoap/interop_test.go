package gsoap_test

import (
	"path/filepath"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

// What both have of WS-Security, gSOAP's plugin and CXF's WSS4J understand of each
// other, requests and responses, in both versions of SOAP. The judgement of either
// stays as strict as the conformance kit wants it.
func TestCrossesCXF(t *testing.T) {
	cxf := stacktest.Built(t, filepath.Join("..", "cxf-jaxws"))
	stacktest.Built(t, ".")
	c := credentials(t)
	start := func(t *testing.T, p stack.Program) *stack.Conn {
		argv, err := p.Argv(0)
		if err != nil {
			t.Fatal(err)
		}
		return stacktest.Start(t, cxf.Dir, argv...)
	}
	// asked anew for each level, since they take seconds to start
	server, client := start(t, cxf.Serve), start(t, cxf.Call)
	ours := func(t *testing.T, verb string) *stack.Conn { return stacktest.Start(t, "", "build/gsoap", verb) }
	for _, level := range []string{"none", "wss-username", "wss-rsa"} {
		for _, encoding := range []string{"soap11", "soap12"} {
			s := stack.Serve{Service: "monitor", Encoding: encoding, Security: level, Credentials: c, Transport: "http",
				Host: "127.0.0.1", Limits: stack.Limits{Body: 1e6}}
			t.Run("gSOAP asks CXF "+level+" "+encoding, func(t *testing.T) { cross(t, s, server, ours(t, "call")) })
			t.Run("CXF asks gSOAP "+level+" "+encoding, func(t *testing.T) { cross(t, s, ours(t, "serve"), client) })
		}
	}
}

// cross has a client ask a server, and wants every answer right.
func cross(t *testing.T, s stack.Serve, server, client *stack.Conn) {
	t.Helper()
	ready, err := server.Serve(within(t), s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Call(within(t), stack.Call{URL: ready.URL, Service: s.Service, Encoding: s.Encoding,
		Security: s.Security, Transport: s.Transport,
		Message: stack.Message{Seed: 7}, Connection: "keep-alive", Timeout: int64(20 * time.Second), Limits: s.Limits,
		Credentials: s.Credentials})
	if err != nil {
		t.Fatal(err)
	}
	const requests = 4
	answered := 0
	_, err = client.Run(within(t), stack.Run{Requests: requests, Record: true, Concurrency: 1}, func(x measure.Exchange) {
		if x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
			return
		}
		answered++
	})
	if err != nil || answered != requests {
		t.Errorf("%d of %d answers, %v", answered, requests, err)
	}
}
