package reference

import (
	"iter"
	"sync"
	"time"

	"edgegauge/internal/measure"
)

// records keeps what a server saw, 40 B a request, without I/O.
type records struct {
	mu     sync.Mutex
	chunks [][]record
	n      int
	same   *record // every record, where a server only counts
}

// A record is one request at the server; times in ns.
type record struct {
	deserialization, processing, serialization, total int64
	in, out                                           uint32
	failed                                            bool
}

const chunkRecords = 4096

func newRecords() *records { return &records{chunks: [][]record{make([]record, 0, chunkRecords)}} }

// add keeps x; the lock is held for some 20 ns.
func (r *records) add(x record) {
	r.mu.Lock()
	last := &r.chunks[len(r.chunks)-1]
	if len(*last) == chunkRecords {
		r.chunks = append(r.chunks, make([]record, 0, chunkRecords))
		last = &r.chunks[len(r.chunks)-1]
	}
	*last = append(*last, x)
	r.n++
	r.mu.Unlock()
}

// take returns what was kept since the last take, and forgets it.
func (r *records) take() *records {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := &records{chunks: r.chunks, n: r.n}
	r.chunks, r.n = [][]record{make([]record, 0, chunkRecords)}, 0
	return got
}

func (r *records) exchanges() iter.Seq[measure.Exchange] {
	return func(yield func(measure.Exchange) bool) {
		seq := uint64(0)
		for r.same != nil && seq < uint64(r.n) {
			seq++
			if !yield(r.same.exchange(seq)) {
				return
			}
		}
		for _, chunk := range r.chunks {
			for _, x := range chunk {
				seq++
				if !yield(x.exchange(seq)) {
					return
				}
			}
		}
	}
}

func (x record) exchange(seq uint64) measure.Exchange {
	e := measure.Exchange{
		Seq: seq, Deserialization: time.Duration(x.deserialization), Processing: time.Duration(x.processing),
		Serialization: time.Duration(x.serialization), Total: time.Duration(x.total), In: int64(x.in), Out: int64(x.out),
	}
	if x.failed {
		e.Failure = "the service failed"
	}
	return e
}
