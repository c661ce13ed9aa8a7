package coap

import (
	"net/netip"
	"testing"
)

// BenchmarkServerExchange is the server's part of a small exchange, without the socket.
func BenchmarkServerExchange(b *testing.B) {
	ep := (&Server{Handler: echo}).endpoint(nil)
	t := newTask(udpRoom)
	t.from = ep.peerOf(netip.MustParseAddrPort("127.0.0.1:1"), 0)
	x := NewClientExchange(Params{}, 1)
	call := &Call{Method: POST, Path: "echo", Format: CBOR, Body: pattern(100)}
	b.ReportAllocs()
	for b.Loop() {
		x.Start(call, 0)
		if ep.begin(t, x.Next(), 0) {
			ep.handler(&t.req, &t.resp)
			ep.finish(t, 0)
		}
		x.Receive(t.wire, 0)
		if !x.Done() {
			b.Fatal("no answer")
		}
	}
}

// BenchmarkExchangeUDP is a whole small exchange over loopback, both ends in this process.
func BenchmarkExchangeUDP(b *testing.B) {
	c, err := Dial(start(b, &Server{Handler: echo}, "127.0.0.1"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	call := &Call{Method: POST, Path: "echo", Format: CBOR, Body: pattern(100)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Do(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBlockwise500K is a body of 500 kB up and down again over loopback.
func BenchmarkBlockwise500K(b *testing.B) {
	c, err := Dial(start(b, &Server{Handler: echo}, "127.0.0.1"))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	call := &Call{Method: POST, Path: "echo", Body: pattern(500_000)}
	b.SetBytes(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Do(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
