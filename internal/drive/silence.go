package drive

import (
	"errors"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/plural"
)

// silentFrom is how many requests must have failed for want of an answer in time: at a low rate, one or two that were
// lost say little.
const silentFrom = 5

// A silentError is that no request was answered in time for so long that no more were sent.
type silentError struct {
	url      string
	requests int
	lasted   time.Duration
	first    string // failure
}

func (e *silentError) Error() string {
	return fmt.Sprintf("%s: none of the first %d requests was answered in %s, so no more were sent; first failure: %s",
		e.url, e.requests, plural.Duration(e.lasted.Round(100*time.Millisecond)), e.first)
}

// listen ends a run in which nobody answers: the request on l has ended. Those that fail at once cost no time, and say
// nothing either way, as of a service that is not up yet.
func (r *run) listen(l *lane, err error) {
	rec := r.record
	switch {
	case l.row.done > 0 || l.bytes:
		rec.heard = true
	case errors.Is(err, errTimeout):
		rec.unheard++
		if r.silence > 0 && !r.stop.Load() && rec.unheard >= silentFrom && l.free >= r.silence {
			r.silent = &silentError{r.d.URL, rec.ended, l.free, rec.first}
			r.stop.Store(true)
		}
	}
}
