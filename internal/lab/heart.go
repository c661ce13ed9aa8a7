package lab

import (
	"fmt"
	"time"
)

// A heart beats while a trial is measured, and so tells for how long this lab did not run: a signal
// stopped it, or it had no CPU. Its client may have stood still as well, and where all of the
// client's connections were in use, records of that look like those of a server that did not answer.
type heart struct {
	ended chan struct{}
	still chan time.Duration
}

// beat is how often a heart beats: what is measured beside it must not feel it.
const beat = 100 * time.Millisecond

func startHeart() heart {
	h := heart{make(chan struct{}), make(chan time.Duration, 1)}
	began := time.Now()
	go func() {
		beats := time.NewTicker(beat)
		defer beats.Stop()
		h.still <- longestStill(func() time.Duration { return time.Since(began) }, beats.C, h.ended)
	}()
	return h
}

// stop ends it, and says how long the longest time without a beat was.
func (h heart) stop() time.Duration {
	close(h.ended)
	return <-h.still
}

func longestStill(now func() time.Duration, beats <-chan time.Time, ended <-chan struct{}) (longest time.Duration) {
	last := now()
	for {
		over := false
		select {
		case <-beats:
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

// stoodStill: this lab ran all the time, where that is asked for.
func (t *trialRunner) stoodStill() string {
	if limit := t.lab.MostStill; limit == 0 || t.course.still <= limit {
		return ""
	}
	return fmt.Sprintf("this lab did not run for %v of the trial, and its client may not have either: a signal (SIGSTOP) "+
		"stopped it, or other programs took its CPU", t.course.still.Round(time.Millisecond))
}
