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
	next func() ([]time.Duration, bool)
	stop func()
	some []time.Duration // pulled and not yet taken
}

// newFeed lays the due instants of a recorded run into its rows beforehand:
// that also touches the memory. A run that is ended by time does not know how
// many there will be, so it pulls them, 64 at a time: iter.Pull costs 125 ns.
func newFeed(load Load, rec *Record) feed {
	f := feed{load: load, rec: rec, stop: func() {}}
	if !load.Record || load.For > 0 {
		f.next, f.stop = iter.Pull(inBlocks(load.Schedule))
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

// inBlocks yields a schedule 64 instants at a time; a block is valid until the next.
func inBlocks(s Schedule) iter.Seq[[]time.Duration] {
	return func(yield func([]time.Duration) bool) {
		block := make([]time.Duration, 0, 64)
		for due := range s {
			if block = append(block, due); len(block) == cap(block) {
				if !yield(block) {
					return
				}
				block = block[:0]
			}
		}
		if len(block) > 0 {
			yield(block)
		}
	}
}

// take is the next request: its number from 1, and when it is due (see
// Schedule).
func (f *feed) take() (seq uint64, due time.Duration, ok bool) {
	if f.next != nil {
		if len(f.some) == 0 {
			f.some, _ = f.next()
		}
		if ok = len(f.some) > 0; ok {
			due, f.some = f.some[0], f.some[1:]
		}
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
