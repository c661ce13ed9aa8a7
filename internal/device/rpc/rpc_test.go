package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

// pair connects a lab with an agent whose calls go to h.
func pair(t *testing.T, h Handler) (lab, agent *Conn) {
	t.Helper()
	a, b := net.Pipe()
	return greet(t, a, b, Hello{}, h)
}

func greet(t *testing.T, a, b net.Conn, mine Hello, h Handler) (lab, agent *Conn) {
	t.Helper()
	type result struct {
		c   *Conn
		err error
	}
	other := make(chan result)
	go func() {
		c, _, err := Greet(b, Agent, Hello{Build: "b"})
		other <- result{c, err}
	}()
	lab, theirs, err := Greet(a, Lab, mine)
	r := <-other
	if err != nil || r.err != nil {
		t.Fatal(err, r.err)
	}
	if theirs.Build != "b" || theirs.Protocol != Protocol {
		t.Fatalf("got %+v", theirs)
	}
	lab.Start(nil)
	r.c.Start(h)
	t.Cleanup(func() { lab.Close(); r.c.Close() })
	return lab, r.c
}

// echo answers its argument; with a stream it sends back what comes on it.
func echo(_ context.Context, op string, args json.RawMessage, streams []*Stream) (any, error) {
	if op == "fail" {
		return nil, errors.New("no such thing; write another")
	}
	for _, s := range streams {
		if _, err := io.Copy(s, s); err != nil {
			return nil, err
		}
		s.Close()
	}
	return args, nil
}

func TestCalls(t *testing.T) {
	lab, _ := pair(t, echo)
	var got map[string]int
	if err := lab.Call(t.Context(), "echo", map[string]int{"a": 1}, &got); err != nil || got["a"] != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	var said *CallError
	if err := lab.Call(t.Context(), "fail", nil, nil); !errors.As(err, &said) ||
		said.Message != "no such thing; write another" {
		t.Errorf("got %v", err)
	}
	if err := lab.Call(t.Context(), "echo", strings.Repeat("x", maxFrame), nil); err == nil ||
		!strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v, want refused", err)
	}
}

func TestStreamBothWays(t *testing.T) {
	lab, _ := pair(t, echo)
	want := bytes.Repeat([]byte("0123456789"), 100_000) // many windows
	s := lab.Open()
	called := make(chan error, 1)
	go func() { called <- lab.Call(t.Context(), "echo", nil, nil, s) }()
	go func() {
		s.Write(want)
		s.CloseWrite(nil)
	}()
	got, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
	}
	if err := <-called; err != nil {
		t.Error(err)
	}
}

// Who does not read a stream stops its writer, but no call and no other stream.
func TestSlowReaderStopsOnlyItsStream(t *testing.T) {
	written := make(chan int, 1)
	lab, _ := pair(t, func(_ context.Context, op string, args json.RawMessage, streams []*Stream) (any, error) {
		if op != "flood" {
			return "fine", nil
		}
		n, _ := streams[0].Write(make([]byte, 10*window))
		written <- n
		return nil, nil
	})
	s := lab.Open()
	go lab.Call(t.Context(), "flood", nil, nil, s)
	for range 50 {
		var got string
		if err := lab.Call(t.Context(), "other", nil, &got); err != nil || got != "fine" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	select {
	case n := <-written:
		t.Errorf("%d bytes were written that nobody read", n)
	case <-time.After(20 * time.Millisecond):
	}
	s.Close()
	if n := <-written; n > window {
		t.Errorf("got %d bytes out, at most %d were welcome", n, window)
	}
}

func TestDeadlineEndsARead(t *testing.T) {
	lab, _ := pair(t, func(ctx context.Context, _ string, _ json.RawMessage, streams []*Stream) (any, error) {
		<-ctx.Done()
		return nil, nil
	})
	s := lab.Open()
	go lab.Call(t.Context(), "wait", nil, nil, s)
	time.AfterFunc(20*time.Millisecond, func() { s.SetReadDeadline(time.Unix(1, 0)) })
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	s.SetReadDeadline(time.Time{})
	time.AfterFunc(20*time.Millisecond, func() { lab.rw.Close() })
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
		t.Errorf("got %v, want the connection lost", err)
	}
}

