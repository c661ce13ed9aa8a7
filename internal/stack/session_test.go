package stack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// fakeProgram answers each command with what say returns for it; its type is the
// command's. An answer of "-" is none: it goes on reading and is silent.
func fakeProgram(t *testing.T, say func(kind string, command map[string]any) string) *Conn {
	t.Helper()
	inNear, inFar := net.Pipe()
	outFar, outNear := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer outFar.Close()
		for lines := bufio.NewScanner(inFar); lines.Scan(); {
			var c map[string]any
			if json.Unmarshal(lines.Bytes(), &c) != nil {
				return
			}
			if answer := say(c["type"].(string), c); answer != "-" {
				if _, err := io.WriteString(outFar, answer); err != nil {
					return
				}
			}
		}
	}()
	t.Cleanup(func() { inNear.Close(); outNear.Close(); inFar.Close(); <-done })
	return NewConn(inNear, outNear)
}

// records are n sound records of a side, and their "end".
func recordsOf(n int) string {
	var b []byte
	for i := range n {
		b = AppendExchange(b, measure.Exchange{Seq: uint64(i) + 1, Sent: time.Duration(10 * i),
			Done: time.Duration(10*i + 5), Total: 7})
	}
	return string(b) + fmt.Sprintf("{\"type\":\"end\",\"count\":%d,\"cpu\":77}\n", n)
}

// goodServer and goodClient keep the protocol; both note what they were asked in log.
func goodServer(log *[]string) func(string, map[string]any) string {
	n := 0
	return func(kind string, c map[string]any) string {
		*log = append(*log, "server "+kind)
		switch {
		case kind == "serve":
			return `{"type":"ready","url":"http://127.0.0.1:1/x"}` + "\n"
		case c["discard"] == true:
			return `{"type":"end","count":7}` + "\n" // not the client's count: each side has its own
		}
		n += 3
		return recordsOf(n)
	}
}

func goodClient(log *[]string) func(string, map[string]any) string {
	return func(kind string, c map[string]any) string {
		*log = append(*log, "client "+kind)
		switch {
		case kind == "call":
			return `{"type":"ready","phases":{"discovery":5}}` + "\n"
		case c["record"] != true:
			return `{"type":"end","count":2,"phases":{"discovery":9,"first_invoke":6}}` + "\n"
		}
		return recordsOf(3)
	}
}

// kept is a Sink in memory.
type kept struct {
	all   []measure.Exchange
	end   *End
	fails error
}

func (k *kept) Record(x measure.Exchange) error {
	k.all = append(k.all, x)
	return k.fails
}
func (k *kept) End(e End) error { k.end = &e; return nil }

func TestSessionIsTheWholeConversation(t *testing.T) {
	var log []string // written by one program at a time
	s := Session{Server: fakeProgram(t, goodServer(&log)), Client: fakeProgram(t, goodClient(&log))}
	s.RunEnded = func() error { log = append(log, "run ended"); return nil }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if ready, err := s.StartServer(ctx, Serve{}); err != nil || ready.URL != "http://127.0.0.1:1/x" {
		t.Fatalf("got %+v %v", ready, err)
	}
	if _, err := s.StartClient(ctx, Call{}); err != nil {
		t.Fatal(err)
	}
	if w, err := s.WarmUp(ctx, Run{Requests: 2}); w.Client != 2 || w.Server != 7 || w.Length() <= 0 || err != nil {
		t.Fatalf("warm-up: got %+v %v", w, err)
	}
	var client, server kept
	span, err := s.Measure(ctx, Run{Requests: 3}, &client, &server)
	if err != nil || span.Length() <= 0 {
		t.Fatalf("got %v %v", span, err)
	}
	if len(client.all) != 3 || len(server.all) != 3 || client.end == nil || server.end == nil || client.end.CPU != 77 {
		t.Errorf("got %+v and %+v", client, server)
	}
	if want := (Phases{Discovery: 5, FirstInvoke: 6}); s.Phases != want {
		t.Errorf("got phases %+v, want %+v: what was told first stays", s.Phases, want)
	}
	if err := s.End(ctx); err != nil {
		t.Errorf("end: %v", err)
	}
	want := []string{"server serve", "client call", "client run", "run ended", "server report", "client run", "run ended",
		"server report"}
	if !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}

