package reference

import (
	"iter"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/measure"
)

// records keeps what a server saw, 56 B a request, without I/O. They lie
// outside the Go heap: there they would make the collector run ever less often
// as a trial goes on, and cost twice their size.
type records struct {
	mu     sync.Mutex
	chunks [][]record
	n      int
	same   *record // every record, where a server only counts
}

// A record is one request at the server; times in ns.
type record struct {
	deserialization, processing, serialization, total int64
	sensor                                            int64
	in, out                                           uint32
	failed                                            bool
}

const chunkRecords = 4096

func newRecords() *records { return &records{chunks: [][]record{newChunk()}} }

func newChunk() []record {
	const size = chunkRecords * int(unsafe.Sizeof(record{}))
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]record, 0, chunkRecords)
	}
	return unsafe.Slice((*record)(unsafe.Pointer(unsafe.SliceData(b))), chunkRecords)[:0]
}

// forget gives the memory back; r is of no further use.
func (r *records) forget() {
	const size = chunkRecords * int(unsafe.Sizeof(record{}))
	for _, c := range r.chunks {
		// A chunk of the heap is not a mapping of ours, and refused.
		_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(c))), size))
	}
	r.chunks = nil
}

// add keeps x; the lock is held for some 20 ns.
func (r *records) add(x record) {
	r.mu.Lock()
	last := &r.chunks[len(r.chunks)-1]
	if len(*last) == chunkRecords {
		r.chunks = append(r.chunks, newChunk())
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
	r.chunks, r.n = [][]record{newChunk()}, 0
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
		Sensor:        time.Duration(x.sensor),
		Serialization: time.Duration(x.serialization), Total: time.Duration(x.total), In: int64(x.in), Out: int64(x.out),
	}
	if x.failed {
		e.Failure = "the service failed"
	}
	return e
}
