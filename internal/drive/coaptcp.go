package drive

import (
	"io"
	"time"

	"edgegauge/stacks/reference/coap"
)

// coapTCPWire speaks CoAP over TCP (RFC 8323) as coap.StreamExchange does.
type coapTCPWire struct {
	x    *coap.StreamExchange
	call coap.Call
}

// newCoAPTCPWire takes what newCoAPWire found right.
func newCoAPTCPWire(t *target, seed uint64) (*coapTCPWire, error) {
	w, err := newCoAPWire(t, seed)
	if err != nil {
		return nil, err
	}
	return &coapTCPWire{x: coap.NewStreamExchange(coap.Params{MaxBody: mostBody, ResponseTimeout: t.Timeout + time.Second}, uint64(time.Now().UnixNano())+seed<<48), call: w.call}, nil
}

func (w *coapTCPWire) headroom() int { return 0 }

// connected says that the next bytes go over a new connection.
func (w *coapTCPWire) connected() { w.x.Connected() }

func (w *coapTCPWire) start(buf []byte, now time.Duration) error {
	w.call.Body = buf
	w.x.Start(&w.call, now)
	return w.failure()
}

func (w *coapTCPWire) next() []byte { return w.x.Next() }

func (w *coapTCPWire) space() []byte { return w.x.Space() }

func (w *coapTCPWire) got(n int, now time.Duration) (bool, error) {
	if err := w.x.Took(n, now); err != nil {
		return false, err
	}
	return w.x.Done(), w.failure()
}

func (w *coapTCPWire) failure() error {
	if !w.x.Done() {
		return nil
	}
	_, err := w.x.Result()
	return err
}

func (w *coapTCPWire) closed() error { return io.EOF }

func (w *coapTCPWire) reply() (int, []byte) {
	r, _ := w.x.Result()
	return int(r.Code.Class())*100 + int(r.Code&31), r.Body
}

func (w *coapTCPWire) reusable() bool { return w.x.Reusable() }

func (w *coapTCPWire) deadline() (time.Duration, bool) { return w.x.Deadline() }

func (w *coapTCPWire) expire(now time.Duration) error {
	w.x.Expire(now)
	return w.failure()
}
