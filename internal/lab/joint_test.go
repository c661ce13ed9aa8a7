package lab

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/rpc"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// answering joins us with another end that answers calls.
func answering(t *testing.T, h rpc.Handler) *rpc.Conn {
	t.Helper()
	a, b := net.Pipe()
	theirs := make(chan *rpc.Conn)
	go func() {
		conn, _, err := rpc.Greet(b, rpc.Agent, rpc.Hello{})
		if err != nil {
			t.Error(err)
		}
		conn.Start(h)
		theirs <- conn
	}()
	conn, _, err := rpc.Greet(a, rpc.Lab, rpc.Hello{})
	if err != nil {
		t.Fatal(err)
	}
	conn.Start(nil)
	other := <-theirs
	t.Cleanup(func() { conn.Close(); other.Close() })
	return conn
}

// A clock that is far ahead or behind is found, and the truth lies within the bound, however unlike the
// ways there and back are.
func TestOffsets(t *testing.T) {
	for _, x := range []struct{ ahead, there, back time.Duration }{
		{time.Hour, 0, 0}, {-time.Hour, 2 * time.Millisecond, 0}, {time.Minute, 0, 2 * time.Millisecond},
	} {
		n := 0
		conn := answering(t, func(context.Context, string, json.RawMessage, []*rpc.Stream) (any, error) {
			n++
			time.Sleep(x.there)
			now := kernel.Monotonic() + x.ahead
			time.Sleep(x.back)
			return now, nil
		})
		got, err := measureOffset(t.Context(), conn)
		if err != nil || (got.Ahead-x.ahead).Abs() > got.Bound || got.Bound < (x.there+x.back)/2 || n != clockExchanges {
			t.Errorf("%+v: got %+v from %d exchanges, %v", x, got, n, err)
		}
	}
}

// What two clocks drift apart during a run counts, but not what two measurements of them may differ by anyhow.
func TestBoundHoldsTheDrift(t *testing.T) {
	h := helping{before: offset{1000, 30}, after: offset{1020, 40}}
	if got := h.bound(); got != 30 {
		t.Errorf("without a drift that shows: got %d, want 30", got)
	}
	h.after.Ahead = 1100
	if got := h.bound(); got != 30+60 {
		t.Errorf("with a drift of 100: got %d, want 90", got)
	}
}

