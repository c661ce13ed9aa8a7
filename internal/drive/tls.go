package drive

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/pion/dtls/v3"
	dtlsnet "github.com/pion/dtls/v3/pkg/net"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// A secret makes connections with TLS 1.3 or with DTLS 1.2 and a pre-shared
// key. Sessions are not resumed: every connection pays a whole handshake.
type secret struct {
	t       *target
	tls     *tls.Config
	onePipe bool // over a raw socket; else over package net
}

// groups are those that key exchange may be by, X25519 first, as every stack has it
// (doc/method.md); the others are for services from elsewhere. Without this Go would
// send a key of its post-quantum hybrid as well, 1.2 kB, which no other stack does.
var groups = []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521}

func newSecret(t *target) (*secret, error) {
	if !t.secure() {
		return nil, nil
	}
	s := &secret{t: t, onePipe: t.Concurrency == 1 && t.overTCP}
	c := t.Credentials
	if t.scheme == "coaps" {
		return s, nil
	}
	s.tls = &tls.Config{MinVersion: tls.VersionTLS13, ServerName: c.ServerName, InsecureSkipVerify: c.Insecure,
		NextProtos: []string{HTTP1}, CurvePreferences: groups}
	switch {
	case t.scheme == "mqtts":
		s.tls.NextProtos = nil
	case t.Protocol == HTTP3:
		s.tls.NextProtos[0] = HTTP3
	case t.Protocol != HTTP1:
		s.tls.NextProtos[0] = HTTP2
	}
	if c.ServerName == "" {
		s.tls.ServerName = zoneless(t.name)
	}
	if c.CA != "" || len(c.PEM) > 0 {
		pem := c.PEM
		if c.CA != "" {
			var err error
			if pem, err = kernel.ReadFile(c.CA, 16<<20); err != nil {
				return nil, err
			}
		}
		s.tls.RootCAs = x509.NewCertPool()
		if !s.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate found; give a PEM file", c.CA)
		}
	}
	return s, nil
}

func (s *secret) open(r *run, by time.Duration) (pipe, error) {
	switch {
	case s.tls == nil:
		return s.openDTLS(r, by)
	case s.onePipe:
		return s.openTLS(r, by)
	}
	// Note: crypto/tls cannot be asked to stop half-way through a handshake, so
	// it does not fit epoll; a thread that waits for one handshake after the
	// other would turn concurrency into a queue. Hence goroutines, and their
	// cost: see netPipe.
	d := net.Dialer{Deadline: r.base.Add(r.dialBy(by))}
	conn, err := d.Dial("tcp", s.t.addr.String())
	if err != nil {
		return nil, plain(err)
	}
	conn.SetDeadline(r.base.Add(by))
	under := &ending{TCPConn: conn.(*net.TCPConn)}
	c := tls.Client(under, s.tls)
	if err := s.handshake(c); err != nil {
		conn.Close()
		return nil, plain(err)
	}
	return netPipe{conn: c, under: under, most: s.t.MostBody + mostHead}, nil
}

func (s *secret) openDTLS(r *run, by time.Duration) (pipe, error) {
	conn, err := net.Dial("udp", s.t.addr.String())
	if err != nil {
		return nil, plain(err)
	}
	key := func([]byte) ([]byte, error) { return s.t.Credentials.Key, nil }
	options := []dtls.ClientOption{dtls.WithPSK(key), dtls.WithPSKIdentityHint([]byte(s.t.Credentials.Identity)),
		dtls.WithCipherSuites(coap.CCM8, coap.CCM, coap.GCM)}
	if s.t.Credentials.CID {
		options = append(options, dtls.WithConnectionIDGenerator(dtls.OnlySendCIDGenerator()))
	}
	under := &session{PacketConn: dtlsnet.PacketConnFromConn(conn)}
	c, err := dtls.ClientWithOptions(under, conn.RemoteAddr(), options...)
	if err == nil {
		ctx, cancel := context.WithDeadline(context.Background(), r.base.Add(by))
		defer cancel()
		err = c.HandshakeContext(ctx)
	}
	if err != nil {
		conn.Close()
		var alert interface {
			error
			IsFatalOrCloseNotify() bool
		}
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			err = errTimeout
		case errors.As(err, &alert):
			name := alert.Error()
			name = name[strings.LastIndex(name, ": ")+2:]
			if err = errAlert; !strings.Contains(name, " ") { // else pion has none
				err = fmt.Errorf("%w: %s", errAlert, name)
			}
		}
		return nil, plain(err)
	}
	return netPipe{conn: c, session: under}, nil
}

// errAlert: the server ended a handshake of DTLS with an alert.
var errAlert = errors.New("the server refused the handshake")

