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
	probed int // keep-alive probes of the other side that are not answered yet

	last     lately
	way      Way
	iface    int
	segments int64

	// IPv4 identifications, which some senders count up packet by packet.
	topID            uint16
	numbered         bool   // topID is one
	seenIDs          uint64 // of the 64 up to topID, those that were seen; bit 0 is topID
	counted, skipped int64  // steps by one, and others
	late             int64  // that came after later ones
}

// A hole is what was not seen yet below what was.
type hole struct {
	from, to int64
	sighting
}

// A sighting is when a segment passed, and what tells when it was sent.
type sighting struct {
	since   time.Duration
	stamp   uint32 // TSval
	stamped bool
	id      uint16
}

// sentBefore says whether the sender sent the segment that opened the gap before
// the one that fills it, if the sender's own clock or counter tells: then the
// second was sent again, however soon it came. Clock and counter wrap, so their
// differences are taken signed (RFC 7323, section 5.2).
func (a sighting) sentBefore(b sighting, counts bool) (before, known bool) {
	if d := int32(b.stamp - a.stamp); a.stamped && b.stamped && d != 0 {
		return d > 0, true
	}
	if d := int16(b.id - a.id); counts && d != 0 {
		return d > 0, true
	}
	return false, false
}

// noteID follows the identifications of one direction's packets. One that fills a place left out before is
// late, and still of a counter. A zero is none, but between 65535 and 1: Linux begins to count, at any number, after
// its SYN+ACK.
func (h *half) noteID(id uint16) {
	d := int16(id - h.topID)
	behind := min(uint(-int(d)), 64)
	switch {
	case id == 0 && h.topID != 0xffff:
	case !h.numbered:
		h.topID, h.numbered, h.seenIDs = id, true, 1
	case d == 1:
		h.counted++
		h.topID, h.seenIDs = id, h.seenIDs<<1|1
	case d > 1:
		h.skipped++
		h.topID, h.seenIDs = id, h.seenIDs<<min(d, 64)|1
	case behind < 64 && h.seenIDs>>behind&1 == 0:
		h.late++
		h.seenIDs |= 1 << behind
	default:
		h.skipped++
	}
}

// countsIDs says whether nearly all identifications follow each other, and most in order: those of two
// counters would be late by turns.
func (h *half) countsIDs() bool {
	return h.counted >= 8 && h.skipped*8 <= h.counted && h.late*2 <= h.counted
}

// A signature tells a packet captured twice from one sent twice.
type signature struct {
	crc uint32
	id  uint16
	len int
}

// lately are the last packets of one direction, in a ring.
type lately struct {
	ring [32]struct {
		signature
		at time.Duration
	}
	latest int
}

// twice takes the next packet, and says whether it was captured within the last millisecond already: it follows its
// copy, or has its identification, which none that is sent again has.
func (l *lately) twice(sig signature, at time.Duration) (is bool) {
	for i, x := range l.ring {
		is = is || x.signature == sig && at-x.at < time.Millisecond && (i == l.latest || sig.id != 0)
	}
	l.latest = (l.latest + 1) % len(l.ring)
	l.ring[l.latest].signature, l.ring[l.latest].at = sig, at
	return is
}

// probe says whether a segment is a keep-alive or a window probe: at most one
// byte, just before the next one expected, when all is acknowledged (RFC 9293,
// sections 3.8.4 and 3.8.6.1).
func (h *half) probe(s *segment, from int64) bool {
	return s.payload <= 1 && h.next >= 2 && from == h.next-1 && h.hasAck && h.number(h.acked) >= h.next
}

// begin fixes the sequence number that counts as 0.
func (h *half) begin(isn uint32, next int64) { h.begun, h.isn, h.next = true, isn, next }

// number unwraps a sequence number: the one nearest to what was seen last. The
// difference, taken in 32 bits and signed, is right for numbers less than 2 GiB
// apart (RFC 9293, section 3.4).
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

// see marks [from, to) as seen and returns how many of it were new, and what
// opened the oldest gap they fill (since 0: they fill none).
func (h *half) see(from, to int64, now sighting) (fresh int64, gap sighting) {
	if to <= from {
		return 0, gap
	}
	if from > h.next {
		h.holes = append(h.holes, hole{h.next, from, now})
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
		if gap.since == 0 || g.since < gap.since {
			gap = g.sighting
		}
		left, right := hole{g.from, from, g.sighting}, hole{to, g.to, g.sighting}
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
