package drive

import (
	"bufio"
	"context"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// A server stalls once. Requests that were due meanwhile must show it in their
// response time, and not in their RTT, which begins when they are sent.
func TestOpenLoopShowsStall(t *testing.T) {
	const stall = 200 * time.Millisecond
	for _, concurrency := range []int{1, 2} {
		var served atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if n := served.Add(1); n > 10 && n <= 10+int64(concurrency) {
				time.Sleep(stall)
			}
		}))
		r, xs := drive(t, Spec{URL: server.URL, Concurrency: concurrency}, Load{Schedule: Constant(200, 60, 0)}, Fixed("x"))
		server.Close()
		sound(t, xs)
		for i, x := range xs {
			if want := time.Duration(i) * 5 * time.Millisecond; x.Due != want {
				t.Errorf("request %d: due %v, want %v", x.Seq, x.Due, want)
			}
		}
		// Some 5 ms × 20 after the stall began, half of it was still to come.
		late := xs[10+20]
		if late.Response() < 60*time.Millisecond || late.RTT() > 50*time.Millisecond {
			t.Errorf("concurrency %d: a request due in mid-stall: response %v, RTT %v; want over 60ms, under 50ms", concurrency,
				late.Response(), late.RTT())
		}
		if last := xs[59]; last.Response() > 150*time.Millisecond { // 200 ms if none of it drained
			t.Errorf("concurrency %d: the backlog never drained: %v", concurrency, last.Response())
		}
		// The stall is the server's: it must not look like a slow driver.
		if q := r.Quality; q.LatenessP50 > 20*time.Millisecond || q.LatenessP50 == 0 {
			t.Errorf("concurrency %d: lateness p50 %v", concurrency, q.LatenessP50)
		}
	}
}

// Requests go out when they are due, not when the one before is answered.
func TestOpenLoopUsesFreeConnections(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter,
		*http.Request) {
		time.Sleep(50 * time.Millisecond)
	}))
	defer server.Close()
	_, xs := drive(t, Spec{URL: server.URL, Concurrency: 4}, Load{Schedule: Constant(50, 8, 0)}, Fixed("x"))
	sound(t, xs)
	for _, x := range xs {
		if x.Sent-x.Due > 15*time.Millisecond {
			t.Errorf("request %d: due %v, sent %v, with a free connection", x.Seq, x.Due, x.Sent)
		}
	}
}

func TestClosedLoop(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	for _, concurrency := range []int{1, 3} {
		spec := Spec{URL: server.URL, Concurrency: concurrency}
		_, xs := drive(t, spec, Load{Schedule: ClosedLoop(0, 0), For: 50 * time.Millisecond}, Fixed("x"))
		sound(t, xs)
		last := xs[len(xs)-1]
		if len(xs) < 20 || last.Sent > 60*time.Millisecond || last.Done < 40*time.Millisecond {
			t.Errorf("50 ms with concurrency %d: %d exchanges, the last sent at %v, done at %v", concurrency, len(xs),
				last.Sent, last.Done)
		}
		_, xs = drive(t, spec, Load{Schedule: ClosedLoop(3*concurrency, 20*time.Millisecond)}, Fixed("x"))
		sound(t, xs)
		if first, last := xs[0], xs[len(xs)-1]; first.Sent < 20*time.Millisecond || last.Sent < 60*time.Millisecond ||
			last.Sent > 200*time.Millisecond {
			t.Errorf("pause of 20 ms with concurrency %d: first sent at %v, last at %v", concurrency, first.Sent, last.Sent)
		}
	}
}

// One Driver, a warm-up and two runs on the same connection.
func TestDriverSurvivesRuns(t *testing.T) {
	for _, concurrency := range []int{1, 2} {
		var connections atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(echo))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				connections.Add(1)
			}
		}
		server.Start()
		d, err := Dial(t.Context(), Spec{URL: server.URL, Concurrency: concurrency})
		if err != nil {
			t.Fatal(err)
		}
		for run, record := range []bool{false, true, true} {
			r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(10, 0), Record: record}, numbered{pad: 1})
			want := 0
			if record {
				want = 10
			}
			if err != nil || r.Len() != want {
				t.Errorf("run %d: %d exchanges, %v; want %d", run, r.Len(), err, want)
			}
			for x := range r.Exchanges() {
				if x.Failure != "" || x.Seq == 1 && x.Due > 50*time.Millisecond {
					t.Errorf("run %d: request %d: due %v, %s", run, x.Seq, x.Due, x.Failure)
				}
			}
		}
		d.Close()
		server.Close()
		if n := connections.Load(); n != int64(concurrency) {
			t.Errorf("three runs with concurrency %d made %d connections", concurrency, n)
		}
	}
}

