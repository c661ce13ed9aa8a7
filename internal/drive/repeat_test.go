package drive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// seen counts what a server saw of each request.
type seen struct {
	mu       sync.Mutex
	requests map[string]int // by body or path
	answered int
}

func (s *seen) total() (requests, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.requests {
		requests, most = requests+n, max(most, n)
	}
	return requests, most
}

// gave is how many requests were answered so far.
func (s *seen) gave() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// fifthResets answers four requests on each connection and resets it on the
// fifth, after having read it whole.
func fifthResets(t *testing.T) (string, *seen) {
	s := &seen{requests: map[string]int{}}
	return hostile(t, func(c net.Conn, _ int) {
		in := bufio.NewReader(c)
		for i := 1; ; i++ {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(r.Body)
			s.mu.Lock()
			s.requests[string(body)]++
			if i < 5 {
				s.answered++
			}
			s.mu.Unlock()
			if i == 5 {
				reset(c)
				return
			}
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	}), s
}

// What is not idempotent is never sent twice; what is, once more, and both the
// record and the server's own count say how often (RFC 9110, section 9.2.2).
func TestRequestsSentTwiceAreToldAndNeverPOST(t *testing.T) {
	for _, method := range []string{"GET", "PUT", "DELETE", "POST", "PATCH"} {
		for _, connection := range []string{KeepAlive, Pipelined} {
			for _, concurrency := range []int{1, 3} {
				url, server := fifthResets(t)
				const n = 100
				r, xs := drive(t, Spec{URL: url, Method: method, Connection: connection, Concurrency: concurrency},
					Load{Schedule: ClosedLoop(n, 0)}, numbered{})
				failed := 0
				for _, x := range xs {
					if x.Failure != "" {
						failed++
					}
				}
				what := fmt.Sprintf("%s, %s, concurrency %d", method, connection, concurrency)
				saw, most := server.total()
				idempotent := method == "GET" || method == "PUT" || method == "DELETE"
				switch {
				// else a reset may take answers along
				case n-failed != server.answered && (connection == KeepAlive || concurrency == 1):
					t.Errorf("%s: %d answers recorded, the server gave %d", what, n-failed, server.answered)
				case !idempotent && (most > 1 || r.Quality.Repetitions > 0 && connection == KeepAlive):
					t.Errorf("%s: the server saw a request %d times; %d repetitions told", what, most, r.Quality.Repetitions)
				case !idempotent && failed == 0:
					t.Errorf("%s: no failure, though every fifth request was never answered", what)
				case idempotent && saw != min(saw, n)+r.Quality.Repetitions && connection == KeepAlive:
					t.Errorf("%s: the server saw %d requests for %d; %d repetitions told", what, saw, n, r.Quality.Repetitions)
				case idempotent && connection == KeepAlive && (r.Quality.Repetitions < 10 || failed > 0):
					t.Errorf("%s: %d repetitions, %d failures", what, r.Quality.Repetitions, failed)
				case saw-len(server.requests) > r.Quality.Repetitions:
					t.Errorf("%s: the server saw %d requests again, %d were told", what, saw-len(server.requests),
						r.Quality.Repetitions)
				}
			}
		}
	}
}

// A run without records counts its requests and their failures, and says why the first failed: nobody else would
// know of them.
func TestFailuresOfAWarmUpAreCounted(t *testing.T) {
	for _, spec := range []Spec{{Connection: KeepAlive}, {Connection: PerRequest}, {Connection: KeepAlive, Concurrency: 3},
		{Connection: Pipelined}} {
		url, server := fifthResets(t)
		spec.URL, spec.Method = url, "POST"
		d, err := Dial(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, load := range []Load{{Schedule: ClosedLoop(100, 0)},
			{Schedule: ClosedLoop(0, 0), For: 50 * time.Millisecond}} {
			before := server.gave()
			r, err := d.Run(t.Context(), load, numbered{})
			if err != nil {
				t.Fatal(err)
			}
			n, failed, first := r.Ended()
			for load.For > 0 && n < 10 && load.For < time.Minute { // on a busy machine so few requests show nothing
				load.For *= 2
				before = server.gave()
				if r, err = d.Run(t.Context(), load, numbered{}); err != nil {
					t.Fatal(err)
				}
				n, failed, first = r.Ended()
			}
			if r.Len() != 0 || n < 5 || load.For == 0 && n != 100 {
				t.Errorf("%+v: %d records and %d requests", spec, r.Len(), n)
			}
			gave := server.gave() - before
			if n-failed > gave || (failed > 0) != (first != "") || spec.Connection == KeepAlive && failed == 0 {
				t.Errorf("%+v: %d of %d requests failed (%q); the server answered %d", spec, failed, n, first, gave)
			}
			if spec.Connection == PerRequest && failed > 0 {
				t.Errorf("%+v: %d failed: %s", spec, failed, first)
			}
		}
		d.Close()
	}
	url, _ := fifthResets(t)
	d, err := Dial(t.Context(), Spec{URL: url, Connection: PerRequest, Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(7, 0)}, doubting{})
	if n, failed, first := r.Ended(); err != nil || n != 7 || failed != 7 || first != "answer is not sorted" {
		t.Errorf("of wrong answers: %d of %d failed: %q, %v", failed, n, first, err)
	}
}

// doubting finds every answer wrong.
type doubting struct{ numbered }

func (doubting) Check(uint64) error { return errors.New("answer is not sorted") }

// A connection that was closed while idle is seen before anything is sent over
// it, also between runs: the request goes out once, whatever its method.
func TestIdleConnectionClosedIsSeenBeforeSending(t *testing.T) {
	for _, connection := range []string{KeepAlive, Pipelined} {
		for _, concurrency := range []int{1, 2} {
			s := &seen{requests: map[string]int{}}
			closed := make(chan bool, 10)
			url := hostile(t, func(c net.Conn, _ int) {
				in := bufio.NewReader(c)
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(r.Body)
				s.mu.Lock()
				s.requests[string(body)]++
				s.mu.Unlock()
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				c.Close()
				closed <- true
			})
			d, err := Dial(t.Context(), Spec{URL: url, Connection: connection, Concurrency: concurrency})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(1, 0), Record: true}, numbered{})
				if err != nil {
					t.Fatal(err)
				}
				for x := range r.Exchanges() {
					if x.Failure != "" || r.Quality.Repetitions != 0 {
						t.Errorf("%s, concurrency %d: %q, %d repetitions", connection, concurrency, x.Failure, r.Quality.Repetitions)
					}
				}
				<-closed
			}
			d.Close()
			if saw, _ := s.total(); saw != 3 {
				t.Errorf("%s, concurrency %d: the server saw %d requests for 3", connection, concurrency, saw)
			}
		}
	}
}

