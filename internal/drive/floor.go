package drive

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// mostDatagram is the largest UDP payload over IPv4.
const mostDatagram = 65507 // B

// floorWire is the bare exchange: the body goes out as it is, and the response
// is whole when the agreed number of bytes has come.
type floorWire struct {
	untimed
	datagram bool
	pending  []byte
	buf      []byte
	n, want  int
}

func newFloorWire(answer int, datagram bool) *floorWire {
	// One byte more than wanted shows an answer that is too long.
	return &floorWire{datagram: datagram, want: answer, buf: make([]byte, answer+1)}
}

func (w *floorWire) headroom() int { return 0 }

func (w *floorWire) start(buf []byte, _ time.Duration) error {
	switch {
	case len(buf) == 0:
		return errors.New("a bare exchange of 0 bytes is none; send at least 1")
	case w.datagram && len(buf) > mostDatagram:
		return fmt.Errorf("%d bytes do not fit a datagram of at most %d; use tcp", len(buf), mostDatagram)
	}
	w.n, w.pending = 0, buf
	return nil
}

func (w *floorWire) next() []byte {
	b := w.pending
	w.pending = nil
	return b
}

func (w *floorWire) space() []byte { return w.buf[w.n:] }

func (w *floorWire) got(n int, _ time.Duration) (bool, error) {
	w.n += n
	if w.n > w.want || w.datagram && w.n != w.want {
		return false, fmt.Errorf("response: not the %d bytes agreed", w.want)
	}
	return w.n == w.want, nil
}

func (w *floorWire) closed() error { return io.EOF }

func (w *floorWire) reply() (int, []byte) { return 200, w.buf[:w.n] }

func (w *floorWire) reusable() bool { return true }
