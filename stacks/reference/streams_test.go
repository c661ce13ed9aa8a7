package reference

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/url"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// On one connection all requests are in flight that a study asks for, and none waits at the client for a stream. The
// first run hears how many the server takes.
func TestHTTP2TakesAllStreams(t *testing.T) {
	const inFlight = 600 // net/http itself takes 250
	k, _ := find("http2")
	srv, err := serveHTTP(&program{kind: k, log: log.New(io.Discard, "", 0)}, stack.Serve{Service: "echo",
		Encoding: "json", Host: "127.0.0.1", Limits: stack.Limits{Body: 100_000}})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.close()
	d, err := drive.Dial(t.Context(), drive.Spec{URL: srv.url(), Protocol: drive.HTTP2, ContentType: "application/json",
		Connection: drive.Multiplexed, Concurrency: inFlight, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := &caller{name: service.Echo, encoding: codec.JSON}
	service.Make(service.Echo, 7, 10, service.Width{}, &c.request)
	if c.check, err = service.NewChecker(service.Echo, &c.request); err != nil {
		t.Fatal(err)
	}
	for _, recorded := range []bool{false, true} {
		record, err := d.Run(t.Context(), drive.Load{Schedule: drive.ClosedLoop(2*inFlight, 0), Record: recorded}, c)
		if err != nil {
			t.Fatal(err)
		}
		if n, failed, first := record.Ended(); n != 2*inFlight || failed > 0 {
			t.Fatalf("%d requests, %d failed: %s", n, failed, first)
		}
		for x := range record.Exchanges() {
			if x.Connection > 0 {
				t.Fatalf("request %d waited for %v", x.Seq, x.Connection)
			}
		}
	}
}

func TestHTTP3TakesAllStreams(t *testing.T) {
	const inFlight = 300 // quic-go itself takes 100
	srv, _ := http3Serve(t)
	u, err := url.Parse(srv.url())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := quic.DialAddr(ctx, u.Host, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseWithError(0x100, "")
	for i := range inFlight {
		if _, err := conn.OpenStream(); err != nil {
			t.Fatalf("stream %d: %v", i+1, err)
		}
	}
}
