package population

import (
	"bytes"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
)

// Devices that observe (RFC 7641) ask once, and are notified of each change. One that was not
// notified for Observe, and some seconds more, registers again: it cannot know whether the
// server has forgotten it.

// A watch is what a device keeps that observes.
type watch struct {
	next   int64  // when it registers, or does so again; never: it does not observe
	heard  int64  // when it was told last; below 0: it is not registered
	number uint32 // of the last notification, 24 bits
	under  bool   // a registration is under way
}

// watchToken is the token of all registrations: with an equal one a server takes a second one
// for the first (RFC 7641, section 3.3.1), and peers have addresses of their own.
var watchToken = []byte("watch")

// A client whose state is stale waits 5 to 15 s longer, so that not all register at once
// (RFC 7641, section 3.3.1).
const (
	waitLeast  = 5 * time.Second
	waitSpread = 10 * time.Second
)

// observes says whether any device does.
func (s *Spec) observes() bool {
	for i := range s.Classes {
		if s.Classes[i].Observe > 0 {
			return true
		}
	}
	return false
}

// watchAgain sets the devices that observe to the beginning of a run. Those that are
// registered stay so: the socket is the same.
func (c *core) watchAgain() {
	if !c.observes() || c.Stream != nil {
		return
	}
	if c.watches == nil {
		c.watches = make([]watch, len(c.devices))
		for i := range c.watches {
			c.watches[i].heard = -1
		}
	}
	for i := range c.watches {
		w, i := &c.watches[i], int32(i)
		w.under, w.next = false, never
		if c.classOf(c.number(i)).Observe == 0 {
			continue
		}
		if w.next = c.onAt(i); w.heard >= 0 {
			w.heard, w.next = 0, c.stale(i, 0)
		}
	}
}

// stale is when a device that was told at an instant registers again.
func (c *core) stale(i int32, now int64) int64 {
	n := c.number(i)
	u := share(c.Seed, n, forWatch+uint64(c.devices[i].id))
	return now + int64(c.classOf(n).Observe+waitLeast) + int64(u*float64(waitSpread))
}

// registering says whether what a device has under way is a registration.
func (c *core) registering(i int32) bool { return c.watches != nil && c.watches[i].under }

// register sends one. What a device was told meanwhile puts it off.
func (c *core) register(i int32, now int64) {
	d, w := &c.devices[i], &c.watches[i]
	if w.next > now {
		c.sleep(i, 0)
		return
	}
	c.waiting++
	d.id++
	d.due, d.sent = d.at, now
	d.setFailures(d.failures())
	w.under = true
	c.sendFirst(i, now)
}

// told takes what came with the token of registrations.
func (c *core) told(i int32, m *coap.Message, now int64) {
	w, d := &c.watches[i], &c.devices[i]
	if m.Type == coap.Confirmable {
		c.post(message{i, m.ID, ack}, now)
	}
	number, observed := m.Uint(coap.Observe)
	answer := w.under && d.asks() && (m.Type != coap.Acknowledgement || m.ID == d.id)
	switch {
	case answer && m.Code.Class() == 2 && observed:
		w.number, w.heard, w.under = number, now, false
		w.next = c.stale(i, now)
		c.waiting--
		c.wheel.remove(i)
		if d.failures() > 0 {
			c.back.change(-1, now)
		}
		d.setFailures(0)
		c.sleep(i, now)
	case answer:
		if m.Code.Class() == 2 {
			c.Unobserved++
		}
		c.unregistered(i, now)
	case w.heard < 0:
		c.Strays++
	case m.Code.Class() != 2 || !observed: // the server ends it (section 3.2)
		w.heard, w.next = -1, now
		c.soon(i)
	default:
		c.notified(w, number, now)
		w.next = c.stale(i, now)
	}
}

// notified counts a notification. Its number says whether it is newer than the last one, and
// how many between did not come (section 3.4).
func (c *core) notified(w *watch, number uint32, now int64) {
	ahead := (number - w.number) & (1<<24 - 1)
	if fresh := ahead > 0 && ahead < 1<<23; fresh || now > w.heard+128e9 {
		c.hears(now)
		if fresh {
			c.Missed += int64(ahead - 1)
		}
		w.number, w.heard = number, now
		return
	}
	c.Stale++
}

// hears counts a notification that came. Behind the time of the run, a last answer is waited for.
func (c *core) hears(now int64) {
	if c.Notifications++; now >= c.span {
		c.HeardLate++
	}
}

// unregistered: a registration came to nothing.
func (c *core) unregistered(i int32, now int64) {
	d, w := &c.devices[i], &c.watches[i]
	c.RegistrationsFailed++
	c.waiting--
	c.wheel.remove(i)
	w.under, w.heard = false, -1
	if d.failures() == 0 {
		c.back.change(1, now)
	}
	d.setFailures(d.failures() + 1)
	wait := c.classOf(c.number(i)).Observe
	if c.Retry.First > 0 {
		wait = c.Retry.after(d.failures(), share(c.Seed, c.number(i), forRetry+uint64(d.id)))
	}
	w.next = now + int64(wait)
	c.sleep(i, now)
}

// soon has a device that waits look at what it does next.
func (c *core) soon(i int32) {
	switch c.devices[i].what {
	case sleeping, silent, renewing, resting:
		c.wheel.remove(i)
		c.sleep(i, 0)
	}
}

// unwatched: the server that knew a device by its session does not know it any more.
func (c *core) unwatched(i int32) {
	if c.watches != nil && c.watches[i].heard >= 0 {
		c.watches[i].heard, c.watches[i].next = -1, c.devices[i].at
	}
}

// isWatch says whether a message is about an observation.
func (c *core) isWatch(m *coap.Message) bool {
	return c.watches != nil && m.Code != coap.Empty && bytes.Equal(m.Token, watchToken)
}

// watching is how many devices are registered.
func (c *core) watching() (n int) {
	for i := range c.watches {
		if c.watches[i].heard >= 0 {
			n++
		}
	}
	return n
}