// openTLS puts TLS over a raw blocking socket, all of it on this thread.
func (s *secret) openTLS(r *run, by time.Duration) (pipe, error) {
	raw, err := openRaw(&r.pacer, s.t, r.dialBy(by))
	if err != nil {
		return nil, err
	}
	conn := &rawConn{rawPipe: raw, p: &r.pacer, by: by}
	c := tls.Client(conn, s.tls)
	if err := s.handshake(c); err != nil {
		raw.close()
		return nil, err
	}
	return &tlsPipe{tls: c, raw: conn}, nil
}

var errNoHTTP2 = errors.New("the server does not speak HTTP/2")

// handshake: without a context it starts no goroutine.
func (s *secret) handshake(c *tls.Conn) error {
	if err := c.Handshake(); err != nil {
		return handshakeWords(err, s.t.Protocol)
	}
	if got := c.ConnectionState().NegotiatedProtocol; s.t.scheme == "https" && s.t.Protocol != HTTP1 && got != HTTP2 {
		return fmt.Errorf("%w: it chose %q by ALPN", errNoHTTP2, got)
	}
	return nil
}

type tlsPipe struct {
	tls   *tls.Conn
	raw   *rawConn
	piece int // B given to TLS and not yet said to be sent: raw.rest is of them
}

// send gives TLS no more at once than a record holds: half a record must go out before anything else.
func (t *tlsPipe) send(p *pacer, b []byte, by time.Duration) (n int, some bool, err error) {
	t.raw.p, t.raw.by, t.raw.wrote = p, by, false
	for n < len(b) {
		if t.piece == 0 {
			t.piece = min(len(b)-n, mostRecord)
			_, err = t.tls.Write(b[n : n+t.piece])
		} else {
			err = t.raw.flush()
		}
		if err != nil || len(t.raw.rest) > 0 {
			return n, t.raw.wrote, err
		}
		n, t.piece = n+t.piece, 0
	}
	return n, t.raw.wrote, nil
}

// mostRecord is the most, in B, that a record of TLS holds (RFC 8446, section 5.1).
const mostRecord = 1 << 14

func (t *tlsPipe) peek() (bool, error) { return t.raw.peek() }

func (t *tlsPipe) receive(p *pacer, b []byte, by time.Duration) (int, error) {
	t.raw.p, t.raw.by = p, by
	n, err := t.tls.Read(b)
	if n > 0 {
		err = nil // what stands behind it comes again with the next read
	}
	return n, endOf(err, t.raw.ended)
}

// close says goodbye, but waits for nobody.
func (t *tlsPipe) close() {
	t.raw.by = 0
	t.tls.Close()
}

// rawConn makes a rawPipe a net.Conn, as far as crypto/tls asks for one.
type rawConn struct {
	*rawPipe
	p     *pacer
	by    time.Duration
	wrote bool   // since this was cleared
	ended bool   // the peer has ended it
	rest  []byte // of what was written, what the peer has not taken so far
}

func (c *rawConn) Close() error                     { c.close(); return nil }
func (c *rawConn) LocalAddr() net.Addr              { return nil }
func (c *rawConn) RemoteAddr() net.Addr             { return nil }
func (c *rawConn) SetDeadline(time.Time) error      { return nil }
func (c *rawConn) SetReadDeadline(time.Time) error  { return nil }
func (c *rawConn) SetWriteDeadline(time.Time) error { return nil }

// Read: a record that trickles in takes many.
func (c *rawConn) Read(b []byte) (int, error) {
	if c.by == 0 { // only what is there
		switch n, e := receive(c.fd, b, unix.MSG_DONTWAIT); {
		case e == syscall.EAGAIN:
			return 0, errTimeout
		case e != 0:
			return 0, e
		case n == 0:
			c.ended = true
			return 0, io.EOF
		default:
			return n, nil
		}
	}
	_ = c.flush() // where that fails, what was received before is still there
	n, err := c.receive(c.p, b, c.by)
	c.ended = c.ended || err == io.EOF
	if err == nil && c.p.now() >= c.by {
		err = errTimeout
	}
	return n, err
}

// Write keeps what the peer takes only when it was heard.
func (c *rawConn) Write(b []byte) (int, error) {
	if len(c.rest) > 0 {
		c.rest = append(c.rest, b...)
		return len(b), nil
	}
	n, some, err := c.send(c.p, b, c.by)
	c.wrote = c.wrote || some
	if err != nil {
		return 0, err
	}
	c.rest = append(c.rest[:0], b[n:]...)
	return len(b), nil
}

// flush sends more of what Write has kept.
func (c *rawConn) flush() error {
	if len(c.rest) == 0 {
		return nil
	}
	n, some, err := c.send(c.p, c.rest, c.by)
	c.wrote, c.rest = c.wrote || some, c.rest[:copy(c.rest, c.rest[n:])]
	return err
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
