package drive

import "sync"

// work drives every lane from a goroutine of its own. A due instant is met
// within what time.Sleep's poller allows, some 60 µs, not within a spin.
func (r *run) work() {
	var workers sync.WaitGroup
	for _, l := range r.d.lanes {
		workers.Go(func() { r.drudge(l) })
	}
	workers.Wait()
}

func (r *run) drudge(l *lane) {
	for {
		r.mu.Lock()
		_, due, ok := r.feed.take()
		r.mu.Unlock()
		if !ok {
			return
		}
		at, ok := r.feed.instant(due, l.free)
		if !ok {
			return
		}
		now, ok := r.sleepUntil(at)
		if !ok {
			return
		}
		// Subtle: numbered now, and not as it was taken. Lanes take in turn and begin in another order, and one that finds
		// the run over begins nothing: a number without a request would be a row that no answer fills.
		r.mu.Lock()
		r.lateness(due, l.free, now)
		r.begun++
		seq := r.begun
		r.mu.Unlock()
		r.exchange(l, seq, at, now)
	}
}
