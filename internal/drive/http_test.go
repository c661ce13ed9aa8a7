package drive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// numbered sends its number and wants it back, with padding of growing size.
type numbered struct{ pad int }

func (n numbered) Encode(seq uint64, buf []byte) ([]byte, error) {
	buf = fmt.Appendf(buf, "%d:", seq)
	return append(buf, strings.Repeat("p", int(seq)*n.pad)...), nil
}

func (n numbered) Decode(seq uint64, status int, body []byte) error {
	want, _ := n.Encode(seq, nil)
	if status != 200 || !bytes.Equal(body, want) {
		return fmt.Errorf("status %d, %d bytes, want %d", status, len(body), len(want))
	}
	return nil
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.URL.Query().Has("chunked") {
		for len(body) > 0 {
			n := min(len(body), 100)
			w.Write(body[:n])
			w.(http.Flusher).Flush()
			body = body[n:]
		}
		return
	}
	w.Write(body)
}

func TestHTTPAgainstNetHTTP(t *testing.T) {
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
		for _, connection := range []string{KeepAlive, PerRequest} {
			for _, concurrency := range []int{1, 4} {
				connections.Store(0)
				s := Spec{URL: server.URL + path, Connection: connection, Concurrency: concurrency}
				r, xs := drive(t, s, Load{Schedule: ClosedLoop(100, 0)}, numbered{pad: 300})
				what := fmt.Sprintf("%s, %s, concurrency %d", path, connection, concurrency)
				sound(t, xs)
				want := int64(concurrency)
				if connection == PerRequest {
					want = 100
				}
				if got := connections.Load(); len(xs) != 100 || got != want || r.Quality.Reconnects != 0 {
					t.Errorf("%s: got %d exchanges on %d connections with %d reconnects; want 100 on %d with 0",
						what, len(xs), got, r.Quality.Reconnects, want)
				}
				if x := xs[9]; x.Out != 3003 || x.In != 3003 {
					t.Errorf("%s: request 10 counts %d bytes out, %d in; want 3003 each", what, x.Out, x.In)
				}
			}
		}
	}
}

// Bodies beyond every socket buffer: short writes, many reads.
func TestHTTPLargeBodies(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	for _, concurrency := range []int{1, 2} {
		_, xs := drive(t, Spec{URL: server.URL, Concurrency: concurrency}, Load{Schedule: ClosedLoop(3, 0)},
			numbered{pad: 4 << 20})
		sound(t, xs)
		if x := xs[2]; x.Out != 12<<20+2 || x.In != x.Out {
			t.Errorf("concurrency %d: %d bytes out, %d in", concurrency, x.Out, x.In)
		}
	}
}

