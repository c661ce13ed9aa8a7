package lab

import (
	"math"
	"slices"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A spare is the memory of values between two accumulators: of one trial's sides, and
// of one trial and the next. It is not of the Go heap, where a study of long
// trials would take up to twice as much before the collector came.
type spare struct {
	mu      sync.Mutex // trials at once share it
	columns [][]uint32
	wide    []int64 // of the column that is summarized
}

func (s *spare) take(n int) []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, v := range s.columns {
		if cap(v) >= n {
			s.columns = slices.Delete(s.columns, i, i+1)
			return v[:0]
		}
	}
	for _, v := range s.columns { // all too small
		unmapped(v)
	}
	s.columns = nil
	return mapped[uint32](n)
}

// takeWide is empty, for n values; nil if there is no room.
func (s *spare) takeWide(n int) []int64 {
	s.mu.Lock()
	v := s.wide
	s.wide = nil
	s.mu.Unlock()
	if cap(v) < n {
		unmapped(v)
		v = mapped[int64](n)
	}
	return v[:0]
}

// giveWide takes back what takeWide lent.
func (s *spare) giveWide(room []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cap(s.wide) > 0 {
		unmapped(room)
		return
	}
	s.wide = room
}

// give takes a column's memory back. One that outgrew its room lies on the heap.
func (s *spare) give(room, values []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case cap(room) == 0:
	case unsafe.SliceData(room) != unsafe.SliceData(values):
		unmapped(room)
	default:
		s.columns = append(s.columns, room)
	}
}

// mapped is room for n values outside the heap; nil if there is none: append
// then makes it on the heap.
func mapped[T int64 | uint32](n int) []T {
	if n == 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, n*int(unsafe.Sizeof(T(0))), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)[:0]
}

func unmapped[T int64 | uint32](v []T) {
	if cap(v) > 0 {
		_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), cap(v)*int(unsafe.Sizeof(T(0)))))
	}
}

// An accumulator holds one side's figures of a running trial, at most 28 B a request, and 8 B
// more while they are summarized. What is the same in all requests takes none.
type accumulator struct {
	n, failed int
	why       string          // of the first failure
	lost      map[uint64]bool // the requests that failed
	blind     bool            // the stack runs without hooks: a phase of 0 was not seen
	uncounted bool            // the stack counts no bytes: sizes of 0 were not seen
	wrong     string          // the first fault in a record's own figures
	last      int64           // ns, the end of the last answered exchange
	given     int64           // ns, the end of the last failed one, as far as records tell
	endless   bool            // some failed, and their records do not tell when
	begun     int64           // ns, when the last of these was sent
	busy      int64           // ns, the sum of all round trips
	whole     int64           // ns, the sum of all total times
	handled   int64           // ns, the sum of what lies between a request's last byte and its answer's first
	waited    int             // requests that say that they waited for their connection
	wait      int64           // ns, of all of them
	check     recordCheck

	columns []column
	from    *spare
	x       measure.Exchange // the last answered one
	out, in int64            // B, sums

	thirds [2]float64        // s, mean RTT of the first and the last third; 0: too few
	rtts   *measure.Spectrum // nil: all are shorter than matters to it
}

// A column is one response variable of one side: ns or B, of which 4 B hold nearly all. As long as all
// values are the same, as sizes often are, they take no memory.
type column struct {
	*measure.Field
	n      int   // values
	first  int64 // the first of them
	lend   func() []uint32
	room   []uint32 // what was lent for the values
	values []uint32 // in room, unless there came more than expected; none while all are the first
	large  map[int]int64
}

// put keeps a value.
func (c *column) put(v int64) {
	if c.n == 0 {
		c.first = v
	}
	if v != c.first || len(c.values) > 0 {
		if len(c.values) == 0 {
			c.room = c.lend()
			c.values = c.room
		}
		for len(c.values) < c.n {
			c.add(c.first)
		}
		c.add(v)
	}
	c.n++
}

func (c *column) add(v int64) {
	if v < 0 || v > math.MaxUint32 {
		if c.large == nil {
			c.large = map[int]int64{}
		}
		c.large[len(c.values)] = v
		v = 0
	}
	c.values = append(c.values, uint32(v))
}

