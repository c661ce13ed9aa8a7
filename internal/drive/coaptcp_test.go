package drive

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// waitsFor has what a server says of itself be waited for so long while a test runs.
func waitsFor(t *testing.T, long time.Duration) {
	usual := settingsWait
	settingsWait = long
	t.Cleanup(func() { settingsWait = usual })
}

// waits are how long a silent server is waited for: longer where a busy machine takes as long for something else.
var waits = []time.Duration{settingsWait, settingsWait, time.Second, 4 * time.Second}

// A streamServer answers requests over TCP, and says what it takes some time after a connection was made.
type streamServer struct {
	t     *testing.T
	after time.Duration // less than 0: never
	late  bool          // once a block has come

	mu                            sync.Mutex
	connections, messages, blocks int
}

func (s *streamServer) serve(c net.Conn, _ int) {
	s.mu.Lock()
	s.connections++
	s.mu.Unlock()
	var writes sync.Mutex // of whole messages
	csm := coap.Message{Code: coap.CSM}
	csm.AddUint(2, 1<<20) // Max-Message-Size
	say := sync.OnceFunc(func() {
		writes.Lock()
		defer writes.Unlock()
		c.Write(csm.AppendStream(nil))
	})
	if s.after >= 0 {
		time.AfterFunc(s.after, say)
	}
	var buf []byte
	for piece := make([]byte, 1<<16); ; {
		n, err := c.Read(piece)
		if err != nil {
			return
		}
		for buf = append(buf, piece[:n]...); ; {
			var m coap.Message
			n, err := m.DecodeStream(buf, 1<<20)
			if err != nil || n == 0 {
				break
			}
			if m.Code == coap.POST {
				s.answer(c, &writes, &m)
				if _, block := m.Block(coap.Block1); block && s.late {
					say()
				}
			}
			buf = buf[n:]
		}
	}
}

// answer notes a message and acknowledges a block that is not the last.
func (s *streamServer) answer(c net.Conn, writes *sync.Mutex, m *coap.Message) {
	reply := coap.Message{Code: coap.Changed, Token: m.Token}
	s.mu.Lock()
	s.messages++
	if b, has := m.Block(coap.Block1); has {
		s.blocks++
		if b.More {
			reply.Code = coap.Continue
		}
		reply.AddBlock(coap.Block1, b)
	}
	s.mu.Unlock()
	writes.Lock()
	defer writes.Unlock()
	c.Write(reply.AppendStream(nil))
}

// asked drives large requests to the server, and says how many messages they were.
func (s *streamServer) asked(spec Spec, requests int) (xs []time.Duration, messages, blocks int) {
	s.t.Helper()
	const body = 5000
	spec.URL = "coap+tcp" + strings.TrimPrefix(hostile(s.t, s.serve), "http")
	spec.Timeout, spec.Largest = time.Minute, body
	_, all := drive(s.t, spec, Load{Schedule: ClosedLoop(requests, 0)}, Fixed(strings.Repeat("x", body)))
	for _, x := range all {
		if x.Failure != "" {
			s.t.Fatalf("%s, %d at once: request %d: %s", spec.Connection, spec.Concurrency, x.Seq, x.Failure)
		}
		xs = append(xs, x.Total)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return xs, s.messages, s.blocks
}

// ways are those in which connections are used here: with blocking calls and with epoll.
func ways() (all []Spec) {
	for _, connection := range []string{KeepAlive, PerRequest} {
		for _, concurrency := range []int{1, 3} {
			all = append(all, Spec{Connection: connection, Concurrency: concurrency})
		}
	}
	return all
}

// To a server that says what it takes, though a little late, every large request goes in one message: over a
// connection that is kept and over one of its own, the first as the last.
func TestLargeCoAPOverTCPGoesTheSameWay(t *testing.T) {
	const requests = 6
	late := settingsWait / 4
	waitsFor(t, time.Minute) // of which none passes: the server does say it
	for _, after := range []time.Duration{0, late} {
		for _, spec := range ways() {
			s := streamServer{t: t, after: after}
			if _, messages, blocks := s.asked(spec, requests); messages != requests || blocks != 0 {
				t.Errorf("CSM after %v, %s, %d at once: %d messages, %d of them blocks; want %d and none", after,
					spec.Connection, spec.Concurrency, messages, blocks, requests)
			}
		}
	}
}

// A server that never says what it takes gets all of them in blocks. It is waited for once, before any request.
func TestSilentCoAPServerIsWaitedForOnce(t *testing.T) {
	const requests = 6
	for _, spec := range ways() {
		longest := time.Duration(0)
		for _, wait := range waits { // a busy machine makes a request longer
			waitsFor(t, wait)
			s := streamServer{t: t, after: -1}
			totals, messages, blocks := s.asked(spec, requests)
			if want := requests * 5; messages != want || blocks != want { // of 1024 B
				t.Fatalf("%s, %d at once: %d messages, %d of them blocks; want %d", spec.Connection, spec.Concurrency, messages,
					blocks, want)
			}
			connections := spec.Concurrency
			if spec.Connection == PerRequest {
				connections = requests + 1 // and one to find out
			}
			if s.connections != connections {
				t.Errorf("%s, %d at once: %d connections, want %d", spec.Connection, spec.Concurrency, s.connections, connections)
			}
			longest = 0
			for _, x := range totals {
				longest = max(longest, x)
			}
			if longest < settingsWait {
				break
			}
		}
		if longest >= settingsWait {
			t.Errorf("%s, %d at once: a request took %v, as long as the server is waited for", spec.Connection,
				spec.Concurrency, longest)
		}
	}
}

// A server that says it after that time is believed then: until it does, requests go in blocks.
func TestLateCoAPServerIsHeardLater(t *testing.T) {
	s := streamServer{t: t, after: -1, late: true}
	at := "coap+tcp" + strings.TrimPrefix(hostile(t, s.serve), "http")
	d, err := Dial(t.Context(), Spec{URL: at, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ask := func(requests int) {
		t.Helper()
		r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(requests, 0), Record: true}, Fixed(strings.Repeat("x", 5000)))
		if err != nil {
			t.Fatal(err)
		}
		for x := range r.Exchanges() {
			if x.Failure != "" {
				t.Fatal(x.Failure)
			}
		}
	}
	for deadline := time.Now().Add(time.Minute); ; {
		s.mu.Lock()
		whole := s.messages - s.blocks
		s.mu.Unlock()
		if whole > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("all requests went in blocks, though the server said that it takes them whole")
		}
		ask(1)
	}
	if s.blocks == 0 {
		t.Error("no request went in blocks, though the server had said nothing")
	}
}