// A run of no requests is told as such, and the moment of its end is not missed.
func TestRunWithoutRecordsEndsToo(t *testing.T) {
	var log []string
	none := func(string, map[string]any) string { return `{"type":"end","count":0,"cpu":3}` + "\n" }
	ended := 0
	s := Session{Server: fakeProgram(t, none), Client: fakeProgram(t, none),
		RunEnded: func() error { ended++; return nil }}
	var client, server kept
	span, err := s.Measure(t.Context(), Run{Duration: 1}, &client, &server)
	if err != nil || ended != 1 || client.end == nil || client.end.CPU != 3 || span.Ended.IsZero() {
		t.Errorf("got %v, the run ended %d times, %+v, %v %v", err, ended, client.end, span, log)
	}
}

func TestSessionNamesTheProgramAtFault(t *testing.T) {
	replace := func(of func(*[]string) func(string, map[string]any) string, when func(kind string, c map[string]any) bool,
		says string) func(string, map[string]any) string {
		var log []string
		good := of(&log)
		return func(kind string, c map[string]any) string {
			if when(kind, c) {
				return says
			}
			return good(kind, c)
		}
	}
	is := func(want string) func(string, map[string]any) bool {
		return func(kind string, _ map[string]any) bool { return kind == want }
	}
	warm := func(kind string, c map[string]any) bool { return kind == "run" && c["record"] != true }
	recorded := func(kind string, c map[string]any) bool { return kind == "run" && c["record"] == true }
	discard := func(kind string, c map[string]any) bool { return kind == "report" && c["discard"] == true }
	report := func(kind string, c map[string]any) bool { return kind == "report" && c["discard"] != true }
	x := string(AppendExchange(nil, measure.Exchange{Seq: 1}))
	end := func(n int) string { return fmt.Sprintf("{\"type\":\"end\",\"count\":%d}\n", n) }
	for _, tt := range []struct {
		what       string
		atServer   bool
		when       func(string, map[string]any) bool
		says, want string
	}{
		{"no serve", true, is("serve"), "hello\n", `the server did not say "ready": violated the protocol`},
		{"no URL", true, is("serve"), `{"type":"ready"}` + "\n", `no usable "url"`},
		{"a URL that is none", true, is("serve"), `{"type":"ready","url":"http://[::1"}` + "\n", `no usable "url"`},
		{"a silent server", true, is("serve"), "-", `the server did not say "ready": within 30ms`},
		{"a silent client", false, is("call"), "-", `the client did not say "ready": within 30ms`},
		{"an error of its own", false, is("call"), `{"type":"error","message":"no"}` + "\n",
			`the client did not say "ready": no`},
		{"an endless error", false, is("call"), `{"type":"error","message":"` + strings.Repeat("x", 900_000) + `"}` + "\n",
			"x… (truncated: 900000 B in total)"},
		{"a warm-up too short", false, warm, end(1),
			"the client did not end its warm-up: it miscounted: 1 requests instead of 2"},
		{"a negative warm-up", false, warm, end(-2), `"end" says -2`},
		{"records of the warm-up", false, warm, x + end(2), "an unexpected record"},
		{"records that were to be discarded", true, discard, x + end(1),
			"the server did not report on the warm-up: violated the protocol: an unexpected record"},
		{"records for none counted", false, recorded, x + end(0), `1 records, but "end" says 0`},
		{"a count without records", false, recorded, end(3), `0 records, but "end" says 3`},
		{"a count without records", true, report, end(3),
			`the server did not report on the run: violated the protocol: 0 records, but "end" says 3`},
		{"more records than asked for", false, recorded, strings.Repeat(x, 4) + end(4),
			"the client did not end its run: violated the protocol: more than 3 records"},
		{"more records than a server can have", true, report, strings.Repeat(x, 1007) + end(1007), "more than 1006 records"},
		{"words after the last answer", false, recorded, recordsOf(3) + "bye\n",
			`the client did not exit: violated the protocol: "bye\n" after its last answer`},
	} {
		var log []string
		server, client := goodServer(&log), goodClient(&log)
		if tt.atServer {
			server = replace(goodServer, tt.when, tt.says)
		} else {
			client = replace(goodClient, tt.when, tt.says)
		}
		s := &Session{Server: fakeProgram(t, server), Client: fakeProgram(t, client), ReadyWithin: 5 * time.Second}
		if tt.says == "-" {
			s.ReadyWithin = 30 * time.Millisecond
		}
		err := converse(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
		var side *SideError
		if !errors.As(err, &side) || (side.Side == measure.Server) != tt.atServer {
			t.Errorf("%s: got %#v", tt.what, err)
		}
	}
}

// converse is a whole session.
func converse(ctx context.Context, s *Session) error {
	if _, err := s.StartServer(ctx, Serve{}); err != nil {
		return err
	}
	if _, err := s.StartClient(ctx, Call{}); err != nil {
		return err
	}
	if _, err := s.WarmUp(ctx, Run{Requests: 2}); err != nil {
		return err
	}
	if _, err := s.Measure(ctx, Run{Requests: 3}, &kept{}, &kept{}); err != nil {
		return err
	}
	return s.End(ctx)
}

// The caller's own errors are no program's fault.
func TestErrorsOfTheCallerStayItsOwn(t *testing.T) {
	mine := errors.New("the disk is full")
	var log []string
	for what, spoil := range map[string]func(*Session, *kept){
		"a sink":   func(_ *Session, k *kept) { k.fails = mine },
		"RunEnded": func(s *Session, _ *kept) { s.RunEnded = func() error { return mine } },
	} {
		s := &Session{Server: fakeProgram(t, goodServer(&log)), Client: fakeProgram(t, goodClient(&log))}
		k := &kept{}
		spoil(s, k)
		_, err := s.Measure(t.Context(), Run{Requests: 3}, k, &kept{})
		var side *SideError
		if !errors.Is(err, mine) || errors.As(err, &side) {
			t.Errorf("%s: got %v, want the caller's error as it is", what, err)
		}
	}
}

// A program that does not read its input holds nobody up, whether the input knows
// deadlines or not.
func TestProgramThatDoesNotReadIsLeft(t *testing.T) {
	for _, tt := range []struct {
		what string
		hide func(net.Conn) io.WriteCloser
	}{
		{"a pipe", func(c net.Conn) io.WriteCloser { return c }},
		{"a pipe without deadlines", func(c net.Conn) io.WriteCloser { return struct{ io.WriteCloser }{c} }},
	} {
		near, far := net.Pipe() // nobody reads far
		out, _ := net.Pipe()
		s := Session{Server: NewConn(tt.hide(near), out), ReadyWithin: 20 * time.Millisecond}
		_, err := s.StartServer(t.Context(), Serve{})
		if err == nil || !strings.Contains(err.Error(), "it is not reading its input: within 20ms") {
			t.Errorf("%s: got %v", tt.what, err)
		}
		near.Close()
		far.Close()
	}
}

// Every method ends with its context, whatever the program does not do.
func TestSessionEndsWithItsContext(t *testing.T) {
	mute := func(string, map[string]any) string { return "-" }
	var log []string
	cause := errors.New("the trial is over")
	for what, do := range map[string]func(context.Context, *Session) error{
		"StartServer": func(ctx context.Context, s *Session) error { _, err := s.StartServer(ctx, Serve{}); return err },
		"StartClient": func(ctx context.Context, s *Session) error { _, err := s.StartClient(ctx, Call{}); return err },
		"WarmUp":      func(ctx context.Context, s *Session) error { _, err := s.WarmUp(ctx, Run{}); return err },
		"Measure": func(ctx context.Context, s *Session) error {
			_, err := s.Measure(ctx, Run{Requests: 1}, &kept{}, &kept{})
			return err
		},
		"Measure, the server's part": func(ctx context.Context, s *Session) error {
			s.Client = fakeProgram(t, goodClient(&log))
			_, err := s.Measure(ctx, Run{Requests: 3}, &kept{}, &kept{})
			return err
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &Session{Server: fakeProgram(t, mute), Client: fakeProgram(t, mute)}
		time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		if err := do(ctx, s); !errors.Is(err, cause) {
			t.Errorf("%s: got %v, want %v", what, err, cause)
		}
	}
}

// A client that was told how long to run is not waited for much longer, and its records take the time that they take.
func TestRunThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mute := func(string, map[string]any) string { return "-" }
		for what, do := range map[string]func(*Session, Run) error{
			"WarmUp":  func(s *Session, r Run) error { _, err := s.WarmUp(t.Context(), r); return err },
			"Measure": func(s *Session, r Run) error { _, err := s.Measure(t.Context(), r, &kept{}, &kept{}); return err },
		} {
			s := &Session{Client: fakeProgram(t, mute), Late: time.Minute}
			began := time.Now()
			err := do(s, Run{Duration: int64(2 * time.Second)})
			if took := time.Since(began); took != 62*time.Second || err == nil ||
				!strings.Contains(err.Error(), "it was told to run for 2s and had not ended 1m later") {
				t.Errorf("%s: after %v: %v", what, took, err)
			}
		}
		slow := func(string, map[string]any) string {
			time.Sleep(5 * time.Minute) // a backlog
			return recordsOf(3)
		}
		s := &Session{Client: fakeProgram(t, slow), Late: time.Minute}
		if _, err := s.Measure(t.Context(), Run{Duration: 1, Rate: 10}, &kept{}, &kept{}); err != nil {
			t.Errorf("a run at a rate: %v", err)
		}
		s = &Session{Client: fakeProgram(t, func(string, map[string]any) string { return recordsOf(3) }), Late: time.Minute}
		s.RunEnded = func() error { time.Sleep(time.Hour); return nil } // as long as what comes after the run may take
		if _, err := s.Measure(t.Context(), Run{Duration: 1}, &kept{}, &kept{}); err != nil {
			t.Errorf("records that come late: %v", err)
		}
	})
}

