package packet

import "time"

// A half is one direction of a TCP connection: which of its sequence numbers
// were seen. They count from the SYN, which is 0, in 64 bits.
type half struct {
	begun  bool
	midway bool // begun by something else than a SYN
	isn    uint32
	next   int64 // one past the highest seen
	holes  []hole
	acked  uint32 // highest number the other side acknowledged, as on the wire
	hasAck bool
	fin    int64 // number of the FIN; 0: none seen
	window uint16
	mss    int // the largest payload this side accepts; 0: not said

	last     signature
	lastAt   time.Duration
	way      Way
	iface    int
	segments int64
}

type hole struct {
	from, to int64
	since    time.Duration
}

// A signature tells a packet captured twice from one sent twice.
type signature struct {
	crc uint32
	id  uint16
	len int
}

// begin fixes the sequence number that counts as 0.
func (h *half) begin(isn uint32, next int64) { h.begun, h.isn, h.next = true, isn, next }

// number unwraps a sequence number: the one nearest to what was seen last.
func (h *half) number(seq uint32) int64 {
	return h.next + int64(int32(seq-h.isn-uint32(h.next)))
}

// noteAck keeps the highest acknowledgement of this half, on the wire's scale,
// since it may come before the half's first segment.
func (h *half) noteAck(ack uint32) {
	if !h.hasAck || int32(ack-h.acked) > 0 {
		h.acked, h.hasAck = ack, true
	}
}

// unseen returns how many acknowledged numbers the capture lacks.
func (h *half) unseen() int64 {
	if !h.hasAck {
		return 0
	}
	acked := h.number(h.acked)
	n := max(acked-h.next, 0)
	for _, g := range h.holes {
		n += max(min(g.to, acked)-g.from, 0)
	}
	return n
}

// finAcked says whether the FIN was seen and acknowledged.
func (h *half) finAcked() bool {
	return h.fin > 0 && h.hasAck && h.number(h.acked) > h.fin
}

// see marks [from, to) as seen and returns how many of it were new, and since
// when the oldest gap they fill was open (0: they fill none).
func (h *half) see(from, to int64, at time.Duration) (fresh int64, gap time.Duration) {
	if to <= from {
		return 0, 0
	}
	if from > h.next {
		h.holes = append(h.holes, hole{h.next, from, at})
	}
	if to > h.next {
		fresh = to - max(from, h.next)
		h.next = to
	}
	for i := 0; i < len(h.holes); i++ {
		g := h.holes[i]
		if g.to <= from || g.from >= to {
			continue
		}
		fresh += min(g.to, to) - max(g.from, from)
		if gap == 0 || g.since < gap {
			gap = g.since
		}
		left, right := hole{g.from, from, g.since}, hole{to, g.to, g.since}
		h.holes = append(h.holes[:i], h.holes[i+1:]...)
		i--
		for _, rest := range []hole{left, right} {
			if rest.to > rest.from {
				i++
				h.holes = append(h.holes, hole{})
				copy(h.holes[i+1:], h.holes[i:])
				h.holes[i] = rest
			}
		}
	}
	return fresh, gap
}
