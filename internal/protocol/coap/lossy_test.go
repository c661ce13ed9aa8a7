package coap

import (
	"bytes"
	"container/heap"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"
)

// A world is one client, one endpoint and a network between them that loses,
// doubles, delays and reorders, all in simulated time.
type world struct {
	random *rand.Rand
	loss   float64
	queue  events
	order  int
	now    time.Duration

	x    *ClientExchange
	ep   *endpoint
	peer *peer
	slow time.Duration // handler's time
	runs int
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(e any)   { *q = append(*q, e.(event)) }
func (q *events) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

func (w *world) after(d time.Duration, do func()) {
	w.order++
	heap.Push(&w.queue, event{w.now + d, w.order, do})
}

// carry takes a datagram across, or not, or twice, now or later.
func (w *world) carry(b []byte, deliver func([]byte)) {
	b = bytes.Clone(b)
	for copies := 1; copies > 0; copies-- {
		if w.random.Float64() < w.loss/2 {
			copies++
		}
		if w.random.Float64() >= w.loss {
			w.after(time.Duration(w.random.ExpFloat64()*float64(200*time.Millisecond)), func() { deliver(b) })
		}
	}
}

// clientPort and serverPort are net.Conns of which only Write is used.
type serverPort struct {
	net.Conn
	w *world
}

func (p serverPort) Write(b []byte) (int, error) { p.w.carry(b, p.w.toClient); return len(b), nil }
func (p serverPort) RemoteAddr() net.Addr        { return net.UDPAddrFromAddrPort(someone) }

func (w *world) toClient(b []byte) { w.x.Receive(b, w.now); w.flush() }

func (w *world) flush() {
	for b := w.x.Next(); b != nil; b = w.x.Next() {
		w.carry(b, w.toServer)
	}
}

func (w *world) toServer(b []byte) {
	t := newTask(0)
	t.from = w.peer
	if !w.ep.begin(t, b, w.now) {
		w.ep.send(t.from, t.wire)
		return
	}
	w.runs++
	w.after(w.slow, func() {
		w.ep.handler(&t.req, &t.resp)
		w.ep.finish(t, w.now)
		w.ep.send(t.from, t.wire)
	})
}

// run makes one exchange and lets all that is under way arrive.
func (w *world) run(c *Call) (Reply, error) {
	w.x.Start(c, w.now)
	w.flush()
	for len(w.queue) > 0 || !w.x.Done() || len(w.ep.pending) > 0 {
		next := w.now + tickEvery
		if len(w.queue) > 0 {
			next = min(next, w.queue[0].at)
		}
		if at, ok := w.x.Deadline(); ok {
			next = min(next, at)
		}
		w.now = max(w.now, next)
		w.ep.tick(w.now)
		w.x.Expire(w.now)
		w.flush()
		for len(w.queue) > 0 && w.queue[0].at <= w.now {
			heap.Pop(&w.queue).(event).do()
		}
	}
	return w.x.Result()
}

func newWorld(seed uint64, loss float64, slow time.Duration) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 1)), loss: loss, slow: slow, x: NewClientExchange(Params{}, seed)}
	w.ep = (&Server{Handler: echo}).endpoint(nil)
	w.peer = &peer{addr: netip.AddrPort{}, conn: serverPort{w: w}}
	return w
}

// On any network an exchange ends with the right response or with ErrTimeout,
// and the handler never runs twice for one confirmable request.
func TestLossyNetwork(t *testing.T) {
	rows := []struct {
		name   string
		loss   float64
		slow   time.Duration
		bytes  int
		non    bool
		failed float64 // at most this share
	}{
		{"perfect", 0, 0, 20_000, false, 0},
		{"small, 20 % lost", 0.2, 0, 100, false, 0.03},
		{"small, 20 % lost, slow handler: separate responses", 0.2, 4 * time.Second, 100, false, 0.05},
		{"block-wise, 10 % lost", 0.1, 0, 20_000, false, 0.05},
		{"block-wise, 10 % lost, slow handler", 0.1, 4 * time.Second, 20_000, false, 0.08},
		{"small, nothing confirmable", 0.1, 0, 100, true, 0.3},
	}
	for _, r := range rows {
		const tries = 300
		failed, sentAgain := 0, 0
		for seed := range uint64(tries) {
			w := newWorld(seed, r.loss, r.slow)
			body := pattern(r.bytes)
			reply, err := w.run(&Call{Method: POST, Path: "echo", Body: body, NON: r.non})
			sentAgain += w.x.Retransmissions()
			if err != nil {
				failed++
				if !errors.Is(err, ErrTimeout) {
					t.Errorf("%s, seed %d: %v", r.name, seed, err)
				}
			} else if reply.Code != Changed || !bytes.Equal(reply.Body, body) {
				t.Errorf("%s, seed %d: got %v and %d bytes", r.name, seed, reply.Code, len(reply.Body))
			}
			if w.runs > 1 || err == nil && w.runs != 1 {
				t.Errorf("%s, seed %d: the handler ran %d times", r.name, seed, w.runs)
			}
		}
		if float64(failed) > r.failed*tries {
			t.Errorf("%s: %d of %d failed", r.name, failed, tries)
		}
		if r.loss > 0 && !r.non && sentAgain == 0 {
			t.Errorf("%s: nothing was sent again", r.name)
		}
		t.Logf("%s: %d of %d timed out, %d requests sent again", r.name, failed, tries, sentAgain)
	}
}