func TestContextStopsRun(t *testing.T) {
	exhausted := make(chan bool, 2)
	url := hostile(t, func(c net.Conn, _ int) {
		in := bufio.NewReader(c)
		for range 3 {
			answer(c, in, ok)
		}
		answer(c, in)
		exhausted <- true
		time.Sleep(3 * time.Second)
	})
	for _, concurrency := range []int{1, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		d, err := Dial(ctx, Spec{URL: url, Concurrency: concurrency})
		if err != nil {
			t.Fatal(err)
		}
		var stopped time.Time
		go func() {
			for range concurrency {
				<-exhausted
			}
			stopped = time.Now()
			cancel()
		}()
		r, err := d.Run(ctx, Load{Schedule: ClosedLoop(100, 0), Record: true}, Fixed("x"))
		if took := time.Since(stopped); err != context.Canceled || took > time.Second {
			t.Errorf("concurrency %d: %v after %v", concurrency, err, took)
		}
		d.Close()
		failed := 0
		for x := range r.Exchanges() {
			if x.Failure == "stopped before a response" {
				failed++
			} else if x.Failure != "" {
				t.Errorf("request %d: %s", x.Seq, x.Failure)
			}
		}
		if r.Len() != 4*concurrency || failed != concurrency {
			t.Errorf("concurrency %d: %d exchanges, %d stopped; want %d, %d", concurrency, r.Len(), failed,
				4*concurrency, concurrency)
		}
	}
}

func TestSpecIsRefused(t *testing.T) {
	for name, s := range map[string]Spec{
		"no scheme":                {URL: "127.0.0.1:80"},
		"scheme unknown":           {URL: "gopher://127.0.0.1:70/"},
		"no host":                  {URL: "http://:80/"},
		"no port for a bare one":   {URL: "tcp://127.0.0.1", Answer: 1},
		"port out of range":        {URL: "http://127.0.0.1:70000/"},
		"no answer size":           {URL: "udp://127.0.0.1:7"},
		"answer beyond a datagram": {URL: "udp://127.0.0.1:7", Answer: 70_000},
		"pipelined over TLS":       {URL: "https://127.0.0.1/", Connection: Pipelined},
		"pipelined HTTP/2":         {URL: "http://127.0.0.1/", Connection: Pipelined, Protocol: HTTP2},
		"address of the other IP":  {URL: "http://127.0.0.1/", Family: "6"},
		"line break in a header":   {URL: "http://127.0.0.1/", Header: []string{"A: b\r\nC: d"}},
		"line break in a type":     {URL: "http://127.0.0.1/", ContentType: "a\r\nB: c"},
		"header of the driver":     {URL: "http://127.0.0.1/", Header: []string{"content-LENGTH: 5"}},
		"header without a colon":   {URL: "http://127.0.0.1/", Header: []string{"what"}},
		"no key":                   {URL: "coaps://127.0.0.1/"},
		"method CoAP has not":      {URL: "coap://127.0.0.1/", Method: "HEAD"},
		"format CoAP has not":      {URL: "coap://127.0.0.1/", ContentType: "image/png2"},
		"concurrency below 1":      {URL: "http://127.0.0.1/", Concurrency: -1},
	} {
		if d, err := Dial(t.Context(), s); err == nil {
			d.Close()
			t.Errorf("%s: dialed", name)
		}
	}
}

// Memory: 56 B a request.
func TestRecordIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(packed{}); size != packedBytes {
		t.Errorf("a row has %d bytes, want %d", size, packedBytes)
	}
	r := newRecord()
	r.reserve(100_000)
	if rows := len(r.chunks) * chunkRows; rows < 100_000 || rows >= 100_000+chunkRows {
		t.Errorf("%d rows reserved for 100000", rows)
	}
}

func TestRecordKeepsRows(t *testing.T) {
	r := newRecord()
	rows := []row{
		{due: 1, sent: 5, done: 9, ser: 3, deser: 2, total: 14, out: 1 << 30, in: math.MaxUint32, failure: 7},
		{due: 1, sent: 5, done: 9, ser: 3, deser: 2, total: 9},                     // nothing above the phases
		{due: 1, sent: 5, done: 9, ser: 3, deser: 2, total: 8},                     // below them: not to be hidden
		{sent: 5, done: 9, total: 4 + overlong - 1},                                // the most that fits
		{sent: 5, done: 9, total: 4 + overlong},                                    // more than fits
		{due: 1, sent: 1 << 50, done: 1 << 60, ser: 1 << 50, total: math.MaxInt64}, // far more
		{due: 3, sent: 4, ser: 2, total: 1 << 40, failure: 1},                      // no response
		{},
	}
	for i := range rows {
		r.put(i+chunkRows-3, &rows[i]) // across two chunks
	}
	for i, want := range rows {
		if got := r.row(i + chunkRows - 3); got != want {
			t.Errorf("row %d: got %+v, want %+v", i, got, want)
		}
	}
}
