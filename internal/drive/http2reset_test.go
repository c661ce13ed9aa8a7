package drive

import (
	"encoding/binary"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// counting counts the connections that a server takes.
func counting(n *atomic.Int32) func(*http.Server) {
	return func(s *http.Server) {
		s.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				n.Add(1)
			}
		}
	}
}

// A server that resets the stream of a request fails that request alone: the others go over the same connection.
func TestAResetFailsOneRequestAlone(t *testing.T) {
	for _, tt := range []struct {
		secure      bool
		connection  string
		concurrency int
		connections int32
	}{
		{false, KeepAlive, 1, 1}, {false, KeepAlive, 3, 3}, {true, KeepAlive, 1, 1}, {true, KeepAlive, 3, 3},
		{false, Multiplexed, 3, 1}, {false, PerRequest, 1, 40},
	} {
		for _, pad := range []int{0, 3000} { // 3000: a body that the server has not read when it resets the stream
			var asked, made atomic.Int32
			server, credentials := http2Server(t, tt.secure, func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1)%5 == 0 {
					panic(http.ErrAbortHandler) // net/http resets the stream
				}
				echo(w, r)
			}, counting(&made))
			d, err := Dial(t.Context(), Spec{URL: server.URL, Protocol: HTTP2, Connection: tt.connection,
				Concurrency: tt.concurrency, Credentials: credentials, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(40, 0), Record: true}, numbered{pad})
			d.Close()
			if err != nil {
				t.Fatal(err)
			}
			failed := 0
			for x := range record.Exchanges() {
				if x.Failure != "" {
					failed++
				}
				if x.Failure != "" && !strings.Contains(x.Failure, "the stream was reset by the server with code 2") {
					t.Errorf("%+v: request %d: %s", tt, x.Seq, x.Failure)
				}
			}
			if got := made.Load(); failed != 8 || asked.Load() != 40 || got != tt.connections ||
				record.Quality.Reconnects != 0 {
				t.Errorf("%+v, pad %d: %d of %d requests failed, over %d connections, %d made anew", tt, pad, failed,
					asked.Load(), got, record.Quality.Reconnects)
			}
		}
	}
}

// What the server refuses goes again over the same connection, once, and what it always refuses fails. After a reset
// and a GOAWAY the next request finds another connection, and so it does after any other fault.
func TestWhatFollowsAReset(t *testing.T) {
	reset := func(stream, code uint32) []byte {
		return binary.BigEndian.AppendUint32(appendFrame(nil, 4, frameReset, 0, stream), code)
	}
	body := func(stream uint32, n int) []byte {
		b := append(appendFrame(nil, 1, frameHeaders, flagEndHeaders, stream), 0x88)
		return append(appendFrame(b, n, frameData, 0, stream), make([]byte, n)...)
	}
	for _, tt := range []struct {
		what                                string
		says                                func(stream uint32) []byte
		failures, again, connections, asked int32
	}{
		{"refuses each other stream", func(s uint32) []byte {
			if s%4 == 3 {
				return reset(s, resetRefused)
			}
			return http2OK(s)
		}, 0, 9, 1, 19},
		{"refuses all", func(s uint32) []byte { return reset(s, resetRefused) }, 10, 10, 1, 20},
		{"refuses in mid-response", func(s uint32) []byte { return append(body(s, 1), reset(s, resetRefused)...) },
			10, 0, 1, 10},
		{"resets, and goes away", func(s uint32) []byte {
			b := binary.BigEndian.AppendUint32(appendFrame(reset(s, 2), 8, frameGoAway, 0, 0), s)
			return binary.BigEndian.AppendUint32(b, 0)
		}, 10, 0, 10, 10},
		{"sends too much", func(s uint32) []byte { return body(s, 100) }, 10, 0, 1, 10},
		{"sends too much, and a trailer", func(s uint32) []byte { // the reason is the first: what is not read is not lacking
			b := append(appendFrame(nil, 7, frameHeaders, flagEndHeaders, s), 0x88, 0x0f, 0x0d, 3, '1', '0', '0')
			b = append(appendFrame(b, 100, frameData, 0, s), make([]byte, 100)...)
			return append(appendFrame(b, 5, frameHeaders, flagEndHeaders|flagEndStream, s), 0, 1, 'x', 1, 'y')
		}, 10, 0, 1, 10},
		{"is at fault", func(s uint32) []byte { return appendFrame(nil, 0, framePush, 0, s) }, 10, 0, 10, 10},
	} {
		for _, s := range []Spec{{Concurrency: 1}, {Concurrency: 2}} {
			var asked, connections atomic.Int32
			s.URL = http2Peer(t, func(conn net.Conn, number int, stream uint32) {
				asked.Add(1)
				if number >= int(connections.Load()) {
					connections.Store(int32(number) + 1)
				}
				conn.Write(tt.says(stream))
			})
			s.Protocol, s.Method, s.MostBody, s.Timeout = HTTP2, "POST", 99, time.Minute
			why, record := failing(t, s, 10)
			failed := int32(len(why))
			for _, w := range why {
				if w == "" {
					failed--
				}
				if w != "" && strings.Contains(tt.what, "too much") && !strings.Contains(w, "body larger than") {
					t.Errorf("a server that %s: %q", tt.what, w)
				}
			}
			if s.Concurrency == 2 { // which connection asks how often is chance
				if got := connections.Load(); failed != tt.failures || (got <= 2) != (tt.connections == 1) {
					t.Errorf("a server that %s, 2 connections: %d failed, over %d", tt.what, failed, got)
				}
				continue
			}
			if failed != tt.failures || int32(record.Quality.Repetitions) != tt.again ||
				connections.Load() != tt.connections || asked.Load() != tt.asked {
				t.Errorf("a server that %s: %d failed, %d went again, over %d connections, %d asked: %q", tt.what,
					failed, record.Quality.Repetitions, connections.Load(), asked.Load(), why)
			}
		}
	}
}

// The same of HTTP/3, where a request has a stream, too.
func TestHTTP3ResetFailsOneRequestAlone(t *testing.T) {
	var asked atomic.Int32
	url, credentials := http3Server(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1)%5 == 0 {
			panic(http.ErrAbortHandler)
		}
		echo(w, r)
	})
	why, record := failing(t, Spec{URL: url, Protocol: HTTP3, Credentials: credentials}, 40)
	failed := 0
	for _, w := range why {
		if w != "" {
			failed++
		}
	}
	if failed != 8 || record.Quality.Reconnects != 0 {
		t.Errorf("%d of 40 requests failed, %d connections made anew: %q", failed, record.Quality.Reconnects, why)
	}
}
