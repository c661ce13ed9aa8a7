package coap

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// Bodies up to 500 kB cross protected, both ways, in blocks, each block sealed
// by itself; two clients with the same IDs have contexts of their own.
func TestOSCOREBothWays(t *testing.T) {
	c1, _, _ := vectorKeys(t)
	ring := &Keyring{Keys: turned(c1)}
	s := &Server{Handler: echo, Keyring: ring}
	at := start(t, s, "127.0.0.1")
	for _, who := range []string{"one", "two"} {
		c1.IDContext = []byte(who)
		conn, err := net.Dial("udp", at)
		if err != nil {
			t.Fatal(err)
		}
		c := NewClient(conn, Params{Security: secure(t, c1)})
		defer c.Close()
		for _, n := range []int{0, 1, 1000, 1024, 1025, 100_000, 500_000} {
			for _, non := range []bool{false, true} {
				if reply := must(t, c, &Call{Method: POST, Path: "echo", Format: CBOR, Body: pattern(n),
					NON: non}); !bytes.Equal(reply.Body, pattern(n)) || reply.Code != Changed {
					t.Errorf("%s: %d bytes, NON %v: got %v, %d bytes", who, n, non, reply.Code, len(reply.Body))
				}
			}
		}
		if reply := must(t, c, &Call{Method: GET, Path: "nowhere"}); reply.Code != NotFound {
			t.Errorf("got %v", reply.Code)
		}
	}
	if len(ring.contexts) != 2 || s.Counts.Unopened.Load()+s.Counts.Replayed.Load() != 0 {
		t.Errorf("%d contexts, %d unopened, %d replayed", len(ring.contexts), s.Counts.Unopened.Load(),
			s.Counts.Replayed.Load())
	}
	plain, err := Dial(at)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if reply := must(t, plain, &Call{Method: GET, Path: "echo"}); reply.Code != Unauthorized {
		t.Errorf("without OSCORE: got %v, want 4.01", reply.Code)
	}
	c1.Secret = []byte("another")
	conn, _ := net.Dial("udp", at)
	liar := NewClient(conn, Params{Security: secure(t, c1)})
	defer liar.Close()
	if _, err := liar.Do(t.Context(), &Call{Method: GET, Path: "echo"}); !errors.Is(err, ErrExposed) {
		t.Errorf("with another secret: %v", err)
	}
	c1.IDContext = []byte("three") // a stranger's forgery must not be remembered
	conn, _ = net.Dial("udp", at)
	liar = NewClient(conn, Params{Security: secure(t, c1)})
	defer liar.Close()
	if _, err := liar.Do(t.Context(), &Call{Method: GET, Path: "echo"}); !errors.Is(err, ErrExposed) ||
		len(ring.contexts) != 2 {
		t.Errorf("with another secret and context: %v, %d contexts", err, len(ring.contexts))
	}
}

// A captured request under another message ID is no duplicate, but a replay.
func TestOSCOREReplayIsRefusedAndCounted(t *testing.T) {
	c1, _, _ := vectorKeys(t)
	asked := 0
	s := &Server{Keyring: &Keyring{Keys: turned(c1), Most: 3}, Handler: func(*Request, *Response) { asked++ }}
	d := newDesk(t, s)
	x := NewClientExchange(Params{Security: secure(t, c1)}, 1)
	x.Start(&Call{Method: POST, Path: "a"}, 0)
	datagram := bytes.Clone(x.Next())
	if x.Receive(d.raw(datagram), 0); !x.Done() || asked != 1 {
		t.Fatal("no answer")
	}
	first := d.raw(datagram) // byte for byte: answered from memory
	if asked != 1 || s.Counts.Duplicates.Load() != 1 {
		t.Errorf("a duplicate was handled again")
	}
	for i := range 1000 {
		datagram[2], datagram[3] = byte(i>>8), byte(i)
		var m Message
		if m.Decode(d.raw(datagram)); m.Code != Unauthorized && !bytes.Equal(d.raw(datagram), first) {
			t.Fatalf("a replay got %v", m.Code)
		}
	}
	if asked != 1 || s.Counts.Replayed.Load() < 999 {
		t.Errorf("handled %d times, %d replays counted", asked, s.Counts.Replayed.Load())
	}
	for i := range 100 { // each with a genuine context of its own
		k := c1
		k.IDContext = []byte{byte(i)}
		y := NewClientExchange(Params{Security: secure(t, k)}, uint64(i))
		y.Start(&Call{Method: POST, Path: "a"}, 0)
		d.raw(y.Next())
	}
	if n := len(s.Keyring.contexts); n != 3 || asked != 3 {
		t.Errorf("%d contexts are kept and %d requests handled, want at most 3", n, asked)
	}
}
