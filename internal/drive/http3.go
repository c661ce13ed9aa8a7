//go:build !board

package drive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// http3Stream is a lane that moves its own bytes: QUIC is quic-go's, with its
// goroutines, timers and packets. So the driver's other engines do not fit, and
// what a trip through the runtime's scheduler costs lies inside the RTT.
type http3Stream struct {
	d       *Driver
	number  int // of its lane
	request http.Request
	conn    *http3Conn
	body    []byte // of the request
	status  int
	answer  []byte
	left    string // what the server said as it closed the connection
}

// An http3Conn is a QUIC connection, of one lane or shared by all.
type http3Conn struct {
	quic      *quic.Conn
	h3        *http3.ClientConn
	transport *quic.Transport
	since     time.Time // when it was there
	leaving   bool      // the server takes no more requests on it; guarded by Driver.sharing
}

// http3Window is so large that a response never waits for it, as HTTP/2's here.
const http3Window = 64 << 20 // B

// http3Idle is for how long a connection may be idle between requests.
const http3Idle = 30 * time.Second

func (d *Driver) newHTTP3Stream(number int) (stream, error) {
	u, err := url.ParseRequestURI(d.path) // it is escaped
	if err != nil {
		return nil, err
	}
	u.Scheme, u.Host = "https", d.host
	w := &http3Stream{d: d, number: number}
	w.request = http.Request{Method: d.Method, Host: d.host, Header: http.Header{}, URL: u}
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
	return w, nil
}

// quicConfig is that of connections whose requests have a timeout.
func quicConfig(timeout time.Duration) *quic.Config {
	return &quic.Config{InitialStreamReceiveWindow: http3Window, MaxStreamReceiveWindow: http3Window,
		InitialConnectionReceiveWindow: http3Window, MaxConnectionReceiveWindow: http3Window,
		HandshakeIdleTimeout: timeout,
		MaxIdleTimeout:       http3Idle + timeout, // an answer may come as long as it is waited for
		MaxIncomingStreams:   -1,                  // a server begins no stream (RFC 9114, section 6.1)
	}
}

// dial makes a connection. Note: 0-RTT is for GET and HEAD in quic-go, and our
// requests are POST, which RFC 8470, section 4, keeps out of early data.
func (w *http3Stream) dial(ctx context.Context) (*http3Conn, error) {
	socket, err := socketTo(w.d.addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", plain(err))
	}
	c := &http3Conn{transport: &quic.Transport{Conn: socket}}
	if c.quic, err = c.transport.Dial(ctx, net.UDPAddrFromAddrPort(w.d.addr), w.d.secret.tls,
		quicConfig(w.d.Timeout)); err != nil {
		c.close()
		return nil, fmt.Errorf("connect: %w", http3Plain(err))
	}
	t := http3.Transport{DisableCompression: true, MaxResponseHeaderBytes: mostHead}
	c.h3 = t.NewClientConn(c.quic)
	c.since = time.Now()
	return c, nil
}

// socketTo is a UDP socket bound to the address from which to is reached, and to
// no other: quic-go's own would take datagrams at every address. Nothing is sent.
func socketTo(to netip.AddrPort) (*net.UDPConn, error) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	local := c.LocalAddr().(*net.UDPAddr)
	c.Close()
	return net.ListenUDP("udp", &net.UDPAddr{IP: local.IP, Zone: local.Zone})
}

// open makes the lane's connection, unless it shares one.
func (w *http3Stream) open(r *run, by time.Duration) error {
	ctx, cancel := r.within(by)
	defer cancel()
	var err error
	switch {
	case w.d.Connection != Multiplexed:
		w.conn, err = w.dial(ctx)
	case w.number == 0:
		w.d.quic, err = w.dial(ctx)
	}
	return err
}

// within is a context until an instant of the run, or until the run is stopped.
func (r *run) within(by time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(r.ctx, r.base.Add(by))
}

