package population

import (
	"container/heap"
	"math"
	"time"
)

// What a NAT and a radio that sleeps do to what is sent to a device. Both are emulated in the
// driver, between the socket and the state machine of the devices.

// A Sleep is how a device's radio sleeps between messages. Mode empty: it does not.
type Sleep struct {
	Mode   string        `json:"mode,omitempty"`   // PSM or EDRX
	Active time.Duration `json:"active,omitempty"` // after its last message, in or out, it is reachable for so long
	Cycle  time.Duration `json:"cycle,omitempty"`  // EDRX: between two instants at which it is paged
}

// How a radio sleeps (3GPP TS 23.682, sections 4.5.4 and 4.5.13).
const (
	PSM  = "psm"  // unreachable until the device itself has something to send
	EDRX = "edrx" // paged once a cycle; the network keeps what is for it until then
)

const never = math.MaxInt64

// A holding is a message that the network keeps until its device is paged.
type holding struct {
	at     int64
	number uint64 // of those that were kept, since equal instants keep their order
	device int32
	conn   uint16 // of a stream, its connection
	bytes  []byte
}

type holdings []holding

func (h holdings) Len() int { return len(h) }
func (h holdings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].number < h[j].number
}
func (h holdings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *holdings) Push(x any)   { *h = append(*h, x.(holding)) }

func (h *holdings) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// reachesSometimes makes what is needed where devices are not always reachable.
func (c *core) reachesSometimes() {
	if c.NAT > 0 {
		c.spoke = fill(len(c.devices), -1)
		if c.moved == nil {
			c.moved = make([]uint16, len(c.devices))
		}
	}
	for i := range c.Classes {
		if c.Classes[i].Sleep.Mode != "" && c.awake == nil {
			c.awake = fill(len(c.devices), -1)
		}
	}
}

func fill(n int, v int64) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// reachAgain takes all that was before a run for having happened at its beginning.
func (c *core) reachAgain() {
	for _, s := range [][]int64{c.spoke, c.awake} {
		for i := range s {
			s[i] = min(s[i], 0)
		}
	}
	c.kept, c.keptNumber = c.kept[:0], 0
}

// forgotten says whether the NAT has forgotten a device that was silent for too long. Only
// what a device sends refreshes its binding (RFC 4787, section 4.3, REQ-6).
func (c *core) forgotten(i int32, now int64) bool {
	return c.spoke != nil && c.spoke[i] >= 0 && now-c.spoke[i] >= int64(c.NAT)
}

// rebound notes that a device sends over UDP. One that the NAT had forgotten is another peer
// from then on, with another address.
func (c *core) rebound(i int32, now int64) {
	if c.forgotten(i, now) {
		c.Forgotten++
		c.moved[i]++
	}
	c.spoken(i, now)
}

// spoken notes that a device sends.
func (c *core) spoken(i int32, now int64) {
	if c.spoke != nil {
		c.spoke[i] = now
	}
	c.woken(i, now)
}

// woken notes that the radio of a device is at work.
func (c *core) woken(i int32, now int64) {
	if c.awake != nil {
		c.awake[i] = now
	}
}

// reached says when what comes for a device at an instant gets to it: then; later, when it
// is paged; or never.
func (c *core) reached(i int32, now int64) int64 {
	if c.awake == nil {
		return now
	}
	s := &c.classOf(c.number(i)).Sleep
	if s.Mode == "" || c.awake[i] >= 0 && now-c.awake[i] < int64(s.Active) {
		return now
	}
	if s.Mode == PSM {
		return never
	}
	return c.paged(i, s.Cycle, now)
}

// paged is the first instant, not before now, at which a device is paged: each has instants
// of its own.
func (c *core) paged(i int32, cycle time.Duration, now int64) int64 {
	first := int64(share(c.Seed, c.number(i), forPaging) * float64(cycle))
	if now <= first {
		return first
	}
	return first + (now-first+int64(cycle)-1)/int64(cycle)*int64(cycle)
}

// keep keeps a message until an instant.
func (c *core) keep(i int32, conn uint16, b []byte, at int64) {
	c.keptNumber++
	heap.Push(&c.kept, holding{at, c.keptNumber, i, conn, append([]byte(nil), b...)})
}

// page hands on what was kept until now.
func (c *core) page(now int64, to func(x holding)) {
	for len(c.kept) > 0 && c.kept[0].at <= now {
		to(heap.Pop(&c.kept).(holding))
	}
}

// nextPage is the instant at which page is to be called, or something leaves a link, if it is
// before another.
func (c *core) nextPage(at int64, ok bool) (int64, bool) {
	for _, h := range []holdings{c.kept, c.flying} {
		if len(h) > 0 && (!ok || h[0].at < at) {
			at, ok = h[0].at, true
		}
	}
	return at, ok
}
