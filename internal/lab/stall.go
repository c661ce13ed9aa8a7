package lab

import (
	"fmt"
	"time"
)

// A stallWatch tells for how long this lab did not run while a trial was measured: a signal
// stopped it, or it had no CPU. Its client may have stood still as well, and where all of the
// client's connections were in use, records of that look like those of a server that did not answer.
type stallWatch struct {
	ended chan struct{}
	most  chan time.Duration // the longest
}

// mostStall is for how long a lab may not have run in a trial: less than that happens where programs wait for CPUs.
const mostStall = time.Second

// stallTick is how often it looks at the clock: what is measured beside it must not feel it.
const stallTick = 100 * time.Millisecond

func watchForStalls() stallWatch {
	w := stallWatch{make(chan struct{}), make(chan time.Duration, 1)}
	began := time.Now()
	go func() {
		ticks := time.NewTicker(stallTick)
		defer ticks.Stop()
		w.most <- longestStall(func() time.Duration { return time.Since(began) }, ticks.C, w.ended)
	}()
	return w
}

// stop ends it, and says how long the longest time between two ticks was.
func (w stallWatch) stop() time.Duration {
	close(w.ended)
	return <-w.most
}

func longestStall(now func() time.Duration, ticks <-chan time.Time, ended <-chan struct{}) (longest time.Duration) {
	last := now()
	for {
		over := false
		select {
		case <-ticks:
		case <-ended:
			over = true
		}
		at := now()
		longest, last = max(longest, at-last), at
		if over {
			return longest
		}
	}
}

// stalled: this lab ran all the time.
func (e *evidence) stalled() string {
	if e.stall <= max(mostStall, e.mostLate) {
		return ""
	}
	return fmt.Sprintf("this lab did not run for %v of the trial, and its client may not have either: a signal (SIGSTOP) "+
		"stopped it, or other programs took its CPU", e.stall.Round(time.Millisecond))
}