func TestGivingUpReachesTheHandler(t *testing.T) {
	ended := make(chan struct{})
	lab, _ := pair(t, func(ctx context.Context, _ string, _ json.RawMessage, _ []*Stream) (any, error) {
		<-ctx.Done()
		close(ended)
		return nil, nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := lab.Call(ctx, "wait", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	<-ended
}

// The end of the bytes ends every call, stream and handler, on both sides.
func TestLostConnection(t *testing.T) {
	lab, agent := pair(t, func(ctx context.Context, _ string, _ json.RawMessage, streams []*Stream) (any, error) {
		<-ctx.Done()
		return nil, nil
	})
	time.AfterFunc(20*time.Millisecond, func() { agent.rw.Close() })
	if err := lab.Call(t.Context(), "wait", nil, nil); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	<-lab.Done()
	<-agent.Done()
	if err := lab.Call(t.Context(), "wait", nil, nil); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
	if _, err := lab.Open().Write([]byte("x")); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

// deafConn swallows what is written after a while: a cable that was pulled.
type deafConn struct {
	net.Conn
	cut chan struct{}
}

func (d deafConn) Write(b []byte) (int, error) {
	select {
	case <-d.cut:
		return len(b), nil
	default:
		return d.Conn.Write(b)
	}
}

// What was heard last is noted by a clock that nobody sets: a wall clock that is set ahead would end the connection.
func TestSilenceIsNotOfTheWallClock(t *testing.T) {
	before := kernel.Monotonic()
	lab, agent := pair(t, echo)
	if err := lab.Call(t.Context(), "echo", 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Conn{lab, agent} {
		if at := time.Duration(c.heard.Load()); at < before || at > kernel.Monotonic() {
			t.Errorf("heard at %v, which is not between %v and now", at, before)
		}
	}
}

func TestSilenceIsDeath(t *testing.T) {
	var lab, agent *Conn
	var cut chan struct{}
	for silence := 300 * time.Millisecond; ; silence *= 4 { // a busy machine may stand still for so long
		a, b := net.Pipe()
		cut = make(chan struct{})
		lab, agent = greet(t, deafConn{a, cut}, b, Hello{Silence: silence}, echo)
		time.Sleep(2*silence + 100*time.Millisecond)
		err := errors.Join(lab.Err(), agent.Err())
		if err == nil {
			break
		}
		if silence > 4*time.Second {
			t.Fatalf("pings did not keep it: %v", err)
		}
	}
	close(cut)
	<-agent.Done()
	<-lab.Done()
	if both := fmt.Sprint(agent.Err(), lab.Err()); !strings.Contains(both, "nothing was received") {
		t.Errorf("got %v", both)
	}
}

func TestGreetings(t *testing.T) {
	for _, tt := range []struct{ what, said, want string }{
		{"a login message first", "Welcome to Raspbian\r\n\r\n$ " + Agent.magic() +
			`{"protocol":1,"build":"x","new":[1]}` + "\n", ""},
		{"our own echo first", Lab.magic() + `{"protocol":1}` + "\n" + Agent.magic() + `{"protocol":1}` + "\n", ""},
		{"version mismatch", Agent.magic() + `{"protocol":7,"build":"v9"}` + "\n",
			"speaks protocol 7, this program 1; use the same edgegauge at both ends"},
		{"a shell that says no", "sh: ./edgegauge: Permission denied\n",
			`the last data received were "sh: ./edgegauge: Permission denied"`},
		{"nothing", "", "EOF"},
		{"half a greeting", Agent.magic() + `{"protocol"`, "EOF"},
		{"no greeting", Agent.magic() + "hello\n", "not the agent's protocol"},
		{"endless noise", strings.Repeat("noise ", maxNoise), "without a greeting"},
	} {
		a, b := net.Pipe()
		go func() {
			go io.Copy(io.Discard, b)
			io.WriteString(b, tt.said)
			if tt.want != "" {
				b.Close()
			}
		}()
		c, _, err := Greet(a, Lab, Hello{})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
		if err == nil {
			c.Start(nil)
			c.Close()
		}
		a.Close()
	}
}

// bytesConn plays bytes to whoever reads and swallows what is written.
type bytesConn struct{ io.Reader }

func (bytesConn) Write(b []byte) (int, error) { return len(b), nil }
func (bytesConn) Close() error                { return nil }

func agentOn(b []byte) *Conn {
	c := newConn(bytesConn{bytes.NewReader(b)}, bytes.NewReader(b), Agent, Hello{}, Hello{})
	c.Start(echo)
	return c
}

func TestNoiseEndsTheConnection(t *testing.T) {
	for _, tt := range []struct {
		what string
		b    []byte
	}{
		{"no such kind", appendFrame(nil, kinds, 1, nil)},
		{"a length of 4 GB", append([]byte{byte(data)}, bytes.Repeat([]byte{0xff}, 8)...)},
		{"a call that is no JSON", appendFrame(nil, call, 1, []byte("{"))},
		{"a stream given twice", appendFrame(nil, call, 1, []byte(`{"op":"echo","streams":[5,5]}`))},
		{"an answer that is no JSON", appendFrame(nil, answer, 1, []byte("{"))},
		{"a credit of 3 bytes", append(appendFrame(nil, call, 1, []byte(`{"op":"echo","streams":[5]}`)),
			appendFrame(nil, more, 5, []byte{1, 2, 3})...)},
		{"too much credit", append(appendFrame(nil, call, 1, []byte(`{"op":"echo","streams":[5]}`)),
			appendFrame(nil, more, 5, []byte{0xff, 0, 0, 0})...)},
	} {
		c := agentOn(tt.b)
		<-c.Done()
		if !errors.Is(c.Err(), ErrNoise) {
			t.Errorf("%s: got %v", tt.what, c.Err())
		}
	}
}

// A stream that is not read takes no more than its window.
func TestNoMoreThanTheWindow(t *testing.T) {
	s := newStream(nil, 1)
	for range window / chunk {
		if err := s.take(frame{data, 1, make([]byte, chunk)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.take(frame{data, 1, []byte("x")}); !errors.Is(err, ErrNoise) {
		t.Errorf("got %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(appendFrame(nil, call, 7, []byte(`{"op":"echo","args":[1,2],"streams":[1]}`)))
	f.Add(append(appendFrame(nil, call, 7, []byte(`{"op":"echo","streams":[9]}`)),
		appendFrame(nil, data, 9, []byte("hello"))...))
	f.Add(appendFrame(appendFrame(nil, more, 9, []byte{0, 0, 1, 0}), end, 9, []byte("why")))
	f.Add(append([]byte{byte(data)}, bytes.Repeat([]byte{0xff}, 8)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := frameReader{r: bytes.NewReader(b)}
		var again []byte
		for {
			x, err := r.next()
			if err != nil {
				break
			}
			again = appendFrame(again, x.kind, x.id, x.payload)
		}
		if !bytes.HasPrefix(b, again) {
			t.Errorf("%x was read, and written again as %x", b, again)
		}
		c := agentOn(b) // no panic, no hang
		<-c.Done()
		if c.Err() == nil {
			t.Error("it ended without a reason")
		}
	})
}

func FuzzGreeting(f *testing.F) {
	f.Add([]byte("noise\n" + Agent.magic() + `{"protocol":1,"build":"x"}` + "\n"))
	f.Add([]byte(Agent.magic() + "{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, h, err := Greet(bytesConn{bytes.NewReader(b)}, Lab, Hello{})
		if err == nil && (h.Protocol != Protocol || !bytes.Contains(b, []byte(Agent.magic()))) {
			t.Errorf("%q was taken for a greeting: %+v", b, h)
		}
		if err == nil {
			c.Start(nil)
			<-c.Done()
		}
	})
}

func BenchmarkCall(b *testing.B) {
	x, y := net.Pipe()
	go func() {
		c, _, err := Greet(y, Agent, Hello{})
		if err == nil {
			c.Start(echo)
		}
	}()
	lab, _, err := Greet(x, Lab, Hello{})
	if err != nil {
		b.Fatal(err)
	}
	lab.Start(nil)
	defer lab.Close()
	for b.Loop() {
		if err := lab.Call(b.Context(), "echo", 1, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// Who wakes a stream waits for its lock: else it may fall between a reader's look at
// the clock, which holds the lock, and the wait that follows, and wake nobody.
func TestWakeWaitsForTheLock(t *testing.T) {
	s := newStream(nil, 1)
	s.mu.Lock()
	woken := make(chan struct{})
	go func() { s.wake(); close(woken) }()
	select {
	case <-woken:
		t.Error("it woke who had not begun to wait")
	case <-time.After(20 * time.Millisecond):
	}
	s.mu.Unlock()
	<-woken
}

// A deadline that passes between a look at the clock and the wait wakes the wait.
func TestDeadlineIsNeverLost(t *testing.T) {
	s := newStream(nil, 1)
	s.given = true
	s.credit = 0
	for i := range 2_000 {
		for name, act := range map[string]func() error{
			"read": func() error {
				s.SetReadDeadline(time.Now().Add(time.Duration(i % 3000)))
				_, err := s.Read(make([]byte, 1))
				return err
			},
			"write": func() error {
				s.SetWriteDeadline(time.Now().Add(time.Duration(i % 3000)))
				_, err := s.Write([]byte{1})
				return err
			},
		} {
			done := make(chan error, 1)
			go func() { done <- act() }()
			select {
			case err := <-done:
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("%s %d: got %v", name, i, err)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%s %d: its deadline has passed, and it waits", name, i)
			}
		}
	}
}

// greetedByWhoTakesNothing is a lab's side of a connection whose other side takes nothing after the greeting.
func greetedByWhoTakesNothing(t *testing.T) *Conn {
	t.Helper()
	lab, agent := net.Pipe() // without a buffer: a write waits for its reader
	go func() {
		in := bufio.NewReader(agent)
		fmt.Fprintf(agent, "%s{\"protocol\":%d}\n", Agent.magic(), Protocol)
		in.ReadString('\n')
	}()
	c, _, err := Greet(lab, Lab, Hello{})
	if err != nil {
		t.Fatal(err)
	}
	c.Start(nil)
	return c
}

// Who calls a side that takes nothing any more waits no longer than he says, nor
// does who closes.
func TestCallToWhoTakesNothing(t *testing.T) {
	c := greetedByWhoTakesNothing(t)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := c.Call(ctx, "hang", nil, nil)
		c.Close()
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
}

// A side that takes nothing any more is given up, though nobody who calls has a limit.
func TestWriteToWhoTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := greetedByWhoTakesNothing(t)
		began := time.Now()
		err := c.Call(t.Context(), "hang", nil, nil)
		if took := time.Since(began); !errors.Is(err, ErrLost) || took != mostWrite {
			t.Errorf("got %v after %v", err, took)
		}
		c.Close()
	})
}
