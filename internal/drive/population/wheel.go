package population

import (
	"math/bits"
	"time"
)

// A wheel keeps for each device the one instant at which it wants to be called. It is
// a hierarchical timing wheel (Varghese and Lauck 1987): four levels of 256 slots, the
// lowest of 2^20 ns; a slot is a list threaded through the devices' records. Adding and
// removing cost the same however many devices there are.
//
// A slot says only which millisecond; the core sorts what it takes out of one.
type wheel struct {
	devices []device
	heads   [levels * slots]int32
	used    [levels][slots / 64]uint64 // a bit for each slot that is not empty
	tick    uint32                     // of the slot taken out last; none before it is filled
}

const (
	levels   = 4
	slotBits = 8
	slots    = 1 << slotBits
	tickBits = 20 // 1.05 ms
	none     = -1
	away     = -2                // of device.prev: in no slot; −3 and below: first of a slot
	called   = -3 - levels*slots // likewise: taken out, its turn is to come
	longest  = time.Duration(1<<31-1) << tickBits / 2
)

func (w *wheel) reset(devices []device) {
	*w = wheel{devices: devices}
	for i := range w.heads {
		w.heads[i] = none
	}
	for i := range devices {
		devices[i].prev = away
	}
}

// place is the slot for a tick: on the level of the highest digit in which it differs
// from the present one.
func (w *wheel) place(tick uint32) int {
	level := max(bits.Len32(tick^w.tick)-1, 0) / slotBits
	return level*slots + int(tick>>(level*slotBits))&(slots-1)
}

// add puts a device that is in no slot into that of its instant. What is due by now
// comes with the present slot.
func (w *wheel) add(i int32) {
	d := &w.devices[i]
	s := w.place(max(uint32(d.at>>tickBits), w.tick))
	d.prev, d.next = int32(-3-s), w.heads[s]
	if d.next != none {
		w.devices[d.next].prev = i
	}
	w.heads[s] = i
	w.used[s/slots][s%slots/64] |= 1 << (s % 64)
}

// remove takes a device out of its slot, if it is in one.
func (w *wheel) remove(i int32) {
	d := &w.devices[i]
	if d.prev == away || d.prev == called {
		d.prev = away
		return
	}
	if d.next != none {
		w.devices[d.next].prev = d.prev
	}
	if d.prev >= 0 {
		w.devices[d.prev].next = d.next
	} else {
		s := int(-3 - d.prev)
		w.heads[s] = d.next
		if d.next == none {
			w.used[s/slots][s%slots/64] &^= 1 << (s % 64)
		}
	}
	d.prev = away
}

// first is the first used slot of a level at or behind a place.
func (w *wheel) first(level, from int) (slot int, ok bool) {
	for word := from / 64; word < slots/64; word++ {
		b := w.used[level][word]
		if word == from/64 {
			b &= ^uint64(0) << (from % 64)
		}
		if b != 0 {
			return word*64 + bits.TrailingZeros64(b), true
		}
	}
	return 0, false
}

// next is an instant, in ns, before which no device is due; not ok: there is none.
func (w *wheel) next() (at int64, ok bool) {
	for level := range levels {
		shift := level * slotBits
		if s, ok := w.first(level, int(w.tick>>shift)&(slots-1)); ok {
			tick := uint64(w.tick)>>(shift+slotBits)<<(shift+slotBits) | uint64(s)<<shift
			return int64(max(tick, uint64(w.tick))) << tickBits, true
		}
	}
	return 0, false
}

// A turn is a device that was taken out, and its instant. It is void if the device
// is not called any more, or for another instant.
type turn struct {
	at     int64
	device int32
}

// take appends all devices of the next used slot to list, if it begins by now (ns), and
// takes them out. Not ok: there is none yet.
func (w *wheel) take(now int64, list []turn) ([]turn, bool) {
	for {
		at, ok := w.next()
		if !ok || at > now {
			return list, false
		}
		w.tick = uint32(at >> tickBits)
		// What lay on a higher level comes nearer, until it is in a slot of the lowest.
		for level := levels - 1; level > 0; level-- {
			w.lower(level*slots + int(w.tick>>(level*slotBits))&(slots-1))
		}
		s := int(w.tick) & (slots - 1)
		if w.heads[s] == none {
			continue
		}
		for i := w.heads[s]; i != none; i = w.devices[i].next {
			w.devices[i].prev = called
			list = append(list, turn{w.devices[i].at, i})
		}
		w.heads[s] = none
		w.used[0][s/64] &^= 1 << (s % 64)
		return list, true
	}
}

// lower adds the devices of a slot anew.
func (w *wheel) lower(s int) {
	i := w.heads[s]
	w.heads[s] = none
	w.used[s/slots][s%slots/64] &^= 1 << (s % 64)
	for i != none {
		next := w.devices[i].next
		w.add(i)
		i = next
	}
}