// How far apart benches began holds the bounds of both, of two helpers too.
func TestFarthest(t *testing.T) {
	h := func(at, bound time.Duration) *helping {
		return &helping{began: began{At: at}, before: offset{0, bound}, after: offset{0, bound}}
	}
	for want, j := range map[time.Duration]*joint{
		7:  {began: 100, helpers: []*helping{h(103, 4)}},
		14: {began: 100, helpers: []*helping{h(103, 4), h(98, 5)}}, // 5 apart, and 9
		9:  {began: 100, helpers: []*helping{h(100, 4), h(100, 5)}},
		25: {began: 80, helpers: []*helping{h(100, 4), h(100, 5)}},
	} {
		if got := j.farthest(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

// A trial is invalid whose benches began too far apart.
func TestTooFarApart(t *testing.T) {
	for _, tt := range []struct {
		what string
		of   evidence
		want string
	}{
		{"as far as may be", evidence{setup: &study.Setup{DrivenFrom: 2, Duration: time.Second},
			apart: 10 * time.Millisecond}, ""},
		{"farther", evidence{setup: &study.Setup{DrivenFrom: 2, Duration: time.Second},
			apart: 10*time.Millisecond + time.Microsecond},
			"the benches began up to 10.001ms apart, as far as their clocks tell; 10ms is allowed"},
		{"one bench", evidence{setup: &study.Setup{DrivenFrom: 1, Duration: time.Second}, apart: time.Hour}, ""},
	} {
		if got := tt.of.togetherBegun(); (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

// At a rate, each bench's client must have had time to spare.
func TestBenchesThatWereBusy(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		what string
		of   []benchRun
		want string
	}{
		{"all have time", []benchRun{{"b2", 79 * s, 100 * s}, {"", 79 * s, 100 * s}}, ""},
		{"another has none", []benchRun{{"b2", 81 * s, 100 * s}, {"", s, 100 * s}},
			"the client of bench b2 was busy for 81 % of the run: at 50 requests per second it measures itself"},
		{"this one has none", []benchRun{{"b2", s, 100 * s}, {"", 90 * s, 100 * s}},
			"the client was busy for 90 % of the run"},
	} {
		e := evidence{setup: &study.Setup{DrivenFrom: 2, Rate: 50}, tallies: new(tallies), benches: tt.of}
		e.sides[atClient].last = int64(100 * s)
		if got := e.driver(); (tt.want == "") != (got == "") || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.what, got, tt.want)
		}
	}
}

// What is written to a held client waits for the instant, on the helper's clock, and the helper says when
// that was; what comes next does not wait.
func TestHeldUntil(t *testing.T) {
	c := &helped{until: kernel.Monotonic() + time.Hour + 30*time.Millisecond}
	clock := func() time.Duration { return kernel.Monotonic() + time.Hour }
	want := c.until
	c.await(clock)
	if got := c.began.At; got < want || got > clock() {
		t.Errorf("begun at %v, want %v", got, want)
	}
	began := c.began.At
	if c.await(clock); c.began.At != began {
		t.Error("what came next waited too")
	}
}

// Clients that two calls start at once, and one that becomes ready while the conversation ends, do not stay.
func TestHelperLeavesNoClient(t *testing.T) {
	h := &helper{}
	var all []*killable
	put := func() (*killable, error) {
		k := &killable{}
		all = append(all, k)
		return k, h.put(t.Context(), &helped{process: k, dir: t.TempDir()})
	}
	first, err := put()
	second, err2 := put()
	if err = errors.Join(err, err2); err != nil || !first.killed || second.killed {
		t.Errorf("%v; the first client has ended: %v, the second: %v", err, first.killed, second.killed)
	}
	h.close()
	if _, err := put(); err == nil {
		t.Error("a client was taken though the conversation had ended")
	}
	for i, k := range all {
		if !k.killed {
			t.Errorf("client %d is left", i+1)
		}
	}
}

// A killable is a process that remembers that it was killed.
type killable struct {
	process
	killed bool
}

func (k *killable) Kill() device.Exit {
	k.killed = true
	return device.Exit{}
}

// The run of all ends when one fails, whoever that is, and that one is named.
func TestOneFailsAll(t *testing.T) {
	for _, who := range []string{"a", "b", "ours", "a late", "b late"} {
		conn := answering(t, func(context.Context, string, json.RawMessage, []*rpc.Stream) (any, error) { return nil, nil })
		j := &joint{programs: &programs{session: &stack.Session{}}}
		for _, name := range []string{"a", "b"} {
			j.helpers = append(j.helpers, &helping{Helper: Helper{Bench: name, Conn: conn}, session: &stack.Session{}})
		}
		fails := errors.New("it fails")
		var once sync.Once
		run := func(ctx context.Context, name string, s *stack.Session) error {
			if name == who {
				once.Do(func() { time.Sleep(10 * time.Millisecond) })
				return fails
			}
			if err := s.RunEnded(); err != nil || name+" late" != who { // its records are not what they should be
				return err
			}
			return fails
		}
		err := j.together(t.Context(), nil, func(ctx context.Context, h *helping) error {
			return run(ctx, h.Bench,
				h.session)
		},
			func(ctx context.Context) error { return run(ctx, "ours", j.programs.session) })
		if !errors.Is(err, fails) || who != "ours" && !strings.Contains(err.Error(), "bench "+who[:1]) {
			t.Errorf("%s fails: got %v", who, err)
		}
	}
}

// A bench's run lasts until its last request is over, answered or not: its client is busy for a share of that.
func TestARunOfABenchEndsWithItsLastRequest(t *testing.T) {
	j := &joint{own: &jointSink{end: stack.End{CPU: 500 * time.Millisecond}}}
	for _, x := range []measure.Exchange{{Seq: 1, Sent: 1, Done: time.Millisecond},
		{Seq: 2, Due: time.Millisecond, Sent: time.Millisecond, Total: time.Second, Failure: "no response within 1s"}} {
		j.own.count(x)
	}
	got := j.runs()
	if len(got) != 1 || got[0].last != 1001*time.Millisecond || j.own.n != 2 {
		t.Fatalf("got %+v of %d requests", got, j.own.n)
	}
	e := &evidence{setup: &study.Setup{Rate: 1}, benches: got}
	if why := e.busyBench(0.8); why != "" {
		t.Error(why)
	}
	if got[0].last = 600 * time.Millisecond; e.busyBench(0.8) == "" {
		t.Error("half a second of CPU time in 0.6 s is not said")
	}
}
