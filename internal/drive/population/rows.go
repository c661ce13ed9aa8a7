package population

import (
	"iter"
	"math"
	"math/bits"
	"time"

	"edgegauge.example/edgegauge/internal/drive/reasons"
	"edgegauge.example/edgegauge/internal/measure"
)

// A row is one request as it is kept, 40 B; done of 0: it failed.
type row struct {
	due, sent, done int64
	opening         uint32 // µs before sent in which its connection was opened, or its session
	in              uint32 // B of the answer's payload
	why             uint32 // number of a text in reasons; 0: it did not fail
	draw            uint32 // says whether it stays when rows are thinned
}

// MostRows is how many requests of a run are kept as rows. Above it, each is kept with
// the same probability, a power of one half; what is counted is counted of all.
const MostRows = 1 << 17

const chunkRows = 4096

// rows are a random sample of a run's requests: all of them if they are few.
type rows struct {
	keep    bool
	chunks  [][]row
	n, most int
	halved  int // a row stays if so many of the lowest bits of its draw are 0
	reasons reasons.Table
	first   string // why the first request failed, whether rows are kept or not
}

func (r *rows) reset(keep bool, most int) {
	*r = rows{keep: keep, most: most, chunks: r.chunks, reasons: reasons.New()}
}

// put keeps a row, if it is one of the sample. The sample depends on draw only, so it
// knows nothing of how long a request took.
func (r *rows) put(x row, why error, draw uint64) {
	if why != nil && r.first == "" {
		r.first = why.Error()
	}
	x.draw = uint32(draw >> 32)
	if !r.keep || bits.TrailingZeros32(x.draw) < r.halved {
		return
	}
	if why != nil {
		x.why = r.reasons.Of(why.Error())
	}
	if r.n == r.most {
		r.thin()
		if bits.TrailingZeros32(x.draw) < r.halved {
			return
		}
	}
	if r.n == len(r.chunks)*chunkRows {
		r.chunks = append(r.chunks, make([]row, chunkRows))
	}
	*r.at(r.n) = x
	r.n++
}

func (r *rows) at(i int) *row { return &r.chunks[i/chunkRows][i%chunkRows] }

// done ends the request under way, and keeps it.
func (c *core) done(i int32, now int64, why error, size int) {
	d := &c.devices[i]
	c.waiting--
	c.wheel.remove(i)
	r := row{due: d.due, sent: d.sent, in: uint32(size)}
	if c.went != nil && c.went[i] > d.sent { // else it is of an earlier request
		r.sent = c.went[i]
		r.opening = uint32(min((r.sent-d.sent)/1e3, math.MaxUint32))
	}
	if why == nil {
		r.done = max(now, r.sent+1) // Subtle: one clock read stands for a batch
	}
	if why != errEnded { // else nobody knows what would have become of it
		c.back.request(why != nil, now)
	}
	c.rows.put(r, why, draw(c.Seed, c.number(i), forSample+uint64(c.salt)<<16|uint64(d.id)))
}

// thin drops every other row, until one is dropped.
func (r *rows) thin() {
	for before := r.n; r.n == before && r.halved < 32; {
		r.halved++
		kept := 0
		for i := range r.n {
			if x := *r.at(i); bits.TrailingZeros32(x.draw) >= r.halved {
				*r.at(kept) = x
				kept++
			}
		}
		r.n = kept
	}
}

// exchanges yields the rows, numbered from 1. Devices do not serialize: their message
// was made before the run.
func (r *rows) exchanges(body int) iter.Seq[measure.Exchange] {
	return func(yield func(measure.Exchange) bool) {
		for i := range r.n {
			w := r.at(i)
			x := measure.Exchange{Seq: uint64(i) + 1, Due: time.Duration(w.due), Sent: time.Duration(w.sent),
				Done: time.Duration(w.done), Connection: time.Duration(w.opening) * time.Microsecond, Out: int64(body),
				In: int64(w.in), Failure: r.reasons.Texts[w.why]}
			if w.done > 0 {
				x.Total = x.Connection + x.Done - x.Sent
			}
			if !yield(x) {
				return
			}
		}
	}
}
