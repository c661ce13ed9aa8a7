package drive

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// spinWindow is how long before a due instant the driver stops sleeping: a
// sleeping thread wakes 30–50 µs late, a spinning one well under 1 µs.
const spinWindow = 60 * time.Microsecond

// A pacer is the clock of one run, and waits on it.
type pacer struct {
	base time.Time
	stop atomic.Bool // ctx ended
	spun time.Duration
}

// now is the instant of the run: 28 ns, the quickest clock read Go has.
func (p *pacer) now() time.Duration { return time.Since(p.base) }

// until waits for an instant and returns the clock then; false if stopped.
func (p *pacer) until(due time.Duration) (time.Duration, bool) {
	now := p.now()
	for due-now > spinWindow {
		if p.stop.Load() {
			return now, false
		}
		poll(-1, 0, min(due-now-spinWindow, longestWait))
		now = p.now()
	}
	if now >= due {
		return now, !p.stop.Load()
	}
	began := now
	for now < due {
		now = p.now()
	}
	p.spun += now - began
	return now, !p.stop.Load()
}

// sleepUntil is until for goroutines that share threads: it does not spin.
func (p *pacer) sleepUntil(due time.Duration) (time.Duration, bool) {
	for now := p.now(); ; now = p.now() {
		if p.stop.Load() || now >= due {
			return now, !p.stop.Load()
		}
		time.Sleep(min(due-now, longestWait))
	}
}

// sharpen lets this thread's sleeps end on time, not up to 50 µs later.
func sharpen() { unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) }