func TestEndOfAProgramThatStays(t *testing.T) {
	_, far := net.Pipe()
	defer far.Close()
	out, outFar := net.Pipe()
	defer outFar.Close()
	s := Session{Client: NewConn(far, out), EndWithin: 20 * time.Millisecond}
	if err := s.End(t.Context()); err == nil ||
		err.Error() != "the client did not exit within 20ms of the end of its input" {
		t.Errorf("got %v", err)
	}
}

// A server that writes to its standard output unasked fills the pipe and waits in the middle of a request: the client
// that gets no answer is not at fault.
func TestServerThatWritesUnaskedIsNamed(t *testing.T) {
	mute := func(string, map[string]any) string { return "-" }
	for what, do := range map[string]func(context.Context, *Session) error{
		"warm-up": func(ctx context.Context, s *Session) error { _, err := s.WarmUp(ctx, Run{}); return err },
		"run": func(ctx context.Context, s *Session) error {
			_, err := s.Measure(ctx, Run{Requests: 1}, &kept{}, &kept{})
			return err
		},
	} {
		for _, c := range []struct {
			writes string
			cause  error
			want   string
		}{
			{"", nil, "the client did not end its " + what + ": context deadline exceeded"},
			{"GET /\n", errors.New("too long"), `the server wrote to its standard output unasked, which nobody reads during a ` +
				`run; it may wait for that, so that the client did not end: violated the protocol: "GET /\n"; stdout belongs to ` +
				`the protocol alone`},
		} {
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(in, c.writes); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, c.cause)
			s := &Session{Server: NewConn(io.Discard, out), Client: fakeProgram(t, mute)}
			if err := do(ctx, s); err == nil || err.Error() != c.want {
				t.Errorf("%s, %q: got %v, want %s", what, c.writes, err, c.want)
			}
			cancel()
			in.Close()
			out.Close()
		}
	}
}
