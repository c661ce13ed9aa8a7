package drive

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pion/dtls/v3"
	"golang.org/x/sys/unix"
)

// A pipe moves the bytes of one connection and waits while it does. by is an
// instant of p.
type pipe interface {
	// send sends b, but stops where the peer takes no more of it and bytes of the peer's wait to be received: it may
	// have answered already, or takes more only when it is heard. n of b are sent; some: bytes were or may have been.
	send(p *pacer, b []byte, by time.Duration) (n int, some bool, err error)
	receive(p *pacer, b []byte, by time.Duration) (int, error)
	// peek says, without waiting, whether there are bytes to receive; an error is
	// the connection's end.
	peek() (waiting bool, err error)
	close()
}

// rawPipe is a blocking socket and nothing else.
type rawPipe struct {
	fd     int
	stream bool
	hasty  bool // the timeout is shorter than the socket's own: poll before reading
}

func openRaw(p *pacer, t *target, by time.Duration) (*rawPipe, error) {
	fd, pending, err := dial(t, true)
	if err != nil {
		return nil, err
	}
	r := &rawPipe{fd: fd, stream: t.overTCP, hasty: t.Timeout < 2*socketWait}
	if pending {
		if err = r.wait(p, unix.POLLOUT, by); err == nil {
			err = connected(fd)
		}
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rawPipe) close() { unix.Close(r.fd) }

// wait waits for events until by.
func (r *rawPipe) wait(p *pacer, events int16, by time.Duration) error {
	for {
		left := by - p.now()
		switch {
		case p.stop.Load():
			return errStopped
		case poll(r.fd, events, min(max(left, 0), longestWait)):
			return nil
		case left <= 0:
			return errTimeout
		}
	}
}

func (r *rawPipe) send(p *pacer, b []byte, by time.Duration) (n int, some bool, err error) {
	waited := false
	for n < len(b) {
		k, e := send(r.fd, b[n:], unix.MSG_DONTWAIT)
		switch {
		case e == syscall.EAGAIN && waited && r.stream: // it waited, and so for something to receive
			return n, n > 0, nil
		case e == syscall.EAGAIN:
			if err := r.wait(p, r.room(), by); err != nil {
				return n, n > 0, err
			}
			waited = true
		case e != 0:
			return n, n > 0, e
		default:
			waited = false
			if n += k; n < len(b) && p.now() >= by { // a peer that reads slowly
				return n, true, errTimeout
			}
		}
	}
	return n, true, nil
}

// room are the events for which a send waits.
func (r *rawPipe) room() int16 {
	if r.stream {
		return unix.POLLOUT | unix.POLLIN
	}
	return unix.POLLOUT
}

func (r *rawPipe) peek() (bool, error) { return peek(r.fd) }

// peek looks at a socket's first byte without taking it.
func peek(fd int) (waiting bool, err error) {
	var b [1]byte
	switch n, e := receive(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT); {
	case e == syscall.EAGAIN:
		return false, nil
	case e != 0:
		return false, e
	case n == 0:
		return false, io.EOF
	}
	return true, nil
}

// receive blocks in the kernel first: one system call where the answer is
// quick. Only if the socket's own time runs out does it poll.
func (r *rawPipe) receive(p *pacer, b []byte, by time.Duration) (int, error) {
	flags := 0
	if r.hasty {
		flags = unix.MSG_DONTWAIT
	}
	n, e := receive(r.fd, b, flags)
	for e == syscall.EAGAIN {
		if err := r.wait(p, unix.POLLIN, by); err != nil {
			return 0, err
		}
		n, e = receive(r.fd, b, unix.MSG_DONTWAIT)
	}
	switch {
	case e != 0:
		return 0, e
	case n == 0 && r.stream:
		return 0, io.EOF
	}
	return n, nil
}

// netPipe is a connection of package net, for engines with goroutines: a wait
// costs a trip through the runtime's poller and scheduler, 1.5–2 µs on one CPU
// and 7–14 µs on two, which lies inside the RTT.
type netPipe struct {
	conn    net.Conn
	under   *ending // of TLS: what lies below it
	most    int     // B of a response's body
	session *session
}

// A session is what lies below one of DTLS, which closes it when it ends, as by the other side's close_notify.
type session struct {
	net.PacketConn
	ended atomic.Bool
}

// ReadFrom passes over data that nothing protects, which only a forger sends: pion ends the session for it.
func (s *session) ReadFrom(b []byte) (n int, from net.Addr, err error) {
	for {
		n, from, err = s.PacketConn.ReadFrom(b)
		if err != nil || n < 5 || b[0] != dtlsData || b[3]|b[4] != 0 {
			return n, from, err
		}
	}
}

// dtlsData is the type of a record of application data; bytes 3 and 4 are its epoch (RFC 6347, section 4.1).
const dtlsData = 23

func (s *session) Close() error {
	s.ended.Store(true)
	return s.PacketConn.Close()
}

// An ending is a connection that notes its end: crypto/tls says io.EOF of one that was ended without close_notify, too.
type ending struct {
	*net.TCPConn
	ended bool
	early []byte // received while something was sent
	why   error  // and then the end
}

func (e *ending) Read(b []byte) (int, error) {
	if len(e.early) > 0 {
		n := copy(b, e.early)
		e.early = e.early[n:]
		return n, nil
	}
	n, err := 0, e.why
	if err == nil {
		n, err = e.TCPConn.Read(b)
	}
	e.ended = e.ended || err == io.EOF
	return n, err
}

// surelyTaken is how much, in B, a socket takes of what is sent though the peer reads nothing.
const surelyTaken = 16 << 10

// listen receives until the function that it returns is called: some peers take more only when they are heard, such as
// one that sends back what comes as it comes. most is how much it receives, in B.
func (e *ending) listen(most int) (end func()) {
	over := make(chan struct{})
	e.SetReadDeadline(time.Time{})
	go func() {
		defer close(over)
		b := make([]byte, 64<<10)
		for len(e.early) < most {
			n, err := e.TCPConn.Read(b)
			e.early = append(e.early, b[:n]...)
			if err != nil {
				if plain(err) != errTimeout {
					e.why = err
				}
				return
			}
		}
	}()
	return func() { e.SetReadDeadline(time.Unix(1, 0)); <-over }
}

// endOf is io.EOF of TLS as what it is: without close_notify it is not known to be the other side's end.
func endOf(err error, below bool) error {
	if err == io.EOF && below {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (n netPipe) close() { n.conn.Close() }

func (n netPipe) send(p *pacer, b []byte, by time.Duration) (int, bool, error) {
	n.conn.SetWriteDeadline(p.base.Add(by))
	if n.under != nil && len(b) > surelyTaken {
		defer n.under.listen(n.most)()
	}
	count, err := n.conn.Write(b)
	if errors.Is(err, dtls.ErrConnClosed) {
		return 0, false, io.EOF
	}
	return count, true, plain(err) // under TLS nobody knows how much of b went out
}

// peek looks at the socket under TLS. A session of DTLS has taken what came.
func (n netPipe) peek() (waiting bool, err error) {
	if n.session != nil {
		if n.session.ended.Load() {
			err = io.EOF
		}
		return false, err
	}
	c, ok := n.conn.(interface{ NetConn() net.Conn })
	if !ok {
		return false, nil
	}
	socket, ok := c.NetConn().(syscall.Conn)
	if !ok {
		return false, nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false, err
	}
	if e := raw.Control(func(fd uintptr) { waiting, err = peek(int(fd)) }); e != nil {
		return false, e
	}
	return waiting, err
}

func (n netPipe) receive(p *pacer, b []byte, by time.Duration) (int, error) {
	for {
		// Subtle: a deadline that has passed would not even look.
		n.conn.SetReadDeadline(p.base.Add(min(max(by, p.now()+shortestWait), p.now()+longestWait)))
		count, err := n.conn.Read(b)
		if err = plain(err); n.session != nil && err != nil && err != io.EOF && !errors.As(err, new(syscall.Errno)) {
			err = errTimeout // what is not genuine, or only a warning, is as if it had not come (RFC 6347, section 4.1.2.7)
		}
		switch {
		case count > 0:
			return count, nil
		case err == io.EOF:
			return 0, endOf(err, n.under != nil && n.under.ended)
		case err == nil: // an empty datagram
			return 0, nil
		case err != errTimeout || p.now() >= by:
			return 0, err
		case p.stop.Load():
			return 0, errStopped
		}
	}
}

// plain strips an error of addresses and ports, so that equal failures have
// equal texts.
func plain(err error) error {
	var number syscall.Errno
	var late net.Error
	switch {
	case errors.As(err, &number):
		return number
	case errors.As(err, &late) && late.Timeout(): // Subtle: pion's is not os.ErrDeadlineExceeded
		return errTimeout
	}
	return err
}
