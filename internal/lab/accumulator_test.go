package lab

import (
	"math"
	"runtime"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
)

// Both sides and the next trial use the same memory: at most 36 B a request,
// however many trials there are.
func TestAccumulatorReusesMemory(t *testing.T) {
	const n = 1000
	var s spare
	trial := func() {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			var y accumulator
			y.reserve(side, n, &s)
			for i := range n {
				some := time.Duration(i % 2)
				y.add(measure.Exchange{Seq: uint64(i) + 1, Serialization: some, Done: 1 + some, Total: 1})
			}
			if got := len(y.columns[0].values); got != n {
				t.Fatalf("%s: %d values, want %d: the spare was not empty", side, got, n)
			}
			y.release(&s)
		}
	}
	trial()
	if len(s.columns) != 3 { // RTT, response time and serialization
		t.Errorf("%d columns took memory, want the 3 of the client whose values differ", len(s.columns))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const more = 10
	for range more {
		trial()
	}
	runtime.ReadMemStats(&after)
	if b := (after.TotalAlloc - before.TotalAlloc) / more; b > 4*n {
		t.Errorf("a trial allocates %d B, want less than one of its 11 columns, %d B", b, 4*n)
	}
	var y accumulator // gets more than was asked for
	y.reserve(measure.Server, 10, &s)
	for i := range 3 * n {
		some := time.Duration(i % 2)
		y.add(measure.Exchange{Seq: uint64(i) + 1, Serialization: some, Deserialization: some, Processing: 1 + some,
			Sensor: 1 + some, Sent: 1, Done: 2, Total: 9 + some})
	}
	if got := len(y.columns[0].values); got != 3*n {
		t.Errorf("%d values, want %d", got, 3*n)
	}
	kept := len(s.columns)
	y.release(&s)
	y.release(&s)
	if len(s.columns) != kept {
		t.Errorf("%d columns kept, want %d: those that lie on the heap are the collector's", len(s.columns), kept)
	}
	s.take(2 * n)
	if len(s.columns) != 0 {
		t.Errorf("%d columns that are too small were kept", len(s.columns))
	}
}

// A figure that is the same in all requests takes no memory, and is summarized like any other; so is one that changes
// with the last request.
func TestTheSameValueTakesNoMemory(t *testing.T) {
	const n = 100
	for _, last := range []int64{7, 9, math.MaxUint32 + 7} {
		var y accumulator
		y.reserve(measure.Client, n, new(spare))
		for i := range n {
			x := measure.Exchange{Seq: uint64(i) + 1, Done: 1, Total: time.Duration(i), Out: math.MaxUint32 + 3, In: 7}
			if i == n-1 {
				x.In = last
			}
			y.add(x)
		}
		want := map[string]float64{"rtt": 1e-9, "message_size": math.MaxUint32 + 3,
			"response_size": 7 + float64(last-7)/n}
		for i := range y.columns {
			c := &y.columns[i]
			if same := len(c.values) == 0; same == (c.Name == "total" || c.Name == "in" && last != 7) {
				t.Errorf("last %d: %s has %d values", last, c.Name, len(c.values))
			}
		}
		for _, r := range y.results(measure.Client) {
			if mean, ok := want[r.Response]; ok && (math.Abs(r.Mean/mean-1) > 1e-12 || r.N != n) {
				t.Errorf("last %d: %s %v of %d, want %v of %d", last, r.Response, r.Mean, r.N, mean, n)
			}
			delete(want, r.Response)
		}
		if len(want) > 0 {
			t.Errorf("last %d: no %v", last, want)
		}
	}
}

// The thirds are those of the order in time, which the quantiles destroy.
func TestAccumulatorKeepsTheThirds(t *testing.T) {
	var s spare
	var y accumulator
	y.reserve(measure.Client, 9, &s)
	for i := range 9 {
		y.add(measure.Exchange{Seq: uint64(i) + 1, Done: time.Duration(9-i) * time.Second, Total: time.Hour})
	}
	y.results(measure.Client)
	if y.thirds != [2]float64{8, 2} {
		t.Errorf("got %v, want 8 s and 2 s", y.thirds)
	}
	y.release(&s)
}

// A client that says what its connections took gets that figure over all its
// requests, those before it included; one that does not gets none.
func TestConnectionIsSaidOrNot(t *testing.T) {
	find := func(took ...time.Duration) (mean float64, ok bool) {
		var s spare
		var y accumulator
		y.reserve(measure.Client, len(took), &s)
		for i, d := range took {
			y.add(measure.Exchange{Seq: uint64(i) + 1, Sent: 1, Done: 2, Total: d + 1, Connection: d})
		}
		for _, r := range y.results(measure.Client) {
			if r.Response == "connection" {
				return r.Mean, true
			}
		}
		return 0, false
	}
	if mean, ok := find(0, 0, 0); ok {
		t.Errorf("a client that says nothing has connections of %g s", mean)
	}
	if mean, _ := find(0, 0, 6*time.Millisecond); mean < 0.00199 || mean > 0.00201 {
		t.Errorf("three requests, one of which connected in 6 ms: mean %g s, want 0.002", mean)
	}
}

// A stack that counts no bytes has no sizes, which would be the smallest of all; of one that counts, 0 B is a size: a
// service that is already running may answer with nothing.
func TestUncountedBytesAreNoSize(t *testing.T) {
	for _, uncounted := range []bool{true, false} {
		y := accumulator{uncounted: uncounted}
		y.reserve(measure.Client, 2, new(spare))
		for i := range 2 {
			y.add(measure.Exchange{Seq: uint64(i) + 1, Sent: 1, Done: 2, Total: 2})
		}
		sizes := map[string]float64{}
		for _, r := range y.results(measure.Client) {
			if r.Unit == "B" {
				sizes[r.Response] = r.Mean
			}
		}
		if said := len(sizes) == 2; said == uncounted {
			t.Errorf("uncounted %v: sizes %v", uncounted, sizes)
		}
	}
}

// Values that 4 B do not hold are kept as they are, among the others.
func TestAccumulatorKeepsLargeValues(t *testing.T) {
	var y accumulator
	y.reserve(measure.Client, 5, new(spare))
	took := []time.Duration{time.Second, math.MaxUint32, math.MaxUint32 + 1, time.Hour, 1}
	for i, d := range took {
		y.add(measure.Exchange{Seq: uint64(i) + 1, Done: d, Total: d})
	}
	for _, r := range y.results(measure.Client) {
		if r.Response != "rtt" {
			continue
		}
		mean := (time.Second + 2*math.MaxUint32 + 1 + time.Hour + 1).Seconds() / 5
		if math.Abs(r.Mean/mean-1) > 1e-12 || r.Max != 3600 || r.Min != 1e-9 ||
			r.Median != time.Duration(math.MaxUint32).Seconds() {
			t.Errorf("got %+v, want a mean of %g s", r, mean)
		}
		return
	}
	t.Error("no rtt")
}
