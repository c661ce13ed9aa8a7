package drive

import (
	"errors"
	"io"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// coapTCPConn speaks CoAP over TCP (RFC 8323) as coap.StreamExchange does.
type coapTCPConn struct {
	x    *coap.StreamExchange
	call coap.Call
}

// newCoAPTCPConn takes what newCoAPConn found right.
func newCoAPTCPConn(t *target, seed uint64) (*coapTCPConn, error) {
	w, err := newCoAPConn(t, seed)
	if err != nil {
		return nil, err
	}
	params := coap.Params{MaxBody: t.MostBody, ResponseTimeout: t.Timeout + time.Second}
	x := coap.NewStreamExchange(params, &t.settings, uint64(time.Now().UnixNano())+seed<<48)
	return &coapTCPConn{x: x, call: w.call}, nil
}

// settingsWait is how long what a server says of itself is waited for, beside two round trips. Tests give a busy
// machine more.
var settingsWait = 100 * time.Millisecond

// settles tells whether requests may go another way once the server has said what it takes: those above 1 KiB go in
// blocks until then.
func (d *Driver) settles() bool {
	unknown := d.Largest == 0 && d.Connection != PerRequest // a connection for nothing would be one too many
	return d.scheme == "coap+tcp" && (unknown || d.Largest > coap.BaseWhole)
}

// settle waits once for what the server says of itself, over a connection whose opening took some time, so that the
// first request goes as all others do. A server must say it first (RFC 8323, section 5.3), and some do later or not at
// all: requests are then built by what was heard until then, and no other connection waits.
func (d *Driver) settle(r *run, l *lane, opening time.Duration) error {
	if !d.settles() || d.settled {
		return nil
	}
	d.settled = true
	// a round trip to open the connection, of which the server hears half a round trip later
	for by := r.now() + settingsWait + 2*opening; !d.settings.Heard() && r.now() < by; {
		if err := r.push(l); err != nil {
			return err
		}
		n, err := l.pipe.receive(&r.pacer, l.conn.space(), by)
		if errors.Is(err, errTimeout) {
			return nil
		}
		if err == nil {
			_, err = l.conn.got(n, r.now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// presettle does it over a connection of its own where each request has one: no request waits.
func (d *Driver) presettle(r *run) {
	if d.Connection != PerRequest || !d.settles() {
		return
	}
	_ = d.connect(r, d.lanes[0], &dialing{}) // what is wrong with the server, requests will find
	d.lanes[0].hangUp()
}

func (w *coapTCPConn) headroom() int { return 0 }

// connected says that the next bytes go over a new connection.
func (w *coapTCPConn) connected() { w.x.Connected() }

func (w *coapTCPConn) start(buf []byte, now time.Duration) error {
	w.call.Body = buf
	w.x.Start(&w.call, now)
	return w.failure()
}

func (w *coapTCPConn) next() []byte { return w.x.Next() }

func (w *coapTCPConn) space() []byte { return w.x.Space() }

func (w *coapTCPConn) got(n int, now time.Duration) (bool, error) {
	if err := w.x.Took(n, now); err != nil {
		return false, err
	}
	return w.x.Done(), w.failure()
}

func (w *coapTCPConn) failure() error {
	if !w.x.Done() {
		return nil
	}
	_, err := w.x.Result()
	return err
}

// unasked takes what came between requests: what the server says of itself, a ping, or that it will end the connection.
func (w *coapTCPConn) unasked(n int) error {
	err := w.x.Took(n, 0)
	if err == nil && !w.x.Reusable() {
		return io.EOF
	}
	return err
}

// answering: what comes besides a response is what the server says of itself.
func (w *coapTCPConn) answering() bool { return w.x.Answering() }

// guess: a server may answer in such a way that nobody can tell what.
func (w *coapTCPConn) guess() string {
	if w.x.Strange() {
		return ", only answers with another token"
	}
	return ""
}

// leaving: a server that ends a connection for a fault says so.
func (w *coapTCPConn) leaving() string {
	if w.x.Aborted() {
		return ", after Abort"
	}
	return ""
}

func (w *coapTCPConn) closed() error { return io.EOF }

func (w *coapTCPConn) reply() (int, []byte) {
	r, _ := w.x.Result()
	return int(r.Code.Class())*100 + int(r.Code&31), r.Body
}

func (w *coapTCPConn) reusable() bool { return w.x.Reusable() }

func (w *coapTCPConn) deadline() (time.Duration, bool) { return w.x.Deadline() }

func (w *coapTCPConn) expire(now time.Duration) error {
	w.x.Expire(now)
	return w.failure()
}
