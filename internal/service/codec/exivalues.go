package codec

import (
	"hash/maphash"
	"math/bits"
	"sync"
)

// A valueTable finds strings that came before: EXI's partition of values, in
// which each has a number from 0 (section 7.3.3). It keeps places in a list of
// strings, not the strings.
type valueTable struct {
	entries []valueEntry
	slots   []uint32 // a hash table with open addressing: 0 is empty, else 1 + the entry
	seed    maphash.Seed
}

type valueEntry struct {
	hash uint32
	at   uint32 // in the list of strings
}

var valueTables = sync.Pool{New: func() any { return &valueTable{seed: maphash.MakeSeed()} }}

// reset makes room for n strings.
func (t *valueTable) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	if cap(t.slots) < size {
		t.slots = make([]uint32, size)
	}
	t.slots = t.slots[:size]
	clear(t.slots)
	t.entries = t.entries[:0]
}

// add looks for all[i] and adds it if it is not there. The seed is random, so
// that nobody can choose strings that all meet.
func (t *valueTable) add(all [][]byte, i int) (id int, found bool) {
	hash := uint32(maphash.Bytes(t.seed, all[i]))
	mask := len(t.slots) - 1
	for slot := int(hash) & mask; ; slot = (slot + 1) & mask {
		n := t.slots[slot]
		if n == 0 {
			t.entries = append(t.entries, valueEntry{hash, uint32(i)})
			t.slots[slot] = uint32(len(t.entries))
			return 0, false
		}
		e := t.entries[n-1]
		if e.hash == hash && string(all[e.at]) == string(all[i]) {
			return int(n - 1), true
		}
	}
}
