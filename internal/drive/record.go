package drive

import (
	"iter"
	"math"
	"runtime/debug"
	"time"

	"edgegauge.example/edgegauge/internal/drive/reasons"
	"edgegauge.example/edgegauge/internal/measure"
)

// row is one exchange. Instants are nanoseconds since the run began. Seq is the
// row's place, from 1.
type row struct {
	due, sent, done   int64
	ser, deser, total int64
	connection        int64  // opening one for this request, before sent
	out, in           uint32 // B; a body of 4 GiB is refused before it gets here
	failure           uint32 // number of a text in reasons; 0: success
}

// packed is a row as it is kept while measuring, 56 B: with the heap's own
// share a request costs less than 64 B.
type packed struct {
	due, sent  int64
	done       int64 // below 0: no response came, and this is the total
	ser, deser int64
	rest       uint32 // what the total is above the phases; overlong: it is in long
	out, in    uint32
	failure    uint32
}

const (
	packedBytes    = 56
	overlong       = math.MaxUint32
	chunkRows      = 4096 // 224 KiB: touching one anew costs some 30 µs, once in 4096 requests
	chunksPerRaise = 256  // 56 MiB
)

// A Record is what a run kept: its exchanges and the driver's own quality.
type Record struct {
	Quality DriverStats
	chunks  [][]packed
	growing bool          // rows are added while measuring
	count   int           // rows in use
	long    map[int]int64 // totals that do not fit a packed row
	opened  [][]int64     // connection, in chunks like the rows; nil where all are 0
	reasons reasons.Table
	// Of all requests, whether kept or not: how many ended and failed, and why the first that failed did.
	ended, failed int
	first         string
	heard         bool // there was something of an answer to one of them at least
	unheard       int  // how many had none in time
}

func newRecord() *Record {
	return &Record{reasons: reasons.New()}
}

// reserve makes and touches rows up to n, so that no page faults while measuring.
func (r *Record) reserve(n int) {
	for len(r.chunks)*chunkRows < n {
		chunk := make([]packed, chunkRows)
		for i := 0; i < len(chunk); i += 32 { // half a page; written, since reading takes up none
			chunk[i].due = 1
			chunk[i].due = 0
		}
		r.chunks = append(r.chunks, chunk)
		if r.growing && len(r.chunks)%chunksPerRaise == 0 {
			// The rows are alive: without more room for them the collector, kept
			// off up to a limit, would run again and again for nothing.
			debug.SetMemoryLimit(debug.SetMemoryLimit(-1) + chunksPerRaise*chunkRows*packedBytes)
		}
	}
}

// put keeps w as row i, from 0; it grows the record if it must.
func (r *Record) put(i int, w *row) {
	if i >= len(r.chunks)*chunkRows {
		r.reserve(i + 1)
	}
	r.count = max(r.count, i+1)
	if w.connection != 0 {
		r.putConnection(i, w.connection)
	}
	p := &r.chunks[i/chunkRows][i%chunkRows]
	*p = packed{due: w.due, sent: w.sent, done: w.done, ser: w.ser, deser: w.deser, out: w.out, in: w.in,
		failure: w.failure}
	if w.done == 0 {
		p.done = -w.total
		return
	}
	rest := w.total - p.phases()
	if p.rest = uint32(rest); rest < 0 || rest >= overlong {
		if r.long == nil {
			r.long = map[int]int64{}
		}
		p.rest, r.long[i] = overlong, w.total
	}
}

// putConnection keeps what most runs have none of: it costs them no memory.
func (r *Record) putConnection(i int, d int64) {
	for len(r.opened) <= i/chunkRows {
		r.opened = append(r.opened, nil)
	}
	if r.opened[i/chunkRows] == nil {
		r.opened[i/chunkRows] = make([]int64, chunkRows)
	}
	r.opened[i/chunkRows][i%chunkRows] = d
}

// phases are serialization, RTT and deserialization together.
func (p *packed) phases() int64 { return p.ser + p.done - p.sent + p.deser }

// row is row i as it was put.
func (r *Record) row(i int) row {
	p := &r.chunks[i/chunkRows][i%chunkRows]
	w := row{due: p.due, sent: p.sent, done: p.done, ser: p.ser, deser: p.deser, out: p.out, in: p.in, failure: p.failure}
	if c := i / chunkRows; c < len(r.opened) && r.opened[c] != nil {
		w.connection = r.opened[c][i%chunkRows]
	}
	switch {
	case p.done <= 0:
		w.done, w.total = 0, -p.done
	case p.rest == overlong:
		w.total = r.long[i]
	default:
		w.total = p.phases() + int64(p.rest)
	}
	return w
}

// Len is the number of exchanges kept; 0 for a run that was not recorded.
func (r *Record) Len() int { return r.count }

// Ended is how many requests there were, and how many of them failed, of a run that was not recorded as well;
// first is why the first that failed did.
func (r *Record) Ended() (n, failed int, first string) { return r.ended, r.failed, r.first }

// Exchanges yields the exchanges in the order of their Seq.
func (r *Record) Exchanges() iter.Seq[measure.Exchange] {
	return func(yield func(measure.Exchange) bool) {
		for i := range r.count {
			w := r.row(i)
			if !yield(w.exchange(i, r.reasons.Texts)) {
				return
			}
		}
	}
}

func (w *row) exchange(i int, reasons []string) measure.Exchange {
	return measure.Exchange{
		Seq: uint64(i) + 1, Due: time.Duration(w.due), Sent: time.Duration(w.sent), Done: time.Duration(w.done),
		Serialization: time.Duration(w.ser), Deserialization: time.Duration(w.deser), Total: time.Duration(w.total),
		Connection: time.Duration(w.connection),
		Out:        int64(w.out), In: int64(w.in), Failure: reasons[w.failure],
	}
}
