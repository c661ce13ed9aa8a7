package packet

import (
	"io"
	"sync"
)

// A spool writes behind its caller's back, so that a disk that stalls for a
// second does not fill the ring. It holds up to 64 MiB, then its caller waits.
type spool struct {
	chunk  []byte
	full   chan []byte
	free   chan []byte
	done   chan struct{}
	mu     sync.Mutex
	failed error
}

const (
	chunkSize = 1 << 18
	chunks    = 256
)

func newSpool(w io.Writer) *spool {
	s := &spool{full: make(chan []byte, chunks), free: make(chan []byte, chunks), done: make(chan struct{})}
	s.chunk = make([]byte, 0, chunkSize)
	go s.drain(w)
	return s
}

func (s *spool) drain(w io.Writer) {
	defer close(s.done)
	for b := range s.full {
		if s.err() == nil {
			if _, err := w.Write(b); err != nil {
				s.mu.Lock()
				s.failed = err
				s.mu.Unlock()
			}
		}
		select {
		case s.free <- b[:0]:
		default:
		}
	}
}

func (s *spool) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// write takes a copy of b.
func (s *spool) write(b []byte) {
	for len(b) > 0 {
		n := min(len(b), cap(s.chunk)-len(s.chunk))
		s.chunk = append(s.chunk, b[:n]...)
		if b = b[n:]; len(s.chunk) == cap(s.chunk) {
			s.pass()
		}
	}
}

func (s *spool) pass() {
	s.full <- s.chunk
	select {
	case s.chunk = <-s.free:
	default:
		s.chunk = make([]byte, 0, chunkSize)
	}
}

// close waits until everything is written.
func (s *spool) close() error {
	s.pass()
	close(s.full)
	<-s.done
	return s.err()
}
