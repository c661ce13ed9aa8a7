package packet

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"
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

// lateOrLost scripts an answer of 30 segments of which one comes late, or is lost and sent again, and says which of
// the two it is taken for. wait is how long after its time it comes, in round trips of the handshake (2 ms).
func lateOrLost(t *testing.T, rng *rand.Rand, wait float64, lost bool, id func(sent int) uint16) (again, late int64) {
	s := newScript(t)
	c, v := s.open(cliAddr, srvAddr)
	reheader(s.pkts[1].Data, func(ip []byte) { ip[4], ip[5] = 0, 0 }) // as Linux does
	c.send(ackFlag, "request")
	start, first, sent := v.seq, len(s.pkts), 0
	type piece struct {
		n, sent int
	}
	var pieces []piece
	missing := 12 + rng.IntN(8)
	after := missing + 1 + rng.IntN(8) // comes behind this one
	var held piece
	for n := range 30 {
		if n == missing {
			held = piece{n, sent}
			sent++
			continue
		}
		pieces = append(pieces, piece{n, sent})
		sent++
		if n == after {
			if lost {
				held.sent, sent = sent, sent+1
			}
			pieces = append(pieces, held)
		}
	}
	for _, p := range pieces {
		v.segment(ackFlag, start+uint32(4*p.n), []byte("part"))
		x := &s.pkts[len(s.pkts)-1]
		reheader(x.Data, func(ip []byte) { binary.BigEndian.PutUint16(ip[4:], id(p.sent)) })
		s.at += -ms + 10*time.Microsecond
		if p == held {
			s.at += time.Duration(wait * float64(2*ms))
			x.At = s.at
		}
	}
	for i := range s.pkts[first:] { // what the gap opened comes before what fills it
		s.pkts[first+i].At = max(s.pkts[first+i].At, s.pkts[first+i-1].At+1)
	}
	v.seq = start + 120
	c.ack = v.seq
	s.at += 10 * ms
	c.send(ackFlag, "")
	hangUp(c, v)
	x := &s.analyze(Options{}).Connections[0]
	return x.Retransmissions, x.OutOfOrder
}

// TestIdentificationsTellLateFromLost: what a sender that counts its packets sent before or after the gap was opened is
// known, however late it comes. Of others only the time is, within which nobody learns of a loss.
func TestIdentificationsTellLateFromLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	wrong := 0
	for i := range 400 {
		begin, lost := uint16(rng.Uint32()), i%2 == 0
		again, late := lateOrLost(t, rng, 0.1+5*rng.Float64(), lost, func(sent int) uint16 { return begin + uint16(sent) })
		if again+late != 1 || lost != (again == 1) {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of 400 are wrong", wrong)
	}
	for name, id := range map[string]func(int) uint16{
		"none":            func(int) uint16 { return 0 },
		"random":          func(int) uint16 { return uint16(rng.Uint32()) },
		"of all packets":  func(sent int) uint16 { return uint16(9 * sent) },
		"of two counters": func(sent int) uint16 { return uint16(sent/2 + 20*(sent%2)) },
	} {
		for range 50 {
			if again, late := lateOrLost(t, rng, 3, true, id); again != 1 || late != 0 {
				t.Errorf("%s: after three round trips, %d sent again, %d late", name, again, late)
			}
			if again, late := lateOrLost(t, rng, 0.2, false, id); again != 0 || late != 1 {
				t.Errorf("%s: within a round trip, %d sent again, %d late", name, again, late)
			}
		}
	}
}
