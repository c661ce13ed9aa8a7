package population

import (
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net"
	"time"
)

// A shield is TLS between devices and their connections. crypto/tls waits for its peer
// within the handshake, and only there; so that is a coroutine, which ends with it.
type shield struct {
	config *tls.Config
	ends   []*tlsEnd // nil in it: the device has no connection
	buf    []byte
}

// A tlsEnd is a device's end of a connection. It is the net.Conn of its tls.Conn, of memory.
type tlsEnd struct {
	tls     *tls.Conn
	in, out []byte
	wait    func() bool // until more came; false: none will. Nil: the handshake is over
	next    func() (error, bool)
	stop    func()
}

var errNoMore = errors.New("the connection was given up")

// errLater is a net.Error that passes, which crypto/tls does not keep.
type errLater struct{}

func (errLater) Error() string   { return "nothing more is there" }
func (errLater) Timeout() bool   { return true }
func (errLater) Temporary() bool { return true }

func (e *tlsEnd) Read(b []byte) (int, error) {
	for len(e.in) == 0 {
		switch {
		case e.wait == nil:
			return 0, errLater{}
		case !e.wait():
			return 0, errNoMore
		}
	}
	n := copy(b, e.in)
	e.in = e.in[n:]
	return n, nil
}

func (e *tlsEnd) Write(b []byte) (int, error) {
	e.out = append(e.out, b...)
	return len(b), nil
}

func (*tlsEnd) Close() error                     { return nil }
func (*tlsEnd) LocalAddr() net.Addr              { return nil }
func (*tlsEnd) RemoteAddr() net.Addr             { return nil }
func (*tlsEnd) SetDeadline(time.Time) error      { return nil }
func (*tlsEnd) SetReadDeadline(time.Time) error  { return nil }
func (*tlsEnd) SetWriteDeadline(time.Time) error { return nil }

// start begins the handshake.
func (e *tlsEnd) start(c *tls.Config) {
	e.tls = tls.Client(e, c)
	e.next, e.stop = iter.Pull(func(yield func(error) bool) {
		e.wait = func() bool { return yield(errLater{}) }
		err := e.tls.Handshake()
		e.wait = nil
		yield(err)
	})
}

// take is what is to be sent; the room is used again.
func (e *tlsEnd) take() []byte {
	b := e.out
	e.out = e.out[:0]
	return b
}

// seal makes records of what a device says.
func (t *shield) seal(i int32, b []byte) []byte {
	e := t.ends[i]
	if e == nil || e.next != nil {
		return nil // nobody is there who could hear it
	}
	e.tls.Write(b) // into memory
	return e.take()
}

// shake begins the handshake of a connection that is open.
func (s *streams) shake(i int32, now int64) {
	s.Handshakes++
	e := new(tlsEnd)
	s.shield.ends[i] = e
	e.start(s.shield.config)
	s.shakeOn(i, e, now)
}

// shakeOn goes on with a handshake until it waits, or has ended.
func (s *streams) shakeOn(i int32, e *tlsEnd, now int64) {
	err, _ := e.next()
	s.write(i, e.take(), now)
	if _, waits := err.(errLater); waits || s.shield.ends[i] != e {
		return
	}
	if err != nil {
		s.broken(i, now, err)
		return
	}
	e.stop()
	e.next, e.stop, e.in, e.out = nil, nil, nil, nil
	s.greet(i, now)
}

// unseal takes bytes that came for a device.
func (s *streams) unseal(i int32, b []byte, now int64) {
	e := s.shield.ends[i]
	if e == nil {
		return
	}
	e.in = append(e.in, b...)
	if e.next != nil {
		if s.shakeOn(i, e, now); e.next != nil {
			return
		}
	}
	for s.shield.ends[i] == e {
		n, err := e.tls.Read(s.shield.buf)
		if n > 0 {
			s.digest(i, s.shield.buf[:n], now)
			continue
		}
		switch _, waits := err.(errLater); {
		case waits:
			e.in = nil // all of it is taken; between answers an end holds no room
			s.write(i, e.take(), now)
			return
		case errors.Is(err, io.EOF):
			err = errClosed
		}
		s.broken(i, now, err)
		return
	}
}

// farewell ends TLS before its connection is closed; it waits for nobody.
func (s *streams) farewell(i int32) {
	e := s.shield.ends[i]
	if e == nil {
		return
	}
	s.shield.ends[i] = nil
	if e.next != nil {
		s.HandshakesFailed++
		e.stop()
		return
	}
	e.tls.CloseWrite()
	if l := &s.links[i]; l.fd >= 0 && l.phase == open && l.marks&cutOut == 0 && !s.hits(s.number(i), s.wire.now()) {
		b := e.take()
		s.BytesOut += int64(len(b))
		s.blame(s.wire.send(i, b))
	}
}