// The same over HTTP/2, whose server closes the connection on every fifth request.
func TestStreamsSentTwiceAreToldAndNeverPOST(t *testing.T) {
	const requests = 40
	type connKey struct{}
	for _, method := range []string{"GET", "POST"} {
		for _, connection := range []string{KeepAlive, Multiplexed} {
			for _, concurrency := range []int{1, 4} {
				s := &seen{requests: map[string]int{}}
				arrived := 0
				server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil { // the connection was closed for another request before this one was whole
						return
					}
					s.mu.Lock()
					s.requests[string(body)]++
					arrived++
					broken := arrived%5 == 0
					s.mu.Unlock()
					if broken {
						r.Context().Value(connKey{}).(net.Conn).Close()
						return
					}
					w.Write(body)
				}))
				server.Config.Protocols = new(http.Protocols)
				server.Config.Protocols.SetUnencryptedHTTP2(true)
				server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
					return context.WithValue(ctx, connKey{}, c)
				}
				server.Start()
				d, err := Dial(t.Context(), Spec{URL: server.URL, Protocol: HTTP2, Method: method, Connection: connection,
					Concurrency: concurrency})
				if err != nil {
					t.Fatal(err)
				}
				record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(requests, 0), Record: true}, numbered{})
				d.Close()
				server.Close()
				if err != nil || record.Len() != requests {
					t.Fatal(record, err)
				}
				all, most := s.total()
				if method == "POST" && most > 1 {
					t.Errorf("POST, %s, %d: one request was sent %d times", connection, concurrency, most)
				}
				if got := requests + record.Quality.Repetitions; all > got {
					t.Errorf("%s, %s, %d: the server saw %d requests, the record tells of %d", method, connection, concurrency,
						all, got)
				}
				if failed := failures(record); method == "POST" && failed == 0 {
					t.Errorf("POST, %s, %d: no request failed", connection, concurrency)
				}
			}
		}
	}
}

func failures(record *Record) (n int) {
	for x := range record.Exchanges() {
		if x.Failure != "" {
			n++
		}
	}
	return n
}

