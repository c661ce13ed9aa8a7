package drive

import (
	"bufio"
	"context"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"edgegauge.example/edgegauge/internal/measure"
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
		// The eleventh that arrives was due after 50 ms, so that the stall lasts until 250 ms at least. Half of it was still
		// to come for the one due at 150 ms: its response time counts that, its RTT begins behind it.
		if late := xs[10+20]; late.Sent < 50*time.Millisecond+stall {
			t.Errorf("concurrency %d: a request due at %v, in mid-stall, was sent at %v", concurrency, late.Due, late.Sent)
		}
		// What was due meanwhile goes out as soon as a connection is free, and not at the pace of the schedule, 5 ms: the
		// backlog drains.
		if took := typical(afterFree(xs, concurrency, sentAt)[12:50]); took > 2500*time.Microsecond {
			t.Errorf("concurrency %d: the backlog never drains: requests are sent %v after a connection is free", concurrency,
				took)
		}
		// The stall is the server's: it must not look like a slow driver.
		if q := r.Quality; q.LatenessP50 > 20*time.Millisecond || q.LatenessP50 == 0 {
			t.Errorf("concurrency %d: lateness p50 %v", concurrency, q.LatenessP50)
		}
	}
}

func dueAt(x measure.Exchange) time.Duration  { return x.Due }
func sentAt(x measure.Exchange) time.Duration { return x.Sent }

// afterFree is how long after a connection became free an instant of each request lies, which takes the one that is
// free longest; 0 of the first ones, whose connections were free from the start.
func afterFree(xs []measure.Exchange, connections int, instant func(measure.Exchange) time.Duration) []time.Duration {
	var done []time.Duration
	for _, x := range xs {
		done = append(done, x.Done)
	}
	slices.Sort(done)
	after := make([]time.Duration, len(xs))
	for i := connections; i < len(xs); i++ {
		after[i] = instant(xs[i]) - done[i-connections]
	}
	return after
}

// typical is the median, which does not tell of the few instants at which the test had no CPU.
func typical(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// Requests go out when they are due, not when the one before is answered: this server answers four at a time.
func TestOpenLoopUsesFreeConnections(t *testing.T) {
	const connections = 4
	arrived := make(chan chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		turn := make(chan struct{})
		select {
		case arrived <- turn:
			<-turn
		case <-r.Context().Done(): // its client gave up
		}
	}))
	defer server.Close()
	go func() {
		for range 2 {
			var turns []chan struct{}
			for range connections {
				turns = append(turns, <-arrived)
			}
			for _, turn := range turns {
				close(turn)
			}
		}
	}()
	_, xs := drive(t, Spec{URL: server.URL, Concurrency: connections, Timeout: 20 * time.Second},
		Load{Schedule: Constant(50, 2*connections, 0)}, Fixed("x"))
	sound(t, xs)
	for i, x := range xs {
		if want := time.Duration(i) * 20 * time.Millisecond; x.Due != want {
			t.Errorf("request %d: due %v, want %v", x.Seq, x.Due, want)
		}
	}
}

func TestClosedLoop(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	const span, pause = 50 * time.Millisecond, 20 * time.Millisecond
	for _, concurrency := range []int{1, 3} {
		spec := Spec{URL: server.URL, Concurrency: concurrency}
		r, xs := drive(t, spec, Load{Schedule: ClosedLoop(0, 0), For: span}, Fixed("x"))
		sound(t, xs)
		if last := xs[len(xs)-1]; last.Due >= span || r.Quality.Elapsed < span {
			t.Errorf("%v with concurrency %d: the last request is due at %v, all is over after %v", span, concurrency, last.Due,
				r.Quality.Elapsed)
		}
		_, xs = drive(t, spec, Load{Schedule: ClosedLoop(20*concurrency, 0)}, Fixed("x"))
		sound(t, xs)
		if sent := typical(afterFree(xs, concurrency, sentAt)[concurrency:]); sent > pause/10 {
			t.Errorf("no pause with concurrency %d: sent %v after a connection is free", concurrency, sent)
		}
		_, xs = drive(t, spec, Load{Schedule: ClosedLoop(10*concurrency, pause)}, Fixed("x"))
		sound(t, xs)
		due := afterFree(xs, concurrency, dueAt)[concurrency:]
		if first := xs[0].Due; first != pause || slices.Min(due) < pause || typical(due) > pause+pause/10 {
			t.Errorf("pause of %v with concurrency %d: the first is due at %v, others %v after a connection is free", pause,
				concurrency, first, due)
		}
		var late []time.Duration
		for _, x := range xs {
			late = append(late, x.Sent-x.Due)
		}
		if slices.Min(late) > pause {
			t.Errorf("pause of %v with concurrency %d: sent %v after they are due", pause, concurrency, late)
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
			began := time.Now()
			r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(10, 0), Record: record}, numbered{pad: 1})
			took := time.Since(began)
			want := 0
			if record {
				want = 10
			}
			if err != nil || r.Len() != want {
				t.Errorf("run %d: %d exchanges, %v; want %d", run, r.Len(), err, want)
			}
			for x := range r.Exchanges() {
				if x.Failure != "" || x.Due > took { // it counts from this run's start
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
		<-t.Context().Done() // it never answers
	})
	for _, concurrency := range []int{1, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		d, err := Dial(ctx, Spec{URL: url, Concurrency: concurrency, Timeout: time.Minute})
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
		if took := time.Since(stopped); err != context.Canceled || took > 30*time.Second {
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
