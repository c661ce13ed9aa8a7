package drive

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func runMultiplexed(t *testing.T, s Spec, load Load, call Call) *Record {
	t.Helper()
	s.Connection = Multiplexed
	if s.Protocol == "" {
		s.Protocol = HTTP2
	}
	patience := cmp.Or(s.Timeout, time.Minute)
	s.Timeout = time.Minute // of the connection, which a busy machine may be slow to make
	d, err := Dial(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	d.Timeout = patience
	var record *Record
	for range 2 { // the connection outlives a run
		if record, err = d.Run(t.Context(), load, call); err != nil {
			t.Fatal(err)
		}
	}
	return record
}

// want fails the test unless all n exchanges went well.
func want(t *testing.T, what string, record *Record, n int) {
	t.Helper()
	if record.Len() != n || record.Quality.Reconnects > 0 {
		t.Errorf("%s: %d exchanges, want %d; %d connections made anew", what, record.Len(), n, record.Quality.Reconnects)
	}
	for x := range record.Exchanges() {
		if x.Failure != "" || x.RTT() <= 0 {
			t.Errorf("%s: %+v", what, x)
			return
		}
	}
}

func TestMultiplexAgainstNetHTTP(t *testing.T) {
	var connections, under, peak atomic.Int64
	server, _ := http2Server(t, false, func(w http.ResponseWriter, r *http.Request) {
		now := under.Add(1)
		defer under.Add(-1)
		for p := peak.Load(); now > p && !peak.CompareAndSwap(p, now); p = peak.Load() {
		}
		echo(w, r)
	}, func(s *http.Server) {
		s.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
	})
	for _, tt := range []struct {
		path             string
		inFlight, n, pad int
	}{
		{"/", 1, 100, 3}, {"/", 8, 200, 3}, {"/", 150, 300, 0}, {"/?chunked", 8, 100, 3},
		{"/", 8, 40, 8000}, // up to 320 kB a request: over the windows of stream and connection
	} {
		connections.Store(0)
		s := Spec{URL: server.URL + tt.path, Concurrency: tt.inFlight, Timeout: 30 * time.Second}
		record := runMultiplexed(t, s, Load{Schedule: ClosedLoop(tt.n, 0), Record: true}, numbered{tt.pad})
		want(t, fmt.Sprint(tt), record, tt.n)
		if n := connections.Load(); n != 1 {
			t.Errorf("%v: %d connections", tt, n)
		}
	}
	if peak.Load() < 2 {
		t.Errorf("at most %d requests were under way at once", peak.Load())
	}
}

// Later requests are answered first, and each is timed by its own stream.
func TestMultiplexOutOfOrder(t *testing.T) {
	const inFlight = 6
	arrived := make(chan chan bool, inFlight)
	server, _ := http2Server(t, false, func(w http.ResponseWriter, r *http.Request) {
		turn := make(chan bool)
		arrived <- turn
		<-turn
		echo(w, r)
	})
	call := teller{numbered{pad: 5}, make(chan bool, inFlight)}
	go func() {
		for {
			var turns []chan bool
			for range inFlight {
				turns = append(turns, <-arrived)
			}
			for _, turn := range slices.Backward(turns) {
				close(turn)
				<-call.decoded // no two come at once
			}
		}
	}()
	record := runMultiplexed(t, Spec{URL: server.URL, Concurrency: inFlight, Timeout: time.Minute},
		Load{Schedule: ClosedLoop(inFlight, 0), Record: true}, call)
	want(t, "the last first", record, inFlight)
	done := map[time.Duration]bool{}
	for x := range record.Exchanges() {
		done[x.Done] = true
	}
	if len(done) != inFlight {
		t.Errorf("%d instants for %d responses that came one after the other", len(done), inFlight)
	}
}

// A teller tells when an answer was decoded.
type teller struct {
	numbered
	decoded chan bool
}

func (l teller) Decode(seq uint64, status int, body []byte) error {
	l.decoded <- true
	return l.numbered.Decode(seq, status, body)
}

// What hits one stream fails its request, and no other.
func TestMultiplexReset(t *testing.T) {
	server, _ := http2Server(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength%3 == 0 {
			w.WriteHeader(200)
			w.Write([]byte("half of"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		echo(w, r)
	})
	record := runMultiplexed(t, Spec{URL: server.URL, Concurrency: 8}, Load{Schedule: ClosedLoop(90, 0), Record: true},
		numbered{pad: 1})
	resets := 0
	for x := range record.Exchanges() {
		hit := x.Out%3 == 0
		if hit {
			resets++
		}
		if hit != strings.Contains(x.Failure, "the stream was reset by the server with code") {
			t.Errorf("request %d of %d bytes: %q", x.Seq, x.Out, x.Failure)
		}
	}
	if resets < 10 || record.Quality.Reconnects > 0 {
		t.Errorf("%d resets, %d connections made anew", resets, record.Quality.Reconnects)
	}
}

// A response longer than allowed fails its request, and no other.
func TestMultiplexTooLarge(t *testing.T) {
	over := make(chan bool)
	server, _ := http2Server(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 3 {
			w.Write(make([]byte, 2<<20)) // or as much of it as is wanted
			close(over)
			return
		}
		<-over
		echo(w, r)
	})
	d, err := Dial(t.Context(), Spec{URL: server.URL, Protocol: HTTP2, Connection: Multiplexed, Concurrency: 4,
		MostBody: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(12, 0), Record: true}, lengths{})
	if err != nil {
		t.Fatal(err)
	}
	for x := range record.Exchanges() {
		want := ""
		if x.Seq == 2 {
			want = "HTTP/2: response: body larger than 1 MiB"
		}
		if x.Failure != want {
			t.Errorf("request %d: %q, want %q", x.Seq, x.Failure, want)
		}
	}
	if record.Quality.Reconnects > 0 {
		t.Errorf("%d connections made anew", record.Quality.Reconnects)
	}
}

// lengths sends bodies of different lengths: 3 bytes with request 2.
type lengths struct{ Fixed }

func (lengths) Encode(seq uint64, buf []byte) ([]byte, error) {
	return append(buf, make([]byte, seq+1)...), nil
}

// Bodies larger than the connection's window wait for it, many at once. A server of net/http ends a connection on
// which more is sent than it allowed.
func TestMultiplexWaitsForTheWindow(t *testing.T) {
	const inFlight, body = 40, 50_000
	server, _ := http2Server(t, false, echo, func(s *http.Server) {
		s.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerConnection: 1 << 16}
	})
	record := runMultiplexed(t, Spec{URL: server.URL, Concurrency: inFlight},
		Load{Schedule: ClosedLoop(2*inFlight, 0), Record: true}, same(strings.Repeat("x", body)))
	want(t, "behind a window of 64 KiB", record, 2*inFlight)
}

// A window that opens by little is work for those bodies that it lets go, not for all that wait: the others have no
// stream here, so that to look at one is a panic.
func TestMultiplexWindowWorkIsForWhatItLetsGo(t *testing.T) {
	const waiting, body = 1000, 100
	m := &multiplexer{muxConn: &muxConn{w: &http2Conn{}}, flight: map[uint32]*lane{}}
	m.w.http2Connection = http2Connection{perStream: http2Window, frame: http2Frame}
	all := make([]*muxStream, waiting)
	m.streams = all
	for i := range all {
		l := &lane{number: i}
		id := uint32(2*i + 1)
		all[i] = &muxStream{id: id, body: make([]byte, body), stream: http2Stream{window: http2Window}}
		m.flight[id] = l
		m.load(id)
		m.save(l)
	}
	if len(m.blocked) != waiting {
		t.Fatalf("%d bodies wait, want %d", len(m.blocked), waiting)
	}
	const step = body / 4
	for sent := step; sent <= waiting*body; sent += step {
		m.streams = all[:(sent-1)/body+1]
		if sent%body == 0 && sent < waiting*body {
			m.streams = all[:sent/body+1] // the next one finds the window used up
		}
		m.w.window = step
		m.w.out = m.w.out[:0]
		m.connectionFrame(frameWindow, 0, nil, 0)
		if got := len(m.w.out) - http2HeaderBytes; got != step || m.w.window != 0 {
			t.Fatalf("after %d B: framed %d B of %d, and %d B of the window are left", sent, got, step, m.w.window)
		}
		if left := waiting - sent/body; len(m.blocked) != left {
			t.Fatalf("after %d B: %d bodies wait, want %d", sent, len(m.blocked), left)
		}
	}
	for i, s := range all {
		if !s.ended || len(s.body) > 0 {
			t.Fatalf("body %d was not framed whole", i)
		}
	}
}

// Bad frames end the connection and every request on it; nothing is taken for a
// response that is none.
func TestMultiplexBadServers(t *testing.T) {
	goAway := func(last uint32) []byte {
		b := binary.BigEndian.AppendUint32(appendFrame(nil, 8, frameGoAway, 0, 0), last)
		return binary.BigEndian.AppendUint32(b, 2)
	}
	for want, frames := range map[string]func(stream uint32) []byte{
		"which was not opened": func(s uint32) []byte { return http2OK(s + 100) },
		"data before a response's header": func(s uint32) []byte {
			return append(appendFrame(nil, 1, frameData,
				flagEndStream, s), 'x')
		},
		"16385 bytes exceeds the limit of 16384": func(s uint32) []byte { return appendFrame(nil, 16385, frameData, 0, s) },
		"a push, although disabled":              func(s uint32) []byte { return appendFrame(nil, 0, framePush, 0, s) },
		"an incomplete header block": func(s uint32) []byte {
			return append(appendFrame(nil, 0, frameHeaders, 0, s),
				http2OK(s)...)
		},
		"a window over 2^31-1": func(uint32) []byte {
			return bytes.Repeat(binary.BigEndian.AppendUint32(appendFrame(nil, 4, frameWindow, 0, 0), http2Most), 3)
		},
		"a GOAWAY shorter than 8 bytes": func(uint32) []byte { return appendFrame(nil, 0, frameGoAway, 0, 0) },
		// RFC 9113, section 6.8; and on every connection after it.
		"(GOAWAY) with code 2 (INTERNAL_ERROR)": func(uint32) []byte { return goAway(0) },
	} {
		url := http2Peer(t, func(conn net.Conn, _ int, stream uint32) { conn.Write(frames(stream)) })
		record := runMultiplexed(t, Spec{URL: url, Concurrency: 3, Timeout: time.Minute},
			Load{Schedule: ClosedLoop(3, 0), Record: true}, Fixed("x"))
		said := false
		for x := range record.Exchanges() {
			if x.Failure == "" {
				t.Errorf("%s: request %d has a response", want, x.Seq)
			}
			said = said || strings.Contains(x.Failure, want)
		}
		if !said {
			for x := range record.Exchanges() {
				t.Errorf("got %q, want %q", x.Failure, want)
			}
		}
	}
}

// A server that goes away answers what it took up; the rest goes over another connection.
func TestMultiplexGoAway(t *testing.T) {
	url := http2Peer(t, func(conn net.Conn, number int, stream uint32) {
		switch {
		case stream == 3:
			b := binary.BigEndian.AppendUint32(appendFrame(nil, 8, frameGoAway, 0, 0), 3)
			conn.Write(append(binary.BigEndian.AppendUint32(b, 0), http2OK(3)...))
		case stream < 3:
			conn.Write(http2OK(stream))
		}
	})
	d, err := Dial(t.Context(), Spec{URL: url, Protocol: HTTP2, Connection: Multiplexed, Concurrency: 4,
		Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(20, 0), Record: true}, Fixed("x"))
	if err != nil {
		t.Fatal(err)
	}
	for x := range record.Exchanges() {
		if x.Failure != "" {
			t.Errorf("request %d: %s", x.Seq, x.Failure)
		}
	}
	if record.Quality.Reconnects < 5 {
		t.Errorf("%d connections made anew, each served two", record.Quality.Reconnects)
	}
}

// nghttpd is another implementation, and takes 10 streams at once.
func TestMultiplexAgainstNghttpd(t *testing.T) {
	program, err := exec.LookPath("nghttpd")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("sudo apt-get install nghttp2-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().(*net.TCPAddr)
	l.Close()
	server := exec.Command(program, "--no-tls", "--echo-upload", "-m", "10", "-a", "127.0.0.1", "-d", t.TempDir(),
		fmt.Sprint(address.Port))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", address.String())
		if err == nil {
			conn.Close()
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	// Ten times as many as it takes, and the driver has not yet heard so.
	first, err := Dial(t.Context(), Spec{URL: "http://" + address.String(), Protocol: HTTP2, Connection: Multiplexed,
		Concurrency: 100, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	record, err := first.Run(t.Context(), Load{Schedule: ClosedLoop(200, 0), Record: true}, numbered{1})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "in the first run", record, 200)
	for _, inFlight := range []int{1, 10, 30} {
		for _, pad := range []int{1, 1000} {
			record := runMultiplexed(t, Spec{URL: "http://" + address.String(), Concurrency: inFlight,
				Timeout: 30 * time.Second}, Load{Schedule: ClosedLoop(60, 0), Record: true}, numbered{pad})
			for x := range record.Exchanges() {
				if x.Failure != "" {
					t.Errorf("%d in flight, pad %d: request %d: %s", inFlight, pad, x.Seq, x.Failure)
				}
			}
		}
	}
}

// refuser resets a stream with code 7, which says that nothing was done, and answers all others.
func refuser(t *testing.T, refused uint32) string {
	return http2Peer(t, func(conn net.Conn, number int, stream uint32) {
		if stream == refused && number == 0 {
			conn.Write(binary.BigEndian.AppendUint32(appendFrame(nil, 4, frameReset, 0, stream), resetRefused))
			return
		}
		conn.Write(http2OK(stream))
	})
}

// A request that the server refused to take up goes again, once, and no failure of the server's is made of it.
func TestRefusedStreamsGoAgain(t *testing.T) {
	for _, connection := range []string{KeepAlive, Multiplexed} {
		d, err := Dial(t.Context(), Spec{URL: refuser(t, 3), Protocol: HTTP2, Connection: connection,
			Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		record, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(5, 0), Record: true}, Fixed("x"))
		d.Close()
		if err != nil {
			t.Fatal(err)
		}
		for x := range record.Exchanges() {
			if x.Failure != "" {
				t.Errorf("%s: request %d: %s", connection, x.Seq, x.Failure)
			}
		}
		if record.Quality.Repetitions != 1 {
			t.Errorf("%s: %d sent again, want 1", connection, record.Quality.Repetitions)
		}
	}
}

// Refused again and again, a request fails: the driver does not ask for ever.
func TestWhatIsAlwaysRefusedFails(t *testing.T) {
	url := http2Peer(t, func(conn net.Conn, _ int, stream uint32) {
		conn.Write(binary.BigEndian.AppendUint32(appendFrame(nil, 4, frameReset, 0, stream), resetRefused))
	})
	record := runMultiplexed(t, Spec{URL: url, Concurrency: 3, Timeout: 20 * time.Second},
		Load{Schedule: ClosedLoop(9, 0), Record: true}, Fixed("x"))
	for x := range record.Exchanges() {
		if !strings.Contains(x.Failure, "reset by the server with code 7") {
			t.Errorf("request %d: %q", x.Seq, x.Failure)
		}
	}
}

// What the server did not take up waits in the order of the requests, which is not that of their streams where one was
// refused before.
func TestUntakenRequestsWaitInTheirOrder(t *testing.T) {
	m := &multiplexer{events: events{run: &run{d: &Driver{}, quality: &DriverStats{}}}, muxConn: &muxConn{},
		waiting: newRing(3), flight: map[uint32]*lane{}}
	for i, x := range []struct {
		stream uint32
		seq    uint64
	}{{3, 2}, {5, 3}, {7, 1}} {
		s := &muxStream{id: x.stream}
		l := newLane(s, i)
		l.seq, m.streams, m.flight[x.stream] = x.seq, append(m.streams, s), l
	}
	m.untaken(1, 0)
	for want := uint64(1); want <= 3; want++ {
		if got := m.waiting.head().seq; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		m.waiting.pop()
	}
}

// Requests that were refused in any order wait in their own.
func TestRingInsertsInOrder(t *testing.T) {
	r := newRing(5)
	r.at = 3
	for _, seq := range []uint64{4, 2, 5, 1, 3} {
		r.insert(&lane{seq: seq})
	}
	for want := uint64(1); r.n > 0; want++ {
		if got := r.head().seq; got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		r.pop()
	}
}