// converse conducts the request that start was given.
func (w *http3Stream) converse(r *run, l *lane) error {
	ctx, cancel := r.within(l.by)
	defer cancel()
	w.left = ""
	c, err := w.connection(r, l, ctx)
	if err != nil {
		return cmp.Or(r.over(ctx), err)
	}
	request := w.request.WithContext(ctx)
	if len(w.body) > 0 { // else the end of the stream would go behind the header, in a packet of its own
		// Subtle: a reader of its own. quic-go may still read the body when the answer is there and the next request begins.
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(w.body)), int64(len(w.body))
	}
	l.written = true
	response, err := c.h3.RoundTrip(request)
	if err != nil {
		why, unusable := strings.CutPrefix(err.Error(), "http3: conn unusable: ")
		l.written = !unusable
		if unusable && shutDown(why, err) {
			w.leave(c)
			return errUnprocessed
		}
		return w.told(r, l, ctx, err)
	}
	l.bytes = true
	w.answer, err = readUpTo(w.answer[:0], response.Body, w.d.MostBody)
	l.row.done = int64(r.now())
	if err == nil && response.ContentLength < 0 && inMidFrame(response.Body) {
		err = errStreamCut
	}
	response.Body.Close()
	if response.ContentLength > 0 && (isEOF(err) || err != nil && err.Error() == "peer sent too much data") {
		return fmt.Errorf("HTTP/3: %w", errLength)
	}
	if err != nil {
		return w.told(r, l, ctx, err)
	}
	w.status = response.StatusCode
	return nil
}

// inMidFrame says whether a body that was read to its end ends within a frame of data: the response is none (RFC 9114,
// section 7.1). Subtle: quic-go knows, but takes it for whole and tells nobody, unless there is a Content-Length.
func inMidFrame(body io.Reader) bool {
	stream := reflect.ValueOf(body).Elem().FieldByName("body").FieldByName("str")
	return stream.Elem().FieldByName("bytesRemainingInFrame").Uint() > 0
}

// connection is the one to use, made for this request if need be.
func (w *http3Stream) connection(r *run, l *lane, ctx context.Context) (*http3Conn, error) {
	if w.d.Connection == Multiplexed {
		began := r.now()
		c, err := w.shared(r, ctx)
		if err == nil && c.since.After(r.base.Add(began)) { // it waited for it, whichever lane has made it
			l.opening = began
			r.opened(l)
		}
		return c, err
	}
	if w.conn != nil && w.conn.quic.Context().Err() == nil {
		return w.conn, nil
	}
	w.hungUp()
	r.countConnect()
	l.fresh, l.opening = true, r.now()
	var err error
	w.conn, err = w.dial(ctx)
	r.opened(l)
	return w.conn, err
}

// shared is the connection of all lanes. The first lane that finds it broken, or
// shut down, makes another; what was on the old one fails, or ends, by itself.
func (w *http3Stream) shared(r *run, ctx context.Context) (*http3Conn, error) {
	w.d.sharing.Lock()
	defer w.d.sharing.Unlock()
	if c := w.d.quic; c == nil || c.leaving || c.quic.Context().Err() != nil {
		if c != nil && !c.leaving {
			c.close()
		}
		r.countConnect()
		var err error
		if w.d.quic, err = w.dial(ctx); err != nil {
			return nil, err
		}
	}
	return w.d.quic, nil
}

// leave has no more requests go over the connection of all lanes, which the server shuts down. Those in flight are
// still answered (RFC 9114, section 5.2); with the last of them quic-go ends the connection.
func (w *http3Stream) leave(c *http3Conn) {
	w.d.sharing.Lock()
	defer w.d.sharing.Unlock()
	if w.d.Connection == Multiplexed && !c.leaving {
		c.leaving = true
		context.AfterFunc(c.quic.Context(), c.close)
	}
}

// shutDown says whether a request was not begun, since the server is shutting the connection down (GOAWAY), or it has
// just been closed for that. quic-go has no name for either.
func shutDown(why string, err error) bool {
	var closed *http3.Error
	return why == "connection in graceful shutdown" ||
		errors.As(err, &closed) && !closed.Remote && closed.ErrorCode == http3.ErrCodeNoError
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
			return b, tooLarge(most)
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		}
	}
}

var (
	errStreamCut   = errors.New("HTTP/3: the stream ended in mid-response")
	errStreamEnded = errors.New("HTTP/3: the stream ended before a response")
)

// over says why nothing is waited for any longer; nil: it is.
func (r *run) over(ctx context.Context) error {
	switch {
	case r.stop.Load():
		return errStopped
	case ctx.Err() != nil:
		return errTimeout
	}
	return nil
}

