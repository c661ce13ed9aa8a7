package drive

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// coapConn speaks CoAP: confirmable requests, retransmissions and blocks as
// coap.ClientExchange does them.
type coapConn struct {
	x    *coap.ClientExchange
	call coap.Call
	buf  []byte
}

var coapMethods = map[string]coap.Code{"GET": coap.GET, "POST": coap.POST, "PUT": coap.PUT, "DELETE": coap.DELETE}

// coapFormats are the content formats registered for CoAP (RFC 7252, section
// 12.3) that have a media type without parameters; others are given by number.
var coapFormats = map[string]coap.Format{
	"": coap.NoFormat, "text/plain": coap.Text, "application/xml": coap.XML, "application/octet-stream": coap.OctetStream,
	"application/exi": coap.EXI, "application/json": coap.JSON, "application/cbor": coap.CBOR,
}

func newCoAPConn(t *target, seed uint64) (*coapConn, error) {
	w := &coapConn{buf: make([]byte, 1<<16), call: coap.Call{Path: t.path, Query: t.query, NON: t.NON}}
	var ok bool
	if w.call.Method, ok = coapMethods[t.Method]; !ok {
		return nil, fmt.Errorf("CoAP has no method %q; write GET, POST, PUT or DELETE", t.Method)
	}
	if len(t.Header) > 0 {
		return nil, fmt.Errorf("CoAP has no header %q; remove it", t.Header[0])
	}
	var err error
	if w.call.Format, err = contentFormat(t.ContentType); err != nil {
		return nil, err
	}
	if w.call.Accept, err = contentFormat(t.Accept); err != nil {
		return nil, err
	}
	// Subtle: a token must not repeat one of a run or process before, so the
	// seed is the time; nothing measured depends on it.
	p := coap.Params{MaxBody: t.MostBody}
	if keys := t.Credentials.OSCORE; len(keys.Secret) > 0 {
		// Subtle: sequence numbers begin at 0 here, and a nonce must never be used
		// twice: a context of its own for every connection.
		keys.IDContext = make([]byte, 8)
		rand.Read(keys.IDContext)
		if p.Security, err = coap.NewSecurity(keys); err != nil {
			return nil, err
		}
	}
	w.x = coap.NewClientExchange(p, uint64(time.Now().UnixNano())+seed<<48)
	return w, nil
}

func contentFormat(mediaType string) (coap.Format, error) {
	if f, ok := coapFormats[mediaType]; ok {
		return f, nil
	}
	if n, err := strconv.ParseUint(mediaType, 10, 16); err == nil {
		return coap.FormatOf(uint16(n)), nil
	}
	return 0, fmt.Errorf("unknown CoAP content format for %q; write its number", mediaType)
}

func (w *coapConn) headroom() int { return 0 }

func (w *coapConn) start(buf []byte, now time.Duration) error {
	w.call.Body = buf
	w.x.Start(&w.call, now)
	return w.failure()
}

func (w *coapConn) next() []byte { return w.x.Next() }

func (w *coapConn) space() []byte { return w.buf }

func (w *coapConn) got(n int, now time.Duration) (bool, error) {
	w.x.Receive(w.buf[:n], now)
	return w.x.Done(), w.failure()
}

// failure is why an exchange is over without a response.
func (w *coapConn) failure() error {
	if !w.x.Done() {
		return nil
	}
	_, err := w.x.Result()
	return err
}

func (w *coapConn) closed() error { return nil }

func (w *coapConn) reply() (int, []byte) {
	r, _ := w.x.Result()
	return int(r.Code.Class())*100 + int(r.Code&31), r.Body
}

func (w *coapConn) reusable() bool { return true }

// retransmitted: RFC 7252, section 4.2.
func (w *coapConn) retransmitted() int { return w.x.Retransmissions() }

func (w *coapConn) deadline() (time.Duration, bool) { return w.x.Deadline() }

func (w *coapConn) expire(now time.Duration) error {
	w.x.Expire(now)
	return w.failure()
}
