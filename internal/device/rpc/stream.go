package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Stream is bytes both ways inside a connection. A reader that is slow stops
// its writer after 64 KiB, and nobody else.
type Stream struct {
	ID   uint32
	conn *Conn

	mu       sync.Mutex
	changed  sync.Cond
	in       []byte    // came and not yet read
	read     int       // B read and not yet given back as credit
	inErr    error     // after in: io.EOF, or why there is no more
	deaf     bool      // Close was called: nothing is kept any more
	given    bool      // the other side knows of it; before, nothing can be sent
	credit   int       // B that may be sent
	outErr   error     // nothing can be sent any more
	deadline time.Time // of Read
	timer    *time.Timer

	writeDeadline time.Time
	writeTimer    *time.Timer
}

func newStream(c *Conn, id uint32) *Stream {
	s := &Stream{ID: id, conn: c, credit: window}
	s.changed.L = &s.mu
	return s
}

// ErrStopped means that the other side does not read this stream any more.
var ErrStopped = errors.New("nobody reads it any longer")

// Read waits for bytes until the deadline.
func (s *Stream) Read(b []byte) (int, error) {
	s.mu.Lock()
	for len(s.in) == 0 && s.inErr == nil {
		if !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
			s.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		s.changed.Wait()
	}
	if len(s.in) == 0 {
		defer s.mu.Unlock()
		return 0, s.inErr
	}
	n := copy(b, s.in)
	s.in = s.in[:copy(s.in, s.in[n:])]
	if len(s.in) == 0 {
		s.in = nil
	}
	welcome := 0
	if s.read += n; s.read >= window/4 && s.inErr == nil {
		welcome, s.read = s.read, 0
	}
	s.mu.Unlock()
	if welcome > 0 {
		s.conn.send(more, s.ID, binary.BigEndian.AppendUint32(nil, uint32(welcome)))
	}
	return n, nil
}

// SetReadDeadline ends a pending Read at t, and none if t is zero.
func (s *Stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.deadline = t
	if !t.IsZero() {
		s.timer = time.AfterFunc(time.Until(t), s.wake)
	}
	s.changed.Broadcast()
	return nil
}

// wake has all who wait look again. Subtle: with the lock, or it may fall between a
// look at the clock and the wait that follows, and wake nobody.
func (s *Stream) wake() {
	s.mu.Lock()
	s.changed.Broadcast()
	s.mu.Unlock()
}

// SetWriteDeadline ends a Write that waits for credit at t, and none if t is zero.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeTimer != nil {
		s.writeTimer.Stop()
		s.writeTimer = nil
	}
	s.writeDeadline = t
	if !t.IsZero() {
		s.writeTimer = time.AfterFunc(time.Until(t), s.wake)
	}
	s.changed.Broadcast()
	return nil
}

// Write waits for credit until the deadline.
func (s *Stream) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		s.mu.Lock()
		for (s.credit == 0 || !s.given) && s.outErr == nil {
			if !s.writeDeadline.IsZero() && !time.Now().Before(s.writeDeadline) {
				s.mu.Unlock()
				return n, os.ErrDeadlineExceeded
			}
			s.changed.Wait()
		}
		if s.outErr != nil {
			defer s.mu.Unlock()
			return n, s.outErr
		}
		part := b[:min(len(b), s.credit, chunk)]
		s.credit -= len(part)
		s.mu.Unlock()
		if err := s.conn.send(data, s.ID, part); err != nil {
			return n, err
		}
		n, b = n+len(part), b[len(part):]
	}
	return n, nil
}

// CloseWrite says that no more will come, or why: nil is a good end.
func (s *Stream) CloseWrite(why error) error {
	s.mu.Lock()
	for !s.given && s.outErr == nil && !s.deaf {
		s.changed.Wait()
	}
	over := s.outErr != nil || !s.given
	if !over {
		s.outErr = io.ErrClosedPipe
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	if over {
		return nil
	}
	var text string
	if why != nil {
		text = why.Error()
	}
	return s.conn.send(end, s.ID, []byte(text[:min(len(text), maxText)]))
}

// Close gives the stream up in both directions.
func (s *Stream) Close() error {
	s.mu.Lock()
	ended := s.inErr != nil || !s.given
	s.deaf, s.in = true, nil
	if s.inErr == nil {
		s.inErr = io.ErrClosedPipe
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.CloseWrite(nil)
	if !ended {
		s.conn.send(stop, s.ID, nil)
	}
	s.conn.forget(s.ID)
	return nil
}

// give lets the stream send: the other side knows of it now.
func (s *Stream) give() {
	s.mu.Lock()
	s.given = true
	s.changed.Broadcast()
	s.mu.Unlock()
}

// take keeps what came; the connection's reader calls it and must not wait.
func (s *Stream) take(f frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	switch f.kind {
	case data:
		switch {
		case s.deaf || s.inErr != nil:
		case len(s.in)+s.read+len(f.payload) > window:
			return fmt.Errorf("%w: a stream was sent more than its credit", ErrNoise)
		default:
			s.in = append(s.in, f.payload...)
		}
	case end:
		if s.inErr == nil {
			s.inErr = io.EOF
			if len(f.payload) > 0 {
				s.inErr = errors.New(string(f.payload[:min(len(f.payload), maxText)]))
			}
		}
	case stop:
		if s.outErr == nil {
			s.outErr = ErrStopped
		}
	case more:
		if len(f.payload) != 4 {
			return fmt.Errorf("%w: a credit of %d bytes", ErrNoise, len(f.payload))
		}
		if n := binary.BigEndian.Uint32(f.payload); n > window || s.credit+int(n) > window {
			return fmt.Errorf("%w: a credit for more than was sent", ErrNoise)
		}
		s.credit += int(binary.BigEndian.Uint32(f.payload))
	}
	return nil
}

// fail ends both directions with why.
func (s *Stream) fail(why error) {
	s.mu.Lock()
	if s.inErr == nil {
		s.inErr = why
	}
	if s.outErr == nil {
		s.outErr = why
	}
	s.changed.Broadcast()
	s.mu.Unlock()
}