// Data that trickles does not keep a request alive beyond its timeout, however
// it is driven; nor does an answer without an end.
func TestTimeoutHoldsWhileDataTrickles(t *testing.T) {
	trickle := func(c net.Conn, _ int) {
		in := bufio.NewReader(c)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
		for range 20 {
			if _, err := io.WriteString(c, "x"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for _, connection := range []string{KeepAlive, PerRequest, Pipelined} {
		for _, concurrency := range []int{1, 3} {
			url := hostile(t, trickle)
			_, xs := driveWithin(t, 60*time.Millisecond, Spec{URL: url, Connection: connection, Concurrency: concurrency},
				Load{Schedule: ClosedLoop(3, 0)}, Fixed("x"))
			for i, x := range xs {
				pipelined := connection == Pipelined && i > 0 // only the oldest was waited for as long
				if !pipelined && x.Failure != "no response within 60ms" || x.Failure == "" || x.Done != 0 {
					t.Errorf("%s, concurrency %d, request %d: %q after %v", connection, concurrency, x.Seq, x.Failure, x.RTT())
				}
			}
		}
	}
}

// The same of HTTP/2 and 3: a stream that trickles, and one without an end.
func TestTimeoutsAndLimitsHoldOnStreams(t *testing.T) {
	t.Parallel()
	trickle := func(w http.ResponseWriter, r *http.Request) {
		for range 100 {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
			http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<12)); err != nil {
				return
			}
		}
	}
	const most = 1 << 18
	for _, protocol := range []string{HTTP2, HTTP3} {
		for _, connection := range []string{KeepAlive, PerRequest, Multiplexed} {
			for _, concurrency := range []int{1, 3} {
				for _, tt := range []struct {
					what, want string
					handler    http.HandlerFunc
					timeout    time.Duration
				}{
					{"trickling", "no response within 250ms", trickle, 250 * time.Millisecond},
					{"endless", "response: body larger than 256 KiB", endless, 20 * time.Second},
				} {
					spec := Spec{Protocol: protocol, Connection: connection, Concurrency: concurrency, MostBody: most,
						Timeout: time.Minute} // to connect
					if protocol == HTTP2 {
						server, _ := http2Server(t, false, tt.handler)
						spec.URL = server.URL
					} else {
						spec.URL, spec.Credentials = http3Server(t, tt.handler)
					}
					d, err := Dial(t.Context(), spec)
					if err != nil {
						t.Fatal(protocol, connection, err)
					}
					d.Timeout = tt.timeout
					record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(3, 0), Record: true}, Fixed("x"))
					d.Close()
					if err != nil || record.Len() != 3 {
						t.Fatal(protocol, connection, record, err)
					}
					for x := range record.Exchanges() {
						if !strings.HasSuffix(x.Failure, tt.want) || x.Done != 0 {
							t.Errorf("%s, %s, concurrency %d, %s, request %d: %q after %v", protocol, connection, concurrency, tt.what,
								x.Seq,
								x.Failure, x.RTT())
						}
					}
				}
			}
		}
	}
}

// What a server of HTTP/3 has rejected unprocessed goes again, once, as over HTTP/2.
func TestRejectedRequestsGoAgain(t *testing.T) {
	for _, connection := range []string{KeepAlive, Multiplexed} {
		var asked atomic.Int32
		url, credentials := http3Server(t, func(w http.ResponseWriter, _ *http.Request) {
			if n := asked.Add(1); n != 3 && n < 7 {
				return
			}
			s, err := w.(http3.HTTPStreamer).HTTPStream()
			if err != nil {
				t.Error(err)
				return
			}
			s.CancelRead(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
			s.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestRejected))
		})
		record, xs := drive(t, Spec{URL: url, Protocol: HTTP3, Connection: connection, Credentials: credentials,
			Timeout: 20 * time.Second}, Load{Schedule: ClosedLoop(6, 0)}, Fixed("x"))
		for i, x := range xs {
			if want := map[int]string{5: "HTTP/3: the stream was reset by the server with H3_REQUEST_REJECTED"}[i]; x.Failure != want {
				t.Errorf("%s: request %d: %q, want %q", connection, x.Seq, x.Failure, want)
			}
		}
		if asked.Load() != 8 || record.Quality.Repetitions != 2 {
			t.Errorf("%s: %d arrived, %d sent again, want 8 and 2", connection, asked.Load(), record.Quality.Repetitions)
		}
	}
}

// http3Server is quic-go's, with the certificate of net/http's tests.
func http3Server(t *testing.T, h http.HandlerFunc) (url string, c Credentials) {
	t.Helper()
	tlsServer, c := http2Server(t, true, h)
	return http3Of(t, tlsServer, c)
}

// http3Of serves what a server serves over TLS.
func http3Of(t *testing.T, s *httptest.Server, c Credentials) (url string, _ Credentials) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	server := &http3.Server{Handler: s.Config.Handler, TLSConfig: http3.ConfigureTLSConfig(s.TLS)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(conn) }()
	t.Cleanup(func() { server.Close(); conn.Close(); <-served })
	return "https://" + conn.LocalAddr().String(), c
}

// An endless body ends at the limit asked for, not at all the memory there is.
func TestBodyEndsAtTheLimitAskedFor(t *testing.T) {
	for name, head := range map[string]string{
		"until close": "HTTP/1.1 200 OK\r\n\r\n",
		"announced":   "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n",
		"chunked":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		for _, connection := range []string{KeepAlive, Pipelined} {
			for _, concurrency := range []int{1, 2} {
				url := hostile(t, func(c net.Conn, _ int) {
					in := bufio.NewReader(c)
					if !answer(c, in, head) {
						return
					}
					piece := strings.Repeat("x", 1<<12)
					if name == "chunked" {
						piece = "1000\r\n" + piece + "\r\n"
					}
					for {
						if _, err := io.WriteString(c, piece); err != nil {
							return
						}
					}
				})
				_, xs := drive(t, Spec{URL: url, Connection: connection, Concurrency: concurrency, MostBody: 1 << 20},
					Load{Schedule: ClosedLoop(2, 0)}, Fixed("x"))
				if want := "response: body larger than 1 MiB"; xs[0].Failure != want {
					t.Errorf("%s, %s, concurrency %d: %q, want %q", name, connection, concurrency, xs[0].Failure, want)
				}
			}
		}
	}
}
