package lab

import (
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"edgegauge/internal/measure"
	"edgegauge/internal/stat"
	"edgegauge/internal/store"
)

// A spare is the memory of values between two tallies: of one trial's sides, and
// of one trial and the next. It is not of the Go heap, where a study of long
// trials would take up to twice as much before the collector came.
type spare [][]int64

func (s *spare) take(n int) []int64 {
	for i, v := range *s {
		if cap(v) >= n {
			*s = slices.Delete(*s, i, i+1)
			return v[:0]
		}
	}
	for _, v := range *s { // all too small
		unmapped(v)
	}
	*s = nil
	return mapped(n)
}

// give takes a column's memory back. One that outgrew its room lies on the heap.
func (s *spare) give(room, values []int64) {
	switch {
	case cap(room) == 0:
	case unsafe.SliceData(room) != unsafe.SliceData(values):
		unmapped(room)
	default:
		*s = append(*s, room)
	}
}

// mapped is room for n values outside the heap; nil if there is none: append
// then makes it on the heap.
func mapped(n int) []int64 {
	if n == 0 {
		return nil
	}
	b, err := unix.Mmap(-1, 0, n*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), n)[:0]
}

func unmapped(v []int64) {
	if cap(v) > 0 {
		_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), cap(v)*8))
	}
}

// A tally holds one side's figures of a running trial, at most 56 B a request.
type tally struct {
	n, failed int
	why       string          // of the first failure
	lost      map[uint64]bool // the requests that failed
	blind     bool            // the stack runs without hooks: a phase of 0 was not seen
	wrong     string          // the first fault in a record's own instants
	last      int64           // ns, the end of the last answered exchange
	busy      int64           // ns, the sum of all round trips

	columns []column
	out, in int64 // B, sums

	thirds [2]float64 // s, mean RTT of the first and the last third; 0: too few
}

// A column is one response variable of one side.
type column struct {
	response string
	scale    float64 // from the stored unit to the quantity's
	said     bool    // most clients do not say it: as long as all are 0, none is kept
	of       func(measure.Exchange) int64
	room     []int64 // what a spare lent
	values   []int64 // in room, unless there came more than expected
}

const perNanosecond = 1e-9

// reserve makes room for the expected requests, so that nothing doubles.
func (t *tally) reserve(side measure.Side, requests int, from *spare) {
	t.columns = clientColumns()
	if side == measure.Server {
		t.columns = serverColumns()
	}
	for i := range t.columns {
		t.columns[i].room = from.take(requests)
		t.columns[i].values = t.columns[i].room
	}
}

func clientColumns() []column {
	return []column{
		{response: "rtt", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.RTT()) }},
		{response: "response_time", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Response()) }},
		{response: "serialization", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Serialization) }},
		{response: "deserialization", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Deserialization) }},
		{response: "connection", scale: perNanosecond, said: true, of: func(x measure.Exchange) int64 { return int64(x.Connection) }},
		{response: "total_time", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Total) }},
		{response: "message_size", scale: 1, of: func(x measure.Exchange) int64 { return x.Out }},
		{response: "response_size", scale: 1, of: func(x measure.Exchange) int64 { return x.In }},
	}
}

func serverColumns() []column {
	return []column{
		{response: "serialization", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Serialization) }},
		{response: "deserialization", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Deserialization) }},
		{response: "processing", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Processing) }},
		{response: "sensor_time", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Sensor) }},
		{response: "total_time", scale: perNanosecond, of: func(x measure.Exchange) int64 { return int64(x.Total) }},
	}
}

// add takes an exchange into account.
func (t *tally) add(x measure.Exchange) {
	t.n++
	t.out += x.Out
	t.in += x.In
	if x.Failure != "" {
		t.failed++
		if t.lost == nil {
			t.lost = map[uint64]bool{}
		}
		t.lost[x.Seq] = true
		if t.why == "" {
			t.why = x.Failure
		}
		return
	}
	if t.wrong == "" {
		t.wrong = fault(x)
	}
	t.last = max(t.last, int64(x.Done))
	t.busy += int64(x.RTT())
	for i := range t.columns {
		c := &t.columns[i]
		v := c.of(x)
		if c.said && v != 0 && len(c.values) == 0 {
			for range t.n - t.failed - 1 {
				c.values = append(c.values, 0)
			}
		}
		if !c.said || v != 0 || len(c.values) > 0 {
			c.values = append(c.values, v)
		}
	}
}

// results are the trial's figures of this side.
func (t *tally) results(side measure.Side) []store.Result {
	var out []store.Result
	for _, c := range t.columns {
		if first, last, err := stat.Thirds(c.values); err == nil && c.response == "rtt" { // before WithinTrial, which reorders
			t.thirds = [2]float64{first * c.scale, last * c.scale}
		}
		w, err := stat.WithinTrial(c.values)
		if err != nil {
			continue // no request was answered: there is nothing to say
		}
		if w.Max == 0 && (side == measure.Server || t.blind) {
			continue // a side that cannot see its phases, such as the floor
		}
		r, _ := measure.FindResponse(c.response)
		out = append(out, store.Result{
			Side: side, Response: r.Name, Unit: r.Unit, N: int64(w.N), Method: store.Measured,
			Mean: w.Mean * c.scale, SD: w.SD * c.scale, Median: w.Median * c.scale, P95: w.P95 * c.scale, Min: w.Min * c.scale, Max: w.Max * c.scale,
		})
	}
	return out
}

// release gives the values' memory back: the other side's come next.
func (t *tally) release(to *spare) {
	for i := range t.columns {
		to.give(t.columns[i].room, t.columns[i].values)
		t.columns[i].room, t.columns[i].values = nil, nil
	}
}

// single is a response of which a trial has one figure.
func single(side measure.Side, response string, v float64) store.Result {
	r, _ := measure.FindResponse(response)
	return store.Result{Side: side, Response: r.Name, Unit: r.Unit, N: 1, Method: store.Measured,
		Mean: v, SD: math.NaN(), Median: v, P95: math.NaN(), Min: v, Max: v}
}
