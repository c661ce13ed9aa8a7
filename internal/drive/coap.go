package drive

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// coapConn speaks CoAP: confirmable requests, retransmissions and blocks as
// coap.ClientExchange does them.
type coapConn struct {
	x    *coap.ClientExchange
	call coap.Call
	buf  []byte
	// Of half the message IDs: see reusable.
	fresh      bool          // the socket has carried none
	used       uint64        // before the present half
	since, now time.Duration // when that began
}

var coapMethods = map[string]coap.Code{"GET": coap.GET, "POST": coap.POST, "PUT": coap.PUT, "DELETE": coap.DELETE}

// coapFormats are the content formats registered for CoAP (RFC 7252, section
// 12.3) that have a media type without parameters; others are given by number.
var coapFormats = map[string]coap.Format{
	"": coap.NoFormat, "text/plain": coap.Text, "application/xml": coap.XML, "application/octet-stream": coap.OctetStream,
	"application/exi": coap.EXI, "application/json": coap.JSON, "application/cbor": coap.CBOR,
}

func newCoAPConn(t *target, seed uint64) (*coapConn, error) {
	w := &coapConn{buf: make([]byte, 1<<16), call: coap.Call{NON: t.NON}, fresh: true}
	var ok bool
	if w.call.Method, ok = coapMethods[t.Method]; !ok {
		return nil, fmt.Errorf("CoAP has no method %q; write GET, POST, PUT or DELETE", t.Method)
	}
	if len(t.Header) > 0 {
		return nil, fmt.Errorf("CoAP has no header %q; remove it", t.Header[0])
	}
	var err error
	if w.call.Options, err = uriOptions(t.name, t.path, t.query); err != nil {
		return nil, err
	}
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

// uriOptions are those that a URI becomes: RFC 7252, section 6.4. What is
// percent-encoded is split before it is decoded. The port is always the one asked at.
func uriOptions(host, path, query string) ([]coap.Option, error) {
	var options []coap.Option
	if _, err := netip.ParseAddr(host); err != nil {
		options = append(options, coap.Option{Number: coap.URIHost, Value: []byte(strings.ToLower(host))})
	}
	for _, part := range []struct {
		number          coap.OptionNumber
		text, separator string
	}{{coap.URIPath, strings.TrimPrefix(path, "/"), "/"}, {coap.URIQuery, query, "&"}} {
		if part.text == "" {
			continue
		}
		for text := range strings.SplitSeq(part.text, part.separator) {
			value, err := url.PathUnescape(text)
			if err != nil {
				return nil, fmt.Errorf("%q is not percent-encoded; write %% as %%25", text)
			}
			options = append(options, coap.Option{Number: part.number, Value: []byte(value)})
		}
	}
	for _, o := range options {
		if len(o.Value) > mostURIPart {
			return nil, fmt.Errorf("%.20q… has %d bytes; CoAP takes at most %d in a host, a segment or an argument", o.Value,
				len(o.Value), mostURIPart)
		}
	}
	return options, nil
}

// mostURIPart is how long a host, a segment of a path or an argument may be, in B: RFC 7252, table 4.
const mostURIPart = 255

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
	if w.fresh {
		w.fresh, w.used, w.since = false, w.x.MessageIDs(), now
	}
	w.call.Body = buf
	w.x.Start(&w.call, now)
	return w.failure()
}

func (w *coapConn) next() []byte { return w.x.Next() }

func (w *coapConn) space() []byte { return w.buf }

func (w *coapConn) got(n int, now time.Duration) (bool, error) {
	w.now = now
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

// closed: of DTLS, the other side has ended the session; no response of CoAP ends so.
func (w *coapConn) closed() error { return io.EOF }

func (w *coapConn) reply() (int, []byte) {
	r, _ := w.x.Result()
	return int(r.Code.Class())*100 + int(r.Code&31), r.Body
}

// reusable: a message ID must not come again within EXCHANGE_LIFETIME from the same port (RFC 7252, section 4.4), or a
// server takes its message for a duplicate, and answers it as the one before. So no half of them is used in less; who
// asks more quickly goes on from another port.
func (w *coapConn) reusable() bool {
	if w.x.MessageIDs()-w.used < 1<<15 {
		return true
	}
	quick := w.now-w.since < coap.ExchangeLifetime
	w.used, w.since = w.x.MessageIDs(), w.now
	return !quick
}

// hungUp: the next request goes out from another port.
func (w *coapConn) hungUp() { w.fresh = true }

// answering: what comes besides a response are acknowledgements and answers to something else.
func (w *coapConn) answering() bool { return w.x.Answering() }

// guess: a server may answer in such a way that nobody can tell what.
func (w *coapConn) guess() string {
	switch {
	case w.x.Unopened():
		return unopened
	case w.x.Strange():
		return ", only what is malformed or has another token, message ID or type"
	}
	return ""
}

const unopened = ", only answers that OSCORE does not protect or its keys do not open"

// retransmitted: RFC 7252, section 4.2.
func (w *coapConn) retransmitted() int { return w.x.Retransmissions() }

func (w *coapConn) deadline() (time.Duration, bool) { return w.x.Deadline() }

func (w *coapConn) expire(now time.Duration) error {
	w.x.Expire(now)
	return w.failure()
}
