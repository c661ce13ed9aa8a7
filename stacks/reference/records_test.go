package reference

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

func TestRecordsInOrder(t *testing.T) {
	r := newRecords()
	const n = 3*chunkRecords + 7
	for i := range n {
		r.add(record{total: int64(i)})
	}
	for round, want := range []int{n, 5} {
		got := r.take()
		seq := uint64(0)
		for x := range got.exchanges() {
			if seq++; x.Seq != seq || int64(x.Total) != int64(seq)-1 {
				t.Fatalf("round %d: record %d has seq %d, total %d", round, seq, x.Seq, x.Total)
			}
		}
		if int(seq) != want || got.n != want {
			t.Errorf("round %d: %d records, n %d, want %d", round, seq, got.n, want)
		}
		got.forget()
		for i := range 5 { // those after a take begin anew
			r.add(record{total: int64(i)})
		}
	}
	r.take().forget()
}

// A request costs the server its record and no more, and forgotten records are
// given back to the system.
func TestRecordsMemory(t *testing.T) {
	const n = 1 << 20
	before := resident(t)
	r := newRecords()
	for range n {
		r.add(record{in: 1})
	}
	grown := resident(t) - before
	if each := float64(grown) / n; each > float64(unsafe.Sizeof(record{}))+4 {
		t.Errorf("%.1f B a record, want %d", each, unsafe.Sizeof(record{}))
	}
	r.take().forget()
	if kept := resident(t) - before; kept > grown/4 {
		t.Errorf("%d of %d B kept after forget", kept, grown)
	}
}

func resident(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
