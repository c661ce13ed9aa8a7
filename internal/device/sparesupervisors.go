package device

import "sync"

// Spares are supervisors whose programs have ended and that wait for another order: to start one takes as long as
// this binary takes to initialize, twice in each trial.
type Spares struct {
	mu      sync.Mutex
	waiting []*localSupervisor
	closed  bool
}

// keep takes one whose program has ended. It reports whether it did: after the end, and without Spares, it takes none.
func (s *Spares) keep(one *localSupervisor) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.waiting = append(s.waiting, one)
	return true
}

// take takes one that waits; nil: none does.
func (s *Spares) take() *localSupervisor {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil
	}
	one := s.waiting[0]
	s.waiting = s.waiting[1:]
	return one
}

// Close ends those that wait. No others are kept.
func (s *Spares) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for one := s.take(); one != nil; one = s.take() {
		one.shut()
		one.reap()
	}
	return nil
}
