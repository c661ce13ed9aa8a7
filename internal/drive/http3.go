package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// HTTP3 is a Spec.Protocol: RFC 9114 over QUIC.
const HTTP3 = "h3"

// http3Wire is a lane that moves its own bytes: QUIC is quic-go's, with its
// goroutines, timers and packets. So the driver's other engines do not fit, and
// what a trip through the runtime's scheduler costs lies inside the RTT.
type http3Wire struct {
	untimed
	d       *Driver
	lane    *lane
	request http.Request
	conn    *http3Conn
	body    []byte // of the request
	reader  bytes.Reader
	status  int
	answer  []byte
}

// An http3Conn is a QUIC connection, of one lane or shared by all.
type http3Conn struct {
	quic *quic.Conn
	h3   *http3.ClientConn
}

// http3Window is so large that a response never waits for it, as HTTP/2's here.
const http3Window = 64 << 20 // B

func (d *Driver) newHTTP3Wire(l *lane) *http3Wire {
	w := &http3Wire{d: d, lane: l}
	w.request = http.Request{Method: d.Method, Host: d.host, Header: http.Header{},
		URL: &url.URL{Scheme: "https", Host: d.host, Path: d.path}}
	if path, query, ok := strings.Cut(d.path, "?"); ok {
		w.request.URL.Path, w.request.URL.RawQuery = path, query
	}
	set := func(name, value string) {
		if value != "" {
			w.request.Header.Add(name, value)
		}
	}
	set("Content-Type", d.ContentType)
	set("Accept", d.Accept)
	for _, line := range d.Header {
		name, value, _ := strings.Cut(line, ":")
		set(name, strings.TrimSpace(value))
	}
	w.request.Header["User-Agent"] = nil // as the other drivers: none
	return w
}

// dial makes a connection. Note: 0-RTT is for GET and HEAD in quic-go, and our
// requests are POST, which RFC 8470, section 4, keeps out of early data.
func (w *http3Wire) dial(ctx context.Context) (*http3Conn, error) {
	config := &quic.Config{InitialStreamReceiveWindow: http3Window, MaxStreamReceiveWindow: http3Window,
		InitialConnectionReceiveWindow: http3Window, MaxConnectionReceiveWindow: http3Window, HandshakeIdleTimeout: w.d.Timeout}
	conn, err := quic.DialAddr(ctx, w.d.addr.String(), w.d.secret.tls, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", http3Plain(err))
	}
	t := http3.Transport{DisableCompression: true, MaxResponseHeaderBytes: mostHead}
	return &http3Conn{conn, t.NewClientConn(conn)}, nil
}

// open makes the lane's connection, unless it shares one.
func (w *http3Wire) open(r *run, by time.Duration) error {
	ctx, cancel := r.within(by)
	defer cancel()
	if w.d.Connection == Multiplexed && w.lane.number > 0 {
		w.conn = nil
		return nil
	}
	var err error
	w.conn, err = w.dial(ctx)
	return err
}

// within is a context until an instant of the run, or until the run is stopped.
func (r *run) within(by time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(r.ctx, r.base.Add(by))
}

// converse conducts the request that start was given.
func (w *http3Wire) converse(r *run) error {
	l := w.lane
	ctx, cancel := r.within(l.by)
	defer cancel()
	c, err := w.connection(r, ctx)
	if err != nil {
		return w.told(r, ctx, err)
	}
	request := w.request.WithContext(ctx)
	w.reader.Reset(w.body)
	request.Body, request.ContentLength = io.NopCloser(&w.reader), int64(len(w.body))
	response, err := c.h3.RoundTrip(request)
	if err != nil {
		return w.told(r, ctx, err)
	}
	l.bytes = true
	w.answer, err = readUpTo(w.answer[:0], response.Body, mostBody)
	l.row.done = int64(r.now())
	response.Body.Close()
	if err != nil {
		return w.told(r, ctx, err)
	}
	w.status = response.StatusCode
	return nil
}

// connection is the one to use, made for this request if need be.
func (w *http3Wire) connection(r *run, ctx context.Context) (*http3Conn, error) {
	if w.d.Connection == Multiplexed {
		return w.shared(r, ctx)
	}
	if w.conn != nil && w.conn.quic.Context().Err() == nil {
		return w.conn, nil
	}
	w.hungUp()
	r.countConnect()
	w.lane.fresh = true
	var err error
	w.conn, err = w.dial(ctx)
	return w.conn, err
}

// shared is the connection of all lanes. The first lane that finds it broken
// makes another; what was on the old one fails by itself.
func (w *http3Wire) shared(r *run, ctx context.Context) (*http3Conn, error) {
	w.d.sharing.Lock()
	defer w.d.sharing.Unlock()
	first := w.d.lanes[0].wire.(*http3Wire)
	if first.conn == nil || first.conn.quic.Context().Err() != nil {
		first.closeConn()
		r.countConnect()
		var err error
		if first.conn, err = w.dial(ctx); err != nil {
			return nil, err
		}
	}
	return first.conn, nil
}

func readUpTo(b []byte, from io.Reader, most int) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, make([]byte, max(4096, len(b)))...)[:len(b)]
		}
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case len(b) > most:
			return b, errBody
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

// told says why a request failed, in the words of the other drivers.
func (w *http3Wire) told(r *run, ctx context.Context, err error) error {
	switch {
	case r.stop.Load():
		return errStopped
	case ctx.Err() != nil:
		return errTimeout
	}
	return http3Plain(err)
}

// http3Plain strips an error of addresses and numbers, so that equal failures
// have equal texts.
func http3Plain(err error) error {
	var reset *http3.Error
	var closed *quic.ApplicationError
	var idle *quic.IdleTimeoutError
	var slow *quic.HandshakeTimeoutError
	switch {
	case errors.As(err, &reset):
		return fmt.Errorf("HTTP/3: %v", reset.ErrorCode)
	case errors.As(err, &closed):
		return fmt.Errorf("HTTP/3: connection closed: %v", http3.ErrCode(closed.ErrorCode))
	case errors.As(err, &idle), errors.As(err, &slow), errors.Is(err, context.DeadlineExceeded):
		return errTimeout
	}
	return plain(err)
}

// hungUp: the next request finds a new connection, but does not close one that
// other requests are on.
func (w *http3Wire) hungUp() {
	if w.d.Connection != Multiplexed {
		w.closeConn()
	}
}

func (w *http3Wire) closeConn() {
	if w.conn != nil {
		w.conn.h3.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
		w.conn = nil
	}
}

func (w *http3Wire) headroom() int                           { return 0 }
func (w *http3Wire) start(buf []byte, _ time.Duration) error { w.body = buf; return nil }
func (w *http3Wire) reply() (int, []byte)                    { return w.status, w.answer }
func (w *http3Wire) reusable() bool                          { return true }

// The rest of a wire is of no use to it: converse moves the bytes.
func (w *http3Wire) next() []byte                         { return nil }
func (w *http3Wire) space() []byte                        { return nil }
func (w *http3Wire) got(int, time.Duration) (bool, error) { return false, errors.ErrUnsupported }
func (w *http3Wire) closed() error                        { return io.EOF }
