package device

import "sync"

// Spares are supervisors that wait for their first order: to start one takes as long as this
// binary takes to initialize, which a trial need not wait for. Each serves one program.
type Spares struct {
	mu       sync.Mutex
	waiting  []*localSupervisor
	coming   int // are being started
	closed   bool
	starting sync.WaitGroup
}

// Ready has supervisors started, in the background, until so many wait; without Spares, none. Call it
// when nothing is measured.
func (l Local) Ready(n int) {
	s := l.Spares
	if s == nil {
		return
	}
	s.starting.Go(func() {
		for s.wants(n) {
			one, err := l.newSupervisor(nil)
			if s.keep(one); err != nil {
				return // Start will find out
			}
		}
	})
}

func (s *Spares) wants(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.waiting)+s.coming >= n {
		return false
	}
	s.coming++
	return true
}

// keep takes one that was started; nil: it was not.
func (s *Spares) keep(one *localSupervisor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.coming--; one != nil {
		s.waiting = append(s.waiting, one)
	}
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

// Close ends those that nobody needed. No others are started.
func (s *Spares) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.starting.Wait()
	for one := s.take(); one != nil; one = s.take() {
		one.shut()
		one.reap()
	}
	return nil
}