// Many connections to a silent server wait as long as one, and small requests, which go the same way to every server,
// for nothing.
func TestConnectionsToASilentCoAPServer(t *testing.T) {
	for _, tt := range []struct {
		spec Spec
		most time.Duration // times as long as is waited
	}{
		{Spec{Concurrency: 8}, 4}, {Spec{Largest: 1024}, 1},
	} {
		took, most := time.Duration(0), time.Duration(0)
		for _, wait := range waits {
			waitsFor(t, wait)
			most = tt.most * wait
			s := streamServer{t: t, after: -1}
			tt.spec.URL = "coap+tcp" + strings.TrimPrefix(hostile(t, s.serve), "http")
			began := time.Now()
			d, err := Dial(t.Context(), tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			took = time.Since(began)
			d.Close()
			if took < most {
				break
			}
		}
		if took >= most {
			t.Errorf("%+v: it took %v to connect", tt.spec, took)
		}
	}
}

// A server that hangs up while it is waited for is asked all the same.
func TestCoAPServerThatHangsUp(t *testing.T) {
	s := streamServer{t: t, after: 0}
	at := hostile(t, func(c net.Conn, before int) {
		if before > 0 {
			s.serve(c, before)
		}
	})
	for _, spec := range ways() {
		spec.URL, spec.Largest = "coap+tcp"+strings.TrimPrefix(at, "http"), 5000
		_, all := drive(t, spec, Load{Schedule: ClosedLoop(2, 0)}, Fixed(strings.Repeat("x", 5000)))
		for _, x := range all {
			if x.Failure != "" {
				t.Errorf("%s, %d at once: request %d: %s", spec.Connection, spec.Concurrency, x.Seq, x.Failure)
			}
		}
	}
}

// What a server says between requests is read, and no reason to give its connection up: what it takes, of which it
// speaks on each, or a ping. That it will end the connection is one.
func TestCoAPOverTCPIsHeardBetweenRequests(t *testing.T) {
	const connections = 4
	s := streamServer{t: t}
	d, err := Dial(t.Context(), Spec{URL: "coap+tcp" + strings.TrimPrefix(hostile(t, s.serve), "http"),
		Concurrency: connections, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		said := 1 // the first connection's was waited for
		for _, l := range d.lanes[1:] {
			if waiting, err := peek(l.fd); waiting && err == nil {
				said++
			}
		}
		if said == connections {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d connections heard something", said, connections)
		}
	}
	r, err := d.Run(t.Context(), Load{Schedule: ClosedLoop(3*connections, 0), Record: true}, Fixed("x"))
	if err != nil {
		t.Fatal(err)
	}
	for x := range r.Exchanges() {
		if x.Failure != "" || x.Connection != 0 {
			t.Errorf("%+v", x)
		}
	}
	if r.Quality.Reconnects != 0 || s.connections != connections {
		t.Errorf("%d connections made anew, %d in all, want 0 and %d", r.Quality.Reconnects, s.connections, connections)
	}
	for code, want := range map[coap.Code]error{coap.Ping: nil, coap.Release: io.EOF} {
		w, err := newCoAPTCPConn(&target{Spec: Spec{Method: "POST", MostBody: 1}, path: "/x"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		m := coap.Message{Code: code}
		if got := w.unasked(copy(w.space(), m.AppendStream(nil))); got != want {
			t.Errorf("%v: %v, want %v", code, got, want)
		}
	}
}
