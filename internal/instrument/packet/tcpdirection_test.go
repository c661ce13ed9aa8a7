package packet

import (
	"math/rand/v2"
	"testing"
)

// TestSeeAgainstASet compares the gaps with a set that holds every number.
func TestSeeAgainstASet(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var h half
		h.begin(0xffffff00, 0)
		seen := map[int64]bool{}
		for i := range 60 {
			from := int64(rng.IntN(400))
			to := from + int64(rng.IntN(40))
			var want int64
			for n := from; n < to; n++ {
				if !seen[n] {
					want++
				}
				seen[n] = true
			}
			if got, _ := h.see(from, to, sighting{since: ms}); got != want {
				t.Fatalf("seed %d, step %d: [%d, %d): %d new, want %d; gaps %v", seed, i, from, to, got, want, h.holes)
			}
			h.hasAck, h.acked = true, h.isn+uint32(rng.IntN(450))
			var lacks int64
			for n := range h.number(h.acked) {
				if !seen[n] {
					lacks++
				}
			}
			if got := h.unseen(); got != lacks {
				t.Fatalf("seed %d, step %d: %d unseen, want %d", seed, i, got, lacks)
			}
		}
	}
}

// Linux sends its SYN+ACK with identification 0 and then counts from any number:
// one in the upper half is, as a difference, before 0.
func TestIdentificationsCountFromAnyNumber(t *testing.T) {
	for _, first := range []uint16{1, 0x7fff, 0x8000, 0xffef} {
		var h half
		h.noteID(0)
		for i := range uint16(40) {
			h.noteID(first + i)
		}
		if !h.countsIDs() {
			t.Errorf("from %d: %d steps by one and %d others are taken for no counter", first, h.counted, h.skipped)
		}
	}
	var h half
	for range 40 {
		h.noteID(0)
	}
	if h.countsIDs() {
		t.Error("zeros are taken for a counter")
	}
}