// widen appends all values to dst, in their order; of a rare field that had none, nothing.
func (c *column) widen(dst []int64) []int64 {
	at := len(dst)
	if len(c.values) == 0 && !(c.Rare() && c.first == 0) {
		for range c.n {
			dst = append(dst, c.first)
		}
	}
	for _, v := range c.values {
		dst = append(dst, int64(v))
	}
	for i, v := range c.large {
		dst[at+i] = v
	}
	return dst
}

// reserve lends each column room for the expected requests when it needs it, so that nothing doubles.
func (t *accumulator) reserve(side measure.Side, requests int, from *spare) {
	t.check.side, t.from = side, from
	fields := measure.Summaries(side)
	t.columns = make([]column, len(fields))
	lend := func() []uint32 { return from.take(requests) }
	for i, f := range fields {
		t.columns[i] = column{Field: f, lend: lend}
	}
}

// add takes an exchange into account.
func (t *accumulator) add(x measure.Exchange) {
	t.n++
	if fault := t.check.fault(x); fault != "" {
		if t.wrong == "" {
			t.wrong = fault
		}
		return // sums of what is impossible may overflow
	}
	t.out += x.Out
	t.in += x.In
	if x.Connection > 0 {
		t.waited++
		t.wait += int64(x.Connection)
	}
	if x.Failure != "" {
		t.failed++
		if t.lost == nil {
			t.lost = map[uint64]bool{}
		}
		t.lost[x.Seq] = true
		if t.why == "" {
			t.why = x.Failure
		}
		at, ok := x.Ended()
		t.given = max(t.given, int64(at))
		if !ok {
			t.endless, t.begun = true, max(t.begun, int64(at))
		}
		return
	}
	t.last = max(t.last, int64(x.Done))
	t.busy += int64(x.RTT())
	if rtt := x.RTT(); rtt >= measure.SpectrumFrom {
		if t.rtts == nil {
			t.rtts = new(measure.Spectrum)
		}
		t.rtts.Add(rtt)
	}
	t.whole += int64(x.Total)
	t.handled += int64(x.Deserialization + x.Processing + x.Serialization)
	t.x = x // a parameter whose address is taken would be allocated
	for i := range t.columns {
		c := &t.columns[i]
		c.put(c.Value(&t.x))
	}
}

// results are the trial's figures of this side.
func (t *accumulator) results(side measure.Side) []store.Result {
	var out []store.Result
	longest := 0
	for _, c := range t.columns {
		longest = max(longest, c.n)
	}
	room := t.from.takeWide(longest)
	defer t.from.giveWide(room)
	for i := range t.columns {
		c := &t.columns[i]
		values := c.widen(room)
		if first, last, err := stat.Thirds(values); err == nil && c.Name == "rtt" { // before WithinTrial, which reorders
			t.thirds = [2]float64{first * c.Scale(), last * c.Scale()}
		}
		if t.uncounted && c.Response.Unit == "B" && t.out == 0 && t.in == 0 {
			continue
		}
		w, err := stat.WithinTrial(values)
		if err != nil {
			continue // no request was answered: there is nothing to say
		}
		if w.Max == 0 && (side == measure.Server || t.blind) {
			continue // a side that cannot see its phases, such as the floor
		}
		r, scale := c.Response, c.Scale()
		out = append(out, store.Result{
			Side: side, Response: r.Name, Unit: r.Unit, N: int64(w.N), Method: store.Measured,
			Mean: w.Mean * scale, SD: w.SD * scale, Median: w.Median * scale, P95: w.P95 * scale, Min: w.Min * scale,
			Max: w.Max * scale,
		})
	}
	return out
}

// gathersAt is from how many s on the timer is that RTTs gather at, besides so much work; 0: they gather at none.
func (t *accumulator) gathersAt(work float64) float64 {
	for _, w := range measure.Timers {
		if t.rtts != nil && w.Gathers(t.rtts, work) {
			return w.From
		}
	}
	return 0
}

// release gives the values' memory back: the other side's come next.
func (t *accumulator) release(to *spare) {
	for i := range t.columns {
		to.give(t.columns[i].room, t.columns[i].values)
		t.columns[i] = column{Field: t.columns[i].Field}
	}
}

// single is a response of which a trial has one figure.
func single(side measure.Side, response string, v float64) store.Result {
	r, _ := measure.FindResponse(response)
	return store.Result{Side: side, Response: r.Name, Unit: r.Unit, N: 1, Method: store.Measured,
		Mean: v, SD: math.NaN(), Median: v, P95: math.NaN(), Min: v, Max: v}
}
