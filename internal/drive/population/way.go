package population

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// A Way is one direction of the link that each device has to itself, emulated in the driver as
// outages are. Its zero value is none.
type Way struct {
	Delay    time.Duration `json:"delay,omitempty"`    // from the transmitter to the other end
	Spread   time.Duration `json:"spread,omitempty"`   // standard deviation of Delay; drawn again while below 0
	Loss     float64       `json:"loss,omitempty"`     // probability that a datagram is lost, 0 to 1
	Rate     int64         `json:"rate,omitempty"`     // bit/s; 0: unlimited
	Overhead int           `json:"overhead,omitempty"` // B that each frame costs besides its payload
	Frame    int           `json:"frame,omitempty"`    // B of payload of the largest frame; 0: a packet is one
	Reorder  bool          `json:"reorder,omitempty"`  // a spread may let datagrams overtake each other
}

// headers are those of IPv4 and UDP (RFC 791, RFC 768), B.
const headers = 28

// A course is what was sent last over a device's way: instants at which its transmitter is free,
// and at which it arrives.
type course struct{ free, last int64 }

// cross is when a datagram of so many bytes that sets out at an instant arrives; never: it is lost,
// and took its time at the transmitter nevertheless.
func (w *Way) cross(c *course, size int, now int64, r *rand.Rand) int64 {
	c.free = max(c.free, now)
	if w.Rate > 0 {
		size += headers
		frames := 1
		if w.Frame > 0 {
			frames = max((size+w.Frame-1)/w.Frame, 1)
		}
		c.free += int64(float64(size+frames*w.Overhead) * 8e9 / float64(w.Rate))
	}
	if w.Loss > 0 && r.Float64() < w.Loss {
		return never
	}
	delay := w.Delay
	if w.Spread > 0 {
		for delay = -1; delay < 0; {
			delay = w.Delay + time.Duration(r.NormFloat64()*float64(w.Spread))
		}
	}
	at := c.free + int64(delay)
	if !w.Reorder {
		at = max(at, c.last)
	}
	c.last = at
	return at
}

// ways makes what is needed where devices have a link.
func (c *core) ways() {
	if c.Up != (Way{}) || c.Down != (Way{}) {
		c.up, c.down = make([]course, len(c.devices)), make([]course, len(c.devices))
		c.chance = rand.New(rand.NewPCG(c.Seed, 1))
	}
}

// waysAgain sets links to the beginning of a run: what was on its way is lost.
func (c *core) waysAgain() {
	clear(c.up)
	clear(c.down)
	c.flying = c.flying[:0]
}

// fly sends a datagram from an address of a device over its link. Not ok: it has none.
func (c *core) fly(i int32, from int, b []byte, now int64) (ok bool) {
	if c.up == nil {
		return false
	}
	at := c.Up.cross(&c.up[i], len(b), now, c.chance)
	if at == never {
		c.LostOnWay++
		return true
	}
	c.keptNumber++
	heap.Push(&c.flying, holding{at: at, number: c.keptNumber, device: int32(from), bytes: append([]byte(nil), b...)})
	return true
}

// land is when a datagram that has passed the network arrives at a device; never: it is lost.
func (c *core) land(i int32, size int, now int64) int64 {
	if c.down == nil {
		return now
	}
	at := c.Down.cross(&c.down[i], size, now, c.chance)
	if at == never {
		c.LostOnWay++
	}
	return at
}
