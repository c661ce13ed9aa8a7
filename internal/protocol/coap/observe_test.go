package coap

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A clock is a resource whose state is a number, and a large one.
type clock struct{ n atomic.Int64 }

func (c *clock) serve(req *Request, resp *Response) {
	switch string(req.Path) {
	case "clock":
		resp.Body = fmt.Append(resp.Body, c.n.Load())
	case "large":
		resp.Body = append(resp.Body, strings.Repeat(fmt.Sprint(c.n.Load()%10), 5000)...)
	case "gone":
		if c.n.Load() > 0 {
			resp.Code = NotFound
		}
	}
}

func everything([]byte) bool { return true }

func TestObserve(t *testing.T) {
	for _, kind := range []Type{Confirmable, NonConfirmable} {
		c := &clock{}
		s := &Server{Handler: c.serve, Observable: everything, Notifications: kind}
		client, err := Dial(start(t, s, "127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for _, path := range []string{"clock", "large"} {
			last, heard := "", 0
			err = client.Observe(ctx, &Call{Method: GET, Path: path}, func(r Reply) bool {
				heard++
				if last = string(r.Body); r.Code != Content || path == "large" && len(last) != 5000 {
					t.Errorf("%v: got %v, %d bytes", kind, r.Code, len(last))
				}
				if heard == 20 {
					return false
				}
				c.n.Add(1)
				s.Changed(path)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprint(c.n.Load()); path == "clock" && last != want {
				t.Errorf("the last state heard is %s, want %s", last, want)
			}
		}
		s.Changed("clock")
		if n := s.Counts.Notifications.Load(); n != 38 {
			t.Errorf("%v: %d notifications, want 38: after deregistration none", kind, n)
		}
		if err := client.Observe(ctx, &Call{Method: GET, Path: "gone"},
			func(Reply) bool { c.n.Add(1); s.Changed("gone"); return true }); !errors.Is(err, ErrNotObserved) {
			t.Errorf("an error as notification: %v", err)
		}
	}
}

// A server that has nothing to observe, or not this, answers a plain GET.
func TestObserveWhatCannotBeObserved(t *testing.T) {
	for name, observable := range map[string]func([]byte) bool{"nothing": nil,
		"not this": func([]byte) bool { return false }} {
		client, err := Dial(start(t, &Server{Handler: (&clock{}).serve, Observable: observable}, "127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		call := &Call{Method: GET, Path: "clock"}
		if err := client.Observe(ctx, call, func(Reply) bool { return false }); !errors.Is(err, ErrNotObserved) {
			t.Errorf("%s is observable: %v", name, err)
		}
	}
}

// Who does not acknowledge hears one notification five times and is struck out;
// who answers with a reset at once; nobody can make the server remember more than MaxObservers.
func TestObserversThatAreGone(t *testing.T) {
	c := &clock{}
	s := &Server{Handler: c.serve, Observable: everything, MaxObservers: 40}
	d := newDesk(t, s)
	d.ep.enlist()
	out := &recorder{}
	register := func(from byte, token string) string {
		d.peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, from}), 5683)
		m := Message{Code: GET, ID: uint16(from)<<8 | uint16(token[0]), Token: []byte(token)}
		m.Add(Observe, nil)
		m.AddString(URIPath, "clock")
		var answer Message
		answer.Decode(d.raw(m.Append(nil)))
		if _, ok := answer.Uint(Observe); ok {
			return "observed"
		}
		return "not"
	}
	for i := range 100 {
		register(1, string([]byte{byte(i), 1}))
	}
	if n := len(d.ep.observers); n != maxObserving {
		t.Errorf("one peer has %d observers", n)
	}
	for i := range 200 {
		register(byte(i), "t")
	}
	if n := len(d.ep.observers); n != 40 {
		t.Errorf("%d observers", n)
	}
	for p := range d.ep.peers {
		d.ep.peers[p].conn = out // answers are recorded
	}
	s.Changed("clock")
	if len(out.sent) != 40 || len(d.ep.pending) != 40 {
		t.Errorf("%d notifications sent, %d wait", len(out.sent), len(d.ep.pending))
	}
	first := d.ep.pending[0]
	d.ep.mu.Lock()
	d.ep.settle(first.peer, first.id, true)
	d.ep.mu.Unlock()
	if n := len(d.ep.observers); n != 39 {
		t.Errorf("%d observers after a reset", n)
	}
	for i, o := range d.ep.observers {
		if o.at != i || !slices.Contains(o.peer.observers, o) {
			t.Errorf("observer %d has place %d, and its peer %d", i, o.at, len(o.peer.observers))
		}
	}
	s.Changed("clock") // nobody has acknowledged: nothing more is sent
	if len(out.sent) != 40 || d.ep.owed != 39 {
		t.Errorf("%d notifications sent without an acknowledgement, %d owed", len(out.sent), d.ep.owed)
	}
	now := d.ep.now()
	for range 2000 {
		now += 100 * time.Millisecond
		d.ep.tick(now)
	}
	if len(out.sent) != 40+39*4 || len(d.ep.observers) != 0 || len(d.ep.pending) != 0 || d.ep.owed != 0 {
		t.Errorf("%d datagrams sent, %d observers and %d notifications left, %d owed", len(out.sent), len(d.ep.observers),
			len(d.ep.pending), d.ep.owed)
	}
	for _, p := range d.ep.peers {
		if p.busy != 0 {
			t.Errorf("peer %v is busy %d times", p.addr, p.busy)
		}
	}
}

// RFC 7641, section 3.4.
func TestFresher(t *testing.T) {
	for _, tt := range []struct {
		a, b uint32
		d    time.Duration
		want bool
	}{{1, 2, 0, true}, {2, 1, 0, false}, {2, 2, 0, false}, {1<<24 - 1, 0, 0, true}, {0, 1<<24 - 1, 0, false},
		{2, 1, 129 * time.Second, true}} {
		if got := fresher(tt.a, tt.b, 0, tt.d); got != tt.want {
			t.Errorf("%d after %d, %v later: %v", tt.b, tt.a, tt.d, got)
		}
	}
}

// registration is one of token t.
func registration(path string) []byte {
	m := Message{Type: NonConfirmable, Code: GET, Token: []byte("t")}
	m.Add(Observe, nil)
	m.AddString(URIPath, path)
	return m.Append(nil)
}

// RFC 7641, section 1.3: an observer comes to know the latest state, also where it changes while the handler is at work
// for the registration (the first call) or for a notification of an earlier change (the second).
func TestObserversAreLeftWithTheLatestState(t *testing.T) {
	for change := 1; change <= 2; change++ {
		state, calls := 1, 0
		s := &Server{Observable: everything, Notifications: NonConfirmable}
		s.Handler = func(_ *Request, resp *Response) {
			resp.Body = append(resp.Body, make([]byte, state)...)
			if calls++; calls == change {
				state++
				s.Changed("clock")
			}
		}
		d, out := newDesk(t, s), &recorder{}
		d.ep.enlist()
		d.raw(registration("clock"))
		d.ep.peers[someone].conn = out
		if change == 2 {
			state++
			s.Changed("clock")
		}
		for range 3 {
			d.ep.tick(d.ep.now())
		}
		want := fmt.Sprintf("(%d)", state)
		if n := len(out.sent); n != change || !strings.Contains(out.sent[n-1], want) {
			t.Errorf("changed in call %d: told %q, want %d notifications and %s last", change, out.sent, change, want)
		}
	}
}

// An observer that says nothing is not forgotten, and not looked at with every tick: among 100,000 of them that took
// 7 ms of each 100.
func TestSilentObserversAreLeftAlone(t *testing.T) {
	s := &Server{Handler: func(*Request, *Response) {}, Observable: everything, Notifications: NonConfirmable}
	d := newDesk(t, s)
	d.raw(registration("a"))
	observer := d.ep.peers[someone]
	d.peer = netip.MustParseAddrPort("192.0.2.2:5683")
	d.ask("CON")
	for _, tt := range []struct {
		now, looked time.Duration
		peers       int
	}{{ExchangeLifetime - 1, 0, 2}, {ExchangeLifetime, ExchangeLifetime, 1},
		{2*ExchangeLifetime - 1, ExchangeLifetime, 1}} {
		d.ep.tick(tt.now)
		if observer.at != tt.looked || d.ep.peers[someone] != observer || len(d.ep.peers) != tt.peers {
			t.Fatalf("after %v: looked at after %v, %d peers; want %v and %d", tt.now, observer.at, len(d.ep.peers),
				tt.looked, tt.peers)
		}
	}
	d.ep.unobserve(d.ep.observers[0])
	if d.ep.tick(2 * ExchangeLifetime); len(d.ep.peers) != 0 {
		t.Error("who observes no more is not forgotten")
	}
}

// RFC 7641, section 4.1: a registration with the token of an earlier one takes its place.
func TestRegistrationsAreReplaced(t *testing.T) {
	s := &Server{Handler: func(*Request, *Response) {}, Observable: everything, Notifications: NonConfirmable}
	d, out := newDesk(t, s), &recorder{}
	d.ep.enlist()
	for id, path := range []string{"a", "b"} {
		b := registration(path)
		b[3] = byte(id)
		d.raw(b)
	}
	d.ep.peers[someone].conn = out
	for _, path := range []string{"a", "b"} {
		s.Changed(path)
		if n := len(out.sent); n != int(path[0]-'a') {
			t.Errorf("%d notifications after %s has changed, of who observes b", n, path)
		}
	}
}

// RFC 7252, section 4.4: towards one peer a message ID is not used again within EXCHANGE_LIFETIME, however many others
// the server tells. With 8192 observers and one count for all, the eighth notification would have the first one's.
func TestMessageIDsAreOfEachPeer(t *testing.T) {
	const observers, changes = 8192, 12
	s := &Server{Handler: (&clock{}).serve, Observable: everything, Notifications: NonConfirmable,
		MaxObservers: observers, MaxPeers: 2 * observers}
	d := newDesk(t, s)
	d.ep.enlist()
	told := make([]*idsOf, observers)
	for i := range told {
		d.peer = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 5683)
		told[i] = &idsOf{}
		told[i].Write(d.raw(registration("clock")))
		d.ep.peers[d.peer].conn = told[i]
	}
	for range changes {
		s.Changed("clock")
	}
	for i, p := range told {
		if len(p.seen) != changes+1 || p.again > 0 {
			t.Fatalf("observer %d: %d message IDs in %d messages, %d times one again", i, len(p.seen), changes+1, p.again)
		}
	}
}

// idsOf are the message IDs of what a peer was sent.
type idsOf struct {
	recorder
	seen  map[[2]byte]bool
	again int
}

func (p *idsOf) Write(b []byte) (int, error) {
	id := [2]byte{b[2], b[3]}
	if p.seen[id] {
		p.again++
	}
	if p.seen == nil {
		p.seen = map[[2]byte]bool{}
	}
	p.seen[id] = true
	return len(b), nil
}
