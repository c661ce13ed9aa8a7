package drive

import (
	"errors"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe moves the bytes of one connection and waits while it does. by is an
// instant of p.
type pipe interface {
	send(p *pacer, b []byte, by time.Duration) error
	receive(p *pacer, b []byte, by time.Duration) (int, error)
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
	r := &rawPipe{fd: fd, stream: t.stream, hasty: t.Timeout < 2*socketWait}
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

func (r *rawPipe) send(p *pacer, b []byte, by time.Duration) error {
	for len(b) > 0 {
		n, e := send(r.fd, b, 0)
		switch e {
		case 0:
			b = b[n:]
		case syscall.EAGAIN:
			if err := r.wait(p, unix.POLLOUT, by); err != nil {
				return err
			}
		default:
			return e
		}
	}
	return nil
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
type netPipe struct{ conn net.Conn }

func (n netPipe) close() { n.conn.Close() }

func (n netPipe) send(p *pacer, b []byte, by time.Duration) error {
	n.conn.SetWriteDeadline(p.base.Add(by))
	_, err := n.conn.Write(b)
	return plain(err)
}

func (n netPipe) receive(p *pacer, b []byte, by time.Duration) (int, error) {
	for {
		n.conn.SetReadDeadline(p.base.Add(min(by, p.now()+longestWait)))
		count, err := n.conn.Read(b)
		switch err = plain(err); {
		case count > 0:
			return count, nil
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
