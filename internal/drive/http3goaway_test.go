package drive

import (
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// goAwayServer speaks just enough of HTTP/3 to say on its first connection, with the third request, that it takes no
// more there (GOAWAY). It answers the first request only when ten have come on the second connection.
func goAwayServer(t *testing.T) (url string, c Credentials, connections *atomic.Int32) {
	t.Helper()
	tlsServer, c := http2Server(t, true, nil)
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	transport := &quic.Transport{Conn: socket}
	l, err := transport.Listen(http3.ConfigureTLSConfig(tlsServer.TLS), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); transport.Close(); socket.Close() })
	connections = new(atomic.Int32)
	var second atomic.Int32 // requests
	enough := make(chan struct{})
	answer := func(s *quic.Stream, control *quic.SendStream, connection, request int32) {
		_, _ = io.Copy(io.Discard, s)
		switch {
		case connection == 1 && request == 1:
			select {
			case <-enough:
			case <-t.Context().Done():
			}
		case connection == 1 && request == 3:
			_, _ = control.Write([]byte{0x07, 2, 0x50, 0}) // GOAWAY: of no stream from 4096 on
		case connection == 2 && second.Add(1) == 10:
			close(enough)
		}
		_, _ = s.Write([]byte{0x01, 3, 0, 0, 0xd9, 0x00, 2, 'o', 'k'}) // HEADERS: :status 200; DATA
		s.Close()
	}
	serve := func(conn *quic.Conn, connection int32) {
		control, err := conn.OpenUniStream()
		if err == nil {
			_, err = control.Write([]byte{0x00, 0x04, 0}) // a control stream, and no SETTINGS of ours
		}
		for request := int32(1); err == nil; request++ {
			var s *quic.Stream
			if s, err = conn.AcceptStream(t.Context()); err == nil {
				go answer(s, control, connection, request)
			}
		}
	}
	go func() {
		for {
			conn, err := l.Accept(t.Context())
			if err != nil {
				return
			}
			go serve(conn, connections.Add(1))
		}
	}()
	return "https://" + socket.LocalAddr().String(), c, connections
}

// After a GOAWAY requests go over another connection, also while some are in flight on the old one, and those are still
// answered (RFC 9114, section 5.2).
func TestHTTP3GoAwayWhileOthersAreInFlight(t *testing.T) {
	url, credentials, connections := goAwayServer(t)
	record, xs := drive(t, Spec{URL: url, Protocol: HTTP3, Connection: Multiplexed, Concurrency: 4,
		Credentials: credentials, Timeout: 20 * time.Second}, Load{Schedule: ClosedLoop(500, 0)}, Fixed("x"))
	failed := map[string]int{}
	for _, x := range xs {
		if x.Failure != "" {
			failed[x.Failure]++
		}
	}
	if len(xs) != 500 || len(failed) > 0 {
		t.Errorf("%d requests, and failed: %v", len(xs), failed)
	}
	if q := record.Quality; connections.Load() != 2 || q.Reconnects != 1 || q.Repetitions != 0 {
		t.Errorf("%d connections, %d made anew; %d requests sent again, want none: they were not sent", connections.Load(),
			q.Reconnects, q.Repetitions)
	}
}

// What a connection that all share takes to be made anew is no part of an RTT, as over HTTP/2.
func TestHTTP3ConnectsAnewOutsideTheRTT(t *testing.T) {
	url, credentials, connections := goAwayServer(t)
	d, err := Dial(t.Context(), Spec{URL: url, Protocol: HTTP3, Connection: Multiplexed, Concurrency: 3,
		Credentials: credentials, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	// A connection that is closed before the server has taken it is none to the server, which says GOAWAY on its first.
	for end := time.Now().Add(20 * time.Second); connections.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	d.quic.close() // it breaks between two runs
	record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(12, 0), Record: true}, Fixed("x"))
	if err != nil {
		t.Fatal(err)
	}
	xs, connected := slices.Collect(record.Exchanges()), 0
	sound(t, xs)
	for _, x := range xs {
		if x.Connection > 0 {
			connected++
		}
		if x.Connection+x.Serialization+x.RTT()+x.Deserialization > x.Total {
			t.Errorf("request %d: %+v", x.Seq, x)
		}
	}
	if connected < 1 || connected > 3 || record.Quality.Reconnects != 1 || connections.Load() != 2 {
		t.Errorf("%d requests waited for a connection, want 1 to 3, one of each lane; %d were made anew, %d in all", connected,
			record.Quality.Reconnects, connections.Load())
	}
}

// A server may answer before it has read a request, and read it later: that takes nothing of the next request's body.
func TestHTTP3AnswerBeforeTheBody(t *testing.T) {
	tlsServer, credentials := http2Server(t, true, nil)
	l, err := quic.ListenAddr("127.0.0.1:0", http3.ConfigureTLSConfig(tlsServer.TLS), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const size = 2 << 20 // B, more than a stream may have on its way to one who reads nothing
	second := make(chan int64, 1)
	go func() {
		conn, err := l.Accept(t.Context())
		if err != nil {
			return
		}
		if control, err := conn.OpenUniStream(); err == nil {
			_, _ = control.Write([]byte{0x00, 0x04, 0}) // a control stream, and no SETTINGS of ours
		}
		answer := func(s *quic.Stream) {
			_, _ = s.Write([]byte{0x01, 3, 0, 0, 0xd9, 0x00, 2, 'o', 'k'}) // HEADERS: :status 200; DATA
			s.Close()
		}
		a, err := conn.AcceptStream(t.Context())
		if err != nil {
			return
		}
		answer(a)
		b, err := conn.AcceptStream(t.Context())
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, a)
		n, _ := io.Copy(io.Discard, b)
		second <- n
		answer(b)
	}()
	_, xs := drive(t, Spec{URL: "https://" + l.Addr().String(), Protocol: HTTP3, Credentials: credentials,
		Timeout: 20 * time.Second}, Load{Schedule: ClosedLoop(2, 0)}, Fixed(make([]byte, size)))
	sound(t, xs)
	if n := <-second; n < size {
		t.Errorf("of the second request's body, of %d bytes, %d have come", size, n)
	}
}
