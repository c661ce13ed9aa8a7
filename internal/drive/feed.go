package drive

import (
	"iter"
	"time"
)

// A feed hands out the requests of a Load one by one.
type feed struct {
	load Load
	rec  *Record
	n    int // taken
	all  int // prepared in rec
	next func() (time.Duration, bool)
	stop func()
}

// newFeed lays the due instants of a recorded run into its rows beforehand:
// that also touches the memory, and spares the 125 ns that iter.Pull costs a
// request. A run that is ended by time does not know how many there will be.
func newFeed(load Load, rec *Record) feed {
	f := feed{load: load, rec: rec, stop: func() {}}
	if !load.Record || load.For > 0 {
		f.next, f.stop = iter.Pull(load.Schedule)
		if load.Record {
			rec.reserve(16 * chunkRows)
		}
		return f
	}
	for due := range load.Schedule {
		rec.reserve(f.all + 1)
		rec.chunks[f.all/chunkRows][f.all%chunkRows].due = int64(due)
		f.all++
	}
	return f
}

// take is the next request: its number from 1, and when it is due (see
// Schedule).
func (f *feed) take() (seq uint64, due time.Duration, ok bool) {
	if f.next != nil {
		due, ok = f.next()
	} else if ok = f.n < f.all; ok {
		due = time.Duration(f.rec.chunks[f.n/chunkRows][f.n%chunkRows].due)
	}
	if !ok {
		return 0, 0, false
	}
	f.n++
	return uint64(f.n), due, true
}

// instant is when a request taken is due, on a lane free since free; false if
// that is after the end of the run.
func (f *feed) instant(due, free time.Duration) (time.Duration, bool) {
	if due < -1 {
		due = free - due
	} else if due == -1 {
		due = free
	}
	return due, f.load.For == 0 || due < f.load.For
}