// told says why a request failed, in the words of the other drivers.
func (w *http3Stream) told(r *run, l *lane, ctx context.Context, err error) error {
	var closed *quic.ApplicationError
	var broken *quic.TransportError
	switch over := r.over(ctx); {
	case over != nil:
		return over
	case isEOF(err) && l.bytes:
		return errStreamCut
	case isEOF(err):
		return errStreamEnded
	case errors.As(err, &closed) && closed.Remote:
		w.left = fmt.Sprintf(", with %v", http3.ErrCode(closed.ErrorCode))
		return io.EOF
	case errors.As(err, &broken) && broken.Remote && !broken.ErrorCode.IsCryptoError():
		w.left = fmt.Sprintf(", with %v", broken.ErrorCode)
		return io.EOF
	case errors.As(err, new(*quic.IdleTimeoutError)):
		w.left = ": nothing had come for its idle timeout"
		return io.EOF
	case errors.As(err, new(*quic.StatelessResetError)):
		return syscall.ECONNRESET
	}
	return http3Plain(err)
}

// leaving: a server that closes a connection says why.
func (w *http3Stream) leaving() string { return w.left }

// http3Plain strips an error of addresses and numbers, and of what the peer has written, so that equal failures
// have equal texts.
func http3Plain(err error) error {
	var reset *http3.Error
	var closed *quic.ApplicationError
	var broken *quic.TransportError
	text := err.Error()
	fault, invalid := strings.CutPrefix(text, "http3: invalid response: ")
	switch {
	case errors.As(err, &closed) && closed.Remote:
		return fmt.Errorf("HTTP/3: connection closed: %v", http3.ErrCode(closed.ErrorCode))
	case errors.As(err, &closed):
		return fmt.Errorf("HTTP/3: connection closed for a fault of the server: %v", http3.ErrCode(closed.ErrorCode))
	case errors.As(err, &reset) && reset.Remote && reset.ErrorCode == http3.ErrCodeRequestRejected:
		return errRejected
	case errors.As(err, &reset):
		return fmt.Errorf("HTTP/3: %w by the server with %v", errReset, reset.ErrorCode)
	case errors.As(err, &broken) && broken.Remote:
		return &quic.TransportError{Remote: true, ErrorCode: broken.ErrorCode}
	case errors.As(err, new(*quic.VersionNegotiationError)):
		return errQUICVersion
	case errors.As(err, new(*quic.HandshakeTimeoutError)), errors.As(err, new(*quic.IdleTimeoutError)),
		errors.Is(err, context.DeadlineExceeded):
		return errTimeout
	case strings.HasPrefix(text, "http3: HEADERS frame too large"), invalid && strings.Contains(fault, "too large"):
		return errHead
	case invalid:
		for _, own := range []string{": ", " (", " \""} { // behind it stands what the server has written
			fault, _, _ = strings.Cut(fault, own)
		}
		return errors.New("HTTP/3: an invalid response: " + fault)
	case strings.HasPrefix(text, "http3: "):
		return errors.New("HTTP/3: " + text[len("http3: "):])
	}
	return plain(handshakeWords(err, HTTP3))
}

func (w *http3Stream) outlives(err error) bool {
	return ofStream(err) && w.conn != nil && w.conn.quic.Context().Err() == nil
}

// hungUp: the next request finds a new connection, but does not close one that
// other requests are on.
func (w *http3Stream) hungUp() {
	if w.d.Connection != Multiplexed {
		w.closeConn()
	}
}

// closeConn closes the lane's connection, the first lane's also that of all.
func (w *http3Stream) closeConn() {
	w.conn.close()
	w.conn = nil
	if w.d.Connection == Multiplexed && w.number == 0 {
		w.d.quic.close()
		w.d.quic = nil
	}
}

func (c *http3Conn) close() {
	if c == nil {
		return
	}
	if c.h3 != nil {
		c.h3.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	}
	c.transport.Close()
	c.transport.Conn.Close()
}

func (w *http3Stream) headroom() int                           { return 0 }
func (w *http3Stream) start(buf []byte, _ time.Duration) error { w.body = buf; return nil }
func (w *http3Stream) reply() (int, []byte)                    { return w.status, w.answer }
