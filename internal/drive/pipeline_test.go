package drive

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func runPipelined(t *testing.T, url string, inFlight int, load Load, call Call) *Record {
	t.Helper()
	return runPipelinedWithin(t, 0, url, inFlight, load, call)
}

// runPipelinedWithin is runPipelined whose requests have that timeout.
func runPipelinedWithin(t *testing.T, patience time.Duration, url string, inFlight int, load Load, call Call) *Record {
	t.Helper()
	d, err := Dial(t.Context(), Spec{URL: url, Connection: Pipelined, Concurrency: inFlight, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if patience > 0 {
		d.Timeout = patience
	}
	record, err := d.Run(t.Context(), load, call)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestPipelineAgainstNetHTTP(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for _, path := range []string{"/", "/?chunked"} {
		for _, inFlight := range []int{1, 8} {
			for _, schedule := range []Schedule{ClosedLoop(200, 0), Constant(2000, 200, 0)} {
				connections.Store(0)
				record := runPipelined(t, server.URL+path, inFlight, Load{Schedule: schedule, Record: true}, numbered{pad: 50})
				if n := connections.Load(); n != 1 || record.Len() != 200 {
					t.Errorf("%d in flight: %d connections, %d exchanges", inFlight, n, record.Len())
				}
				for x := range record.Exchanges() {
					if x.Failure != "" || x.RTT() <= 0 {
						t.Errorf("%s, %d in flight: %+v", path, inFlight, x)
						break
					}
				}
			}
		}
	}
}

// What chunks cost beside the body is no part of it, on connections of any kind.
func TestSmallChunksOnAnyConnection(t *testing.T) {
	const size = 50_000
	answer := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;padding\r\nx\r\n", size) +
		"0\r\n\r\n"
	url := hostile(t, func(c net.Conn, _ int) {
		for in := bufio.NewReader(c); ; {
			if r, err := http.ReadRequest(in); err != nil {
				return
			} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			io.WriteString(c, answer)
		}
	})
	for _, spec := range []Spec{{}, {Concurrency: 2}, {Connection: Pipelined}, {Connection: Pipelined, Concurrency: 3}} {
		spec.URL, spec.MostBody = url, size
		_, xs := driveWithin(t, 0, spec, Load{Schedule: ClosedLoop(4, 0)}, Fixed("x"))
		for _, x := range xs {
			if x.Failure != "" || x.In != size {
				t.Errorf("%+v: request %d: %d of %d bytes: %q", spec, x.Seq, x.In, size, x.Failure)
			}
		}
	}
}

// A server that reads all requests before it answers any can only be served by a pipeline.
func TestPipelineDoesNotWait(t *testing.T) {
	const inFlight = 5
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		r := bufio.NewReader(conn)
		for {
			var answers strings.Builder
			for range inFlight {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(req.Body)
				fmt.Fprintf(&answers, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			}
			io.WriteString(conn, answers.String())
		}
	}()
	record := runPipelined(t, "http://"+l.Addr().String(), inFlight,
		Load{Schedule: ClosedLoop(20*inFlight, 0), Record: true}, numbered{pad: 3})
	for x := range record.Exchanges() {
		if x.Failure != "" {
			t.Fatalf("%+v", x)
		}
	}
}

// What a closing server did not answer is asked again, in order and once each.
func TestPipelineGoesOnAfterAClose(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1)%7 != 0 {
			echo(w, r)
			return
		}
		// Closed at once, with requests that it has not read, the kernel would reset the connection, and the
		// answer could be lost with it.
		body, _ := io.ReadAll(r.Body)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}))
	defer server.Close()
	record := runPipelined(t, server.URL, 4, Load{Schedule: ClosedLoop(100, 0), Record: true}, numbered{pad: 2})
	for x := range record.Exchanges() {
		if x.Failure != "" {
			t.Errorf("%+v", x)
		}
	}
	if n := record.Quality.Reconnects; served.Load() != 100 || n < 13 || n > 14 {
		t.Errorf("%d requests served, %d connections made anew; want 100 and one for every seventh", served.Load(), n)
	}
}

