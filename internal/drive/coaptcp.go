package drive

import (
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
	return &coapTCPConn{x: coap.NewStreamExchange(params, uint64(time.Now().UnixNano())+seed<<48), call: w.call}, nil
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
