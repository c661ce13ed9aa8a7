package link

import "time"

// A delayQueue holds the packets on their way, next due first. Packets due at the
// same instant leave in the order they came. It is a binary heap of its own,
// since container/heap boxes, and the link runs without a collector.
type delayQueue struct {
	heap []entry
	seq  uint64
	free [][]byte // buffers to use again
	mtu  int
}

type entry struct {
	due    time.Duration
	seq    uint64
	packet []byte
}

func (a entry) before(b entry) bool { return a.due < b.due || a.due == b.due && a.seq < b.seq }

// buffer returns an empty buffer; put or back must follow.
func (h *delayQueue) buffer() []byte {
	if n := len(h.free); n > 0 {
		b := h.free[n-1]
		h.free = h.free[:n-1]
		return b
	}
	return make([]byte, h.mtu)
}

func (h *delayQueue) back(b []byte) { h.free = append(h.free, b[:cap(b)]) }

func (h *delayQueue) put(due time.Duration, packet []byte) {
	h.seq++
	h.heap = append(h.heap, entry{due, h.seq, packet})
	for i := len(h.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.heap[i].before(h.heap[up]) {
			return
		}
		h.heap[i], h.heap[up] = h.heap[up], h.heap[i]
		i = up
	}
}

// next is when the next packet is due; false if there is none.
func (h *delayQueue) next() (time.Duration, bool) {
	if len(h.heap) == 0 {
		return 0, false
	}
	return h.heap[0].due, true
}

// take removes the next packet.
func (h *delayQueue) take() (time.Duration, []byte) {
	top := h.heap[0]
	n := len(h.heap) - 1
	h.heap[0] = h.heap[n]
	h.heap[n] = entry{}
	h.heap = h.heap[:n]
	for i := 0; ; {
		least := i
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < n && h.heap[c].before(h.heap[least]) {
				least = c
			}
		}
		if least == i {
			return top.due, top.packet
		}
		h.heap[i], h.heap[least] = h.heap[least], h.heap[i]
		i = least
	}
}