func TestHTTPRequest(t *testing.T) {
	seen := make(chan string, 1) // Subtle: raw system calls order nothing for the race detector
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- fmt.Sprintf("%s %s %s|%s|%s|%s|%d %v|%s", r.Method, r.URL, r.Host, r.Header.Get("Content-Type"),
			r.Header.Get("Accept"),
			r.Header.Get("X-Y"), r.ContentLength, r.Close, body)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, c := range []struct {
		spec Spec
		body string
		want string
	}{
		{Spec{URL: server.URL + "/a%20b?c=d", ContentType: "text/x", Accept: "text/y", Header: []string{"X-Y: z"}}, "hello",
			"POST /a%20b?c=d " + host + "|text/x|text/y|z|5 false|hello"},
		{Spec{URL: server.URL, Method: "GET", ContentType: "text/x"}, "", "GET / " + host + "||||0 false|"},
		{Spec{URL: server.URL, Method: "POST", Connection: PerRequest}, "", "POST / " + host + "||||0 true|"},
		{Spec{URL: server.URL, Method: "HEAD"}, "", "HEAD / " + host + "||||0 false|"},
	} {
		_, xs := drive(t, c.spec, Load{Schedule: ClosedLoop(1, 0)}, Fixed(c.body))
		sound(t, xs)
		if got := <-seen; got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// answer reads a request whole and writes each part after a moment.
func answer(c net.Conn, in *bufio.Reader, parts ...string) bool {
	r, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	io.Copy(io.Discard, r.Body)
	for i, p := range parts {
		if i > 0 {
			time.Sleep(time.Millisecond)
		}
		if _, err := io.WriteString(c, p); err != nil {
			return false
		}
	}
	return true
}

func reset(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }

func TestHostileHTTPServers(t *testing.T) {
	forever := func(parts ...string) func(net.Conn, int) {
		return func(c net.Conn, _ int) {
			for in := bufio.NewReader(c); answer(c, in, parts...); {
			}
		}
	}
	for name, c := range map[string]struct {
		serve      func(c net.Conn, before int)
		want       string // failure of every request
		reconnects int    // of 4 requests
	}{
		"byte by byte": {forever(strings.Split(ok, "")...), "", 0},
		"closes, and says so": {func(c net.Conn, _ int) {
			answer(c, bufio.NewReader(c), "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		}, "", 3},
		"closes without a word": {func(c net.Conn, _ int) { answer(c, bufio.NewReader(c), ok) }, "", 3},
		"body until close": {func(c net.Conn, _ int) { answer(c, bufio.NewReader(c), "HTTP/1.0 200 OK\r\n\r\no", "k") },
			"", 3},
		"resets between": {func(c net.Conn, _ int) {
			answer(c, bufio.NewReader(c),
				ok)
			time.Sleep(time.Millisecond)
			reset(c)
		}, "", 3},
		"says more than asked": {forever(ok + "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"), "", 3},
		"resets in mid-response": {func(c net.Conn, _ int) {
			answer(c, bufio.NewReader(c), "HTTP/1.1 200 OK\r\nCont")
			time.Sleep(5 * time.Millisecond)
			reset(c)
		}, "connection reset in mid-response", 3},
		"closes in mid-response": {func(c net.Conn, _ int) {
			answer(c, bufio.NewReader(c), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")
		}, "connection closed in mid-response", 3},
		"closes without answer": {func(c net.Conn, _ int) { answer(c, bufio.NewReader(c)) },
			"connection closed before a response", 3},
		"speaks another tongue": {forever("220 mail ESMTP\r\n"), "response: no HTTP/1 status line", 3},
		"answers 503":           {forever("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), "status 503", 0},
		"never answers":         {forever(""), "no response within 60ms", 3},
		"never ends its answer": {forever("HTTP/1.1 200 OK\r\n", "X: y\r\n"), "no response within 60ms", 3},
	} {
		for _, concurrency := range []int{1, 2} {
			url := hostile(t, c.serve)
			// Slow enough that a server's closing is seen before the next request.
			schedule := Constant(25, 4, 0)
			if concurrency == 1 {
				schedule = ClosedLoop(4, 3*time.Millisecond)
			}
			timeout := 20 * time.Second
			if strings.Contains(c.want, "60ms") {
				timeout = 60 * time.Millisecond
			}
			spec := Spec{URL: url, Concurrency: concurrency}
			if name == "resets between" || name == "closes without a word" {
				spec.Method = "GET" // on a busy machine the end may come with the next request already sent
			}
			r, xs := driveWithin(t, timeout, spec, Load{Schedule: schedule}, Fixed("hello"))
			for _, x := range xs {
				if x.Failure != c.want {
					t.Errorf("%s, concurrency %d: request %d: failure %q, want %q", name, concurrency, x.Seq, x.Failure, c.want)
				}
				if answered := c.want == "" || strings.HasPrefix(c.want, "status"); (x.Done != 0) != answered {
					t.Errorf("%s, concurrency %d: request %d: failure %q and done at %v", name, concurrency, x.Seq, x.Failure, x.Done)
				}
			}
			// Two lanes take turns, so that each is used twice.
			want := c.reconnects
			if concurrency == 2 && want == 3 {
				want = 2
			}
			surplus := 0
			if name == "says more than asked" {
				surplus = 4
			}
			if r.Quality.Surplus != surplus {
				t.Errorf("%s, concurrency %d: %d answers of surplus bytes, want %d", name, concurrency, r.Quality.Surplus, surplus)
			}
			if len(xs) != 4 || r.Quality.Reconnects != want {
				t.Errorf("%s, concurrency %d: %d exchanges, %d reconnects; want 4, %d", name, concurrency, len(xs),
					r.Quality.Reconnects, want)
			}
		}
	}
}

// The time a lost connection costs stays in the RTT of the request that met it.
func TestReconnectIsNotHidden(t *testing.T) {
	url := hostile(t, func(c net.Conn, before int) {
		in := bufio.NewReader(c)
		if before == 0 {
			answer(c, in, ok)
			http.ReadRequest(in) // takes the second request, and closes on it
			time.Sleep(30 * time.Millisecond)
			return
		}
		for answer(c, in, ok) {
		}
	})
	r, xs := drive(t, Spec{URL: url, Method: "GET"}, Load{Schedule: ClosedLoop(3, 0)}, Fixed("x"))
	sound(t, xs)
	if xs[1].RTT() < 30*time.Millisecond || xs[2].Sent < xs[1].Done || r.Quality.Reconnects != 1 ||
		r.Quality.Repetitions != 1 {
		t.Errorf("RTT %v of the second, done at %v, the third sent at %v, with %d reconnects; want over 30ms, 1 reconnect",
			xs[1].RTT(), xs[1].Done, xs[2].Sent, r.Quality.Reconnects)
	}
}

// A server that is gone after a while: failures are data.
func TestServerGoesAway(t *testing.T) {
	for _, concurrency := range []int{1, 3} {
		server := httptest.NewServer(http.HandlerFunc(echo))
		d, err := Dial(t.Context(), Spec{URL: server.URL, Concurrency: concurrency})
		if err != nil {
			t.Fatal(err)
		}
		server.Close()
		r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(9, 0), Record: true}, Fixed("x"))
		if err != nil || r.Len() != 9 {
			t.Fatalf("%d exchanges, %v", r.Len(), err)
		}
		for x := range r.Exchanges() {
			if x.Failure != "connect: connection refused" {
				t.Errorf("concurrency %d: request %d: failure %q", concurrency, x.Seq, x.Failure)
			}
		}
		d.Close()
	}
	server := httptest.NewServer(nil)
	server.Close()
	if _, err := Dial(t.Context(), Spec{URL: server.URL}); err == nil || !strings.Contains(err.Error(),
		"connection refused; is the server up?") {
		t.Errorf("dial of a closed port: %v", err)
	}
}

type broken struct{ Fixed }

func (broken) Encode(seq uint64, buf []byte) ([]byte, error) {
	if seq == 2 {
		return nil, errors.New("no such message")
	}
	return buf, nil
}

func (broken) Decode(seq uint64, _ int, _ []byte) error {
	if seq == 3 {
		return errors.New("wrong answer")
	}
	return nil
}

func TestCallErrorsAreFailures(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	for _, concurrency := range []int{1, 2} {
		_, xs := drive(t, Spec{URL: server.URL, Concurrency: concurrency}, Load{Schedule: ClosedLoop(4, 0)}, broken{})
		for i, want := range []string{"", "no such message", "wrong answer", ""} {
			if xs[i].Failure != want {
				t.Errorf("request %d: failure %q, want %q", i+1, xs[i].Failure, want)
			}
		}
		if xs[1].Sent != 0 || xs[2].Done == 0 {
			t.Errorf("sent %v though there was nothing to send, done %v though there was an answer", xs[1].Sent, xs[2].Done)
		}
	}
}
