package drive

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// mostDatagram is the largest UDP payload over IPv4.
const mostDatagram = 65507 // B

// FitsDatagram says why an exchange of so many bytes does not go over UDP.
func FitsDatagram(out, in int) error {
	if max(in, out) > mostDatagram {
		return fmt.Errorf("%d bytes do not fit a datagram of at most %d; use tcp", max(in, out), mostDatagram)
	}
	return nil
}

// floorConn is the bare exchange: the body goes out as it is, and the response
// is whole when the agreed number of bytes has come.
type floorConn struct {
	datagram bool
	pending  []byte
	buf      []byte
	n, want  int
}

func newFloorConn(answer int, datagram bool) *floorConn {
	// One byte more than wanted shows an answer that is too long.
	return &floorConn{datagram: datagram, want: answer, buf: make([]byte, answer+1)}
}

func (w *floorConn) headroom() int { return 0 }

func (w *floorConn) start(buf []byte, _ time.Duration) error {
	switch {
	case len(buf) == 0:
		return errors.New("a bare exchange needs at least 1 byte")
	case w.datagram && len(buf) > mostDatagram:
		return fmt.Errorf("%d bytes do not fit a datagram of at most %d; use tcp", len(buf), mostDatagram)
	}
	w.n, w.pending = 0, buf
	return nil
}

func (w *floorConn) next() []byte {
	b := w.pending
	w.pending = nil
	return b
}

func (w *floorConn) space() []byte { return w.buf[w.n:] }

func (w *floorConn) got(n int, _ time.Duration) (bool, error) {
	w.n += n
	if w.n > w.want || w.datagram && w.n != w.want {
		return false, fmt.Errorf("response: not the agreed %d bytes", w.want)
	}
	return w.n == w.want, nil
}

func (w *floorConn) closed() error { return io.EOF }

func (w *floorConn) reply() (int, []byte) { return 200, w.buf[:w.n] }

func (w *floorConn) reusable() bool { return true }