func TestPipelineFailures(t *testing.T) {
	answer := map[string]string{
		"no response within 200ms":          "",
		"connection closed in mid-response": "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
		"connection closed before":          "close",
		"unexpected bytes before": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 " +
			"OK\r\nContent-Length: 0\r\n\r\n",
		"response: no HTTP/1 status line": "gibberish\r\n\r\n",
	}
	for want, bytes := range answer {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
						return
					}
					if bytes == "" {
						<-t.Context().Done() // it never answers
					} else if bytes != "close" {
						io.WriteString(conn, bytes)
					}
				}()
			}
		}()
		patience := time.Minute
		if bytes == "" {
			patience = 200 * time.Millisecond
		}
		record := runPipelinedWithin(t, patience, "http://"+l.Addr().String(), 1,
			Load{Schedule: ClosedLoop(1, 0), Record: true}, Fixed("x"))
		l.Close()
		for x := range record.Exchanges() {
			if unasked := strings.HasPrefix(want, "unexpected bytes"); unasked != (x.Failure == "") || !unasked &&
				!strings.Contains(x.Failure, want) {
				t.Errorf("got %q, want %q", x.Failure, want)
			}
		}
	}
}

// early sends a body of 32 MiB with its first request, and then its number; it wants "early", and its number back.
type early struct{}

func (early) Encode(seq uint64, buf []byte) ([]byte, error) {
	if seq == 1 {
		return append(buf, make([]byte, 32<<20)...), nil
	}
	return fmt.Append(buf, seq), nil
}

func (early) Decode(seq uint64, status int, body []byte) error {
	want := fmt.Sprint(seq)
	if seq == 1 {
		want = "early"
	}
	if status != 200 || string(body) != want {
		return fmt.Errorf("status %d, %q, want %q", status, body, want)
	}
	return nil
}

// A server answers before it has read all of a request, and goes on. The requests behind it get their own answers.
func TestPipelineAnsweredBeforeAllWasSent(t *testing.T) {
	url := hostile(t, func(c net.Conn, _ int) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.ContentLength > 1<<20 {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
				time.Sleep(50 * time.Millisecond)
				io.Copy(io.Discard, r.Body)
				continue
			}
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
	})
	record := runPipelined(t, url, 3, Load{Schedule: ClosedLoop(6, 0), Record: true}, early{})
	for x := range record.Exchanges() {
		if x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
		}
	}
	if q := record.Quality; q.Reconnects != 1 || q.Repetitions != 0 {
		t.Errorf("%d connections made anew, %d requests sent twice, want 1 and 0", q.Reconnects, q.Repetitions)
	}
}

// A connection that requests share and wait for is in their connection, not in their RTT.
func TestSharedConnectionIsNotInTheRTT(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(echo))
	defer plain.Close()
	streams, _ := http2Server(t, false, echo)
	for _, s := range []Spec{{URL: plain.URL, Connection: Pipelined}, {URL: streams.URL, Connection: Multiplexed,
		Protocol: HTTP2}} {
		s.Concurrency = 3
		d, err := Dial(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(d.lanes[0].fd)
		d.lanes[0].fd = -1
		record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(6, 0), Record: true}, numbered{1})
		d.Close()
		if err != nil {
			t.Fatal(err)
		}
		xs := slices.Collect(record.Exchanges())
		sound(t, xs)
		for _, x := range xs {
			waits := x.Seq == 1 || x.Seq <= 3 && s.Connection == Multiplexed
			if (x.Connection > 0) != waits || x.Connection+x.Serialization+x.RTT()+x.Deserialization > x.Total {
				t.Errorf("%s: %+v", s.Connection, x)
			}
		}
	}
}
