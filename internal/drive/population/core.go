package population

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/drive/tally"
	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/protocol/dtls"
)

// A device is all that is kept of one: 40 B without a pointer, so that a million are
// one piece of memory which no collector looks at. Its class, phase, address, token
// and timeouts are computed when they are needed.
type device struct {
	at   int64  // when it wants to be called, ns of the run
	due  int64  // when the request under way was due, or is to be tried again
	sent int64  // when it, or a ping that is waited for, was first sent, or its connection or session begun
	next int32  // in its slot of the wheel
	prev int32  // likewise; see wheel
	k    int32  // number of its next report, from that of first
	id   uint16 // message ID of its last request
	what state
	// tries: retransmissions of the request under way in the lower 3 bits, or that the last one was given
	// up; and above them how often in a row its reports failed, up to mostFailures.
	tries uint8
}

// unsent is of core.said. What was said in the run before is below 0.
const unsent = math.MinInt64

const (
	mostFailures = 31
	mostAgain    = 7
	givenUp      = 1 // of tries, when no request is under way
)

func (d *device) again() int    { return int(d.tries & 7) }
func (d *device) failures() int { return int(d.tries >> 3) }

// asks says whether a request of a device that speaks CoAP is under way.
func (d *device) asks() bool { return d.what == unacked || d.what == acked || d.what == shaking }

func (d *device) setFailures(n int) { d.tries = uint8(min(n, mostFailures)) << 3 }

// A state is what a device does.
type state uint8

const (
	resting  state = iota // nothing more is due
	sleeping              // until its next report
	silent                // until its next ping: that comes before its next report
	renewing              // until it registers as an observer: likewise
	retrying              // until it tries again after a failure
	unacked               // a confirmable request was sent, nothing came back
	acked                 // an answer is to come: acknowledged, or not confirmable
	shaking               // a request waits for its DTLS session
	// What only streams do:
	off     // not switched on yet
	joining // a connection is being opened; no request is under way
	asking  // a request is under way, which may wait for its connection
	pinged  // an answer to a ping is to come
)

// Why requests failed, apart from what Judge says.
var (
	errNoAnswer = errors.New("no answer in time")
	errReset    = errors.New("the server rejected the request with a reset")
	errBlocks   = errors.New("the answer comes in blocks, which devices of a population do not fetch")
	errEnded    = errors.New("the run ended")
)

// A core is all devices: a state machine that knows neither clock nor socket. Whoever
// runs it calls fire when next says, hands on what is in out, tells left when it did,
// and brings what comes back to receive. Instants are ns of the run.
type core struct {
	*Spec
	devices []device
	wheel   wheel
	ready   []turn // what was taken out of the wheel, in the order of their instants
	head    int    // of ready, the first whose turn is to come
	out     []message
	span    int64  // nothing is due at or after it
	outage  Outage // of this run; For of 0: it has none
	lot     lot    // of whom it cuts off
	lasts   int64  // as the load says; 0: only requests limit it
	most    int64  // requests; 0: no limit
	salt    uint16 // of this run, in each token
	started int64  // requests
	waiting int    // requests under way
	good    []byte // an answer that was right
	in      coap.Message
	// Of devices with security, one or neither:
	sessions []*dtls.Session  // nil in it: none yet
	moved    []uint16         // handshakes of each device
	contexts []*coap.Security // OSCORE
	numbered []int32          // message ID of the request that a context sealed last; -1: none
	sealed   coap.Message
	watches  []watch // where devices observe
	// Where requests may wait for a connection or a session: when the last one went out itself.
	went []int64
	// Of devices that are not always reachable: when they last sent, and last sent or heard; below 0: not yet.
	patience     int64 // ns that the broker lets devices be silent for; 0: as long as they like
	spoke, awake []int64
	said         []int64  // where devices ping: when each said something, be it in vain; unsent: nothing
	pingID       []uint16 // likewise: message ID of its last ping over CoAP
	ended        int64    // when the run before did
	kept         holdings // for devices
	flying       holdings // from them, by the number of their address
	keptNumber   uint64
	up, down     []course   // of devices with a link
	chance       *rand.Rand // its losses and spreads
	stays        bool       // the run has its whole time, whoever is due
	template     []byte     // the request as a message, for sealed
	passed       int64      // of earlier runs: who was switched on by then stays on
	on, turned   int        // devices that are on; and those whose turn of the ramp has come
	// keeps says of a device that was switched on in an earlier run that it is on; nil: all are.
	keeps func(i int32) bool
	// turn is what is done when a device is called: call, or that of streams.
	turn func(i int32, now int64)

	Counts
	late tally.Histogram
	rows rows
	back recovery
	tell teller
}

func newCore(s *Spec) *core {
	c := &core{Spec: s, devices: make([]device, s.here())}
	c.turn = c.call
	c.hushes()
	return c
}

// number is that of a device among those of all shards.
func (c *core) number(i int32) int { return int(i)*max(c.Shards, 1) + c.Shard }

// begin sets all devices to the instant 0 of a run.
func (c *core) begin(l Load, salt uint16) {
	c.span, c.lasts, c.most, c.salt = int64(l.For), int64(l.For), int64(l.Requests), salt
	if c.span == 0 {
		c.span = int64(longest)
	}
	c.Counts, c.late, c.started, c.waiting = Counts{}, tally.Histogram{}, 0, 0
	c.ready, c.head, c.out = c.ready[:0], 0, c.out[:0]
	c.rows.reset(l.Record, cmp.Or(c.Rows, MostRows))
	c.outage = Outage{}
	if l.Record { // what warms up has none
		c.outage, c.lot = c.Outage, c.draws()
	}
	c.back = newRecovery(c.ramp(), c.outage, Calm(c.Timeout))
	c.back.keep = c.Shards > 1
	c.wheel.reset(c.devices)
	c.forgetHalf()
	c.reachAgain()
	c.waysAgain()
	c.hushAgain()
	clear(c.went)
	c.stays = l.For > 0 && (l.Record || c.observes())
	for i := range c.devices {
		c.devices[i] = device{prev: away, id: uint16(draw(c.Seed, c.number(int32(i)), forMessage)) + salt,
			k: c.first(c.number(int32(i)), c.onAt(int32(i)))}
	}
	c.watchAgain()
	for i := range c.devices {
		c.sleep(int32(i), 0)
	}
}

// schedule has a device called at an instant, and at no other.
func (c *core) schedule(i int32, at int64) {
	c.wheel.remove(i)
	d := &c.devices[i]
	d.at = at
	if c.head == len(c.ready) || uint32(at>>tickBits) > c.wheel.tick {
		c.wheel.add(i)
		return
	}
	// Its slot has been taken out already: it goes between the others of it.
	d.prev = called
	rest := c.ready[c.head:]
	place, _ := slices.BinarySearchFunc(rest, at, func(t turn, at int64) int { return cmp.Compare(t.at, at) })
	c.ready = slices.Insert(c.ready, c.head+place, turn{at, i})
}

// sleep lets a device wait for its next report, or ping, after now.
func (c *core) sleep(i int32, now int64) {
	d := &c.devices[i]
	at := c.dueAt(i, d.k)
	for now > 0 && at <= now && at < c.span { // it was busy then
		c.Skipped++
		d.k++
		at = c.dueAt(i, d.k)
	}
	d.what = sleeping
	if ping := c.pingAt(i); ping < at {
		d.what, at = silent, max(ping, now)
	}
	if c.watches != nil && c.watches[i].next < at {
		d.what, at = renewing, max(c.watches[i].next, now)
	}
	if at >= c.span {
		d.what = resting
		return
	}
	c.schedule(i, at)
}

// next is the instant at which fire is to be called, at the latest.
func (c *core) next() (int64, bool) {
	if c.head < len(c.ready) {
		return c.ready[c.head].at, true
	}
	return c.wheel.next()
}

// fire does what is due by now, one device after the other in the order of their
// instants, until there are so many messages to send.
func (c *core) fire(now int64, most int) {
	for n := 0; n < most && len(c.out) < most; n++ {
		if c.head == len(c.ready) {
			var ok bool
			c.head = 0
			if c.ready, ok = c.wheel.take(now, c.ready[:0]); !ok {
				return
			}
			slices.SortFunc(c.ready, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
		}
		t := c.ready[c.head]
		if t.at > now {
			return
		}
		c.head++
		if d := &c.devices[t.device]; d.prev == called && d.at == t.at {
			d.prev = away
			c.turn(t.device, now)
		}
	}
}

// call is a device's turn.
func (c *core) call(i int32, now int64) {
	d := &c.devices[i]
	switch d.what {
	case sleeping:
		d.k++
		c.ask(i, now)
	case retrying:
		if now < d.due {
			c.pingInTime(i, now)
			c.awaitRetry(i)
			return
		}
		d.at = d.due
		c.Retries++
		c.ask(i, now)
	case renewing:
		c.register(i, now)
	case silent:
		c.pingInTime(i, now)
		c.sleep(i, 0)
	case unacked:
		if now < d.sent+int64(c.Timeout) && d.again() < maxRetransmit {
			d.tries++
			c.Retransmissions++
			c.post(message{i, d.id, repeated}, now)
			c.await(i, now)
			return
		}
		c.giveUp(i, now, errNoAnswer)
	case acked:
		if now < d.sent+int64(c.Timeout) {
			c.pingInTime(i, now)
			c.await(i, now)
			return
		}
		c.giveUp(i, now, errNoAnswer)
	case shaking:
		c.shakeAgain(i, now)
	}
}

// ask begins a request that is due at the device's instant.
func (c *core) ask(i int32, now int64) {
	d := &c.devices[i]
	if c.most > 0 && c.started >= c.most {
		d.what = resting
		return
	}
	c.started++
	c.waiting++
	d.id++
	d.due, d.sent = d.at, now
	d.setFailures(d.failures())
	c.sendFirst(i, now)
}

// sendFirst sends what a device has under way, or shakes hands for it.
func (c *core) sendFirst(i int32, now int64) {
	d := &c.devices[i]
	m := message{i, d.id, request}
	d.what = c.asked(i)
	if c.sessions != nil && !c.sessionOpen(i) {
		c.shake(i)
		d.what, m.kind = shaking, hello
	}
	c.post(m, now)
	c.await(i, now)
}

// asked is what a device does whose request goes out. A registration is always confirmable.
func (c *core) asked(i int32) state {
	if c.NON && !c.registering(i) {
		return acked
	}
	return unacked
}

// await has a device called when an acknowledgement or its answer is late, or it is to ping.
func (c *core) await(i int32, now int64) {
	d := &c.devices[i]
	at := d.sent + int64(c.Timeout)
	switch d.what {
	case unacked:
		at = min(at, now+int64(c.ackWait(c.number(i), d.id, d.again())))
	case acked:
		at = min(at, c.pingAt(i))
	case shaking:
		at = min(at, now+int64(flightAgain)<<d.again())
	}
	c.schedule(i, at)
}

// left notes that a message was handed to the kernel at an instant.
func (c *core) left(m message, now int64) {
	d := &c.devices[m.device]
	if m.kind == following && d.id == m.id {
		c.went[m.device] = now
	}
	if m.kind != request && m.kind != hello {
		return
	}
	if d.id == m.id && d.asks() {
		d.sent = max(now, d.due)
	}
	if c.registering(m.device) {
		c.Registrations++
	} else {
		c.Requests++
	}
	c.late.Add(time.Duration(now - d.due))
}

// receive takes a datagram for a device.
func (c *core) receive(i int32, b []byte, now int64) {
	if c.sessions != nil {
		c.receiveSealed(i, b, now)
		return
	}
	c.hear(i, b, now)
}

// hear takes a message.
func (c *core) hear(i int32, b []byte, now int64) {
	m := &c.in
	d := &c.devices[i]
	busy := d.what == unacked || d.what == acked
	if m.Decode(b) != nil {
		c.Strays++
		return
	}
	if c.isWatch(m) {
		c.told(i, m, now)
		return
	}
	mine := c.token(d.id)
	switch {
	case m.Code != coap.Empty && bytes.Equal(m.Token, mine[:]):
		c.answer(i, m, busy, now)
	case m.Type == coap.Reset && m.ID == d.id && busy:
		c.fail(i, now, errReset)
	case c.isPong(i, m):
		c.Pongs++
	case m.Type == coap.Acknowledgement && m.Code == coap.Empty && m.ID == d.id && busy:
		if d.what == unacked {
			d.what = acked
			c.await(i, now)
		}
	default:
		if c.answersGivenUp(d, m) {
			c.TooLate++
		} else {
			c.Strays++
		}
		if m.Type == coap.Confirmable { // RFC 7252, section 4.2: of no interest; or 4.3: a ping
			c.post(message{i, m.ID, reset}, now)
		}
	}
}

// answer takes an answer with the token of the device's last request.
func (c *core) answer(i int32, m *coap.Message, busy bool, now int64) {
	d := &c.devices[i]
	if m.Type == coap.Confirmable { // also a second time: the first may have been lost
		c.post(message{i, m.ID, ack}, now)
	}
	switch {
	case busy:
	case d.again() > 0:
		c.TooLate++
		return
	default:
		c.Duplicates++
		return
	}
	if m.Type != coap.Acknowledgement {
		c.Separate++
	} else if m.ID != d.id {
		c.Strays++
		return
	}
	err := c.unlock(i, m)
	if err == nil {
		err = c.wrong(m)
	}
	if err != nil {
		c.Wrong++
		c.fail(i, now, err)
		return
	}
	c.Answered++
	c.done(i, now, nil, len(m.Payload))
	if d.failures() > 0 {
		c.back.change(-1, now)
	}
	d.setFailures(0)
	c.sleep(i, now)
}

// fail ends the request under way without a right answer.
func (c *core) fail(i int32, now int64, why error) {
	d := &c.devices[i]
	if c.registering(i) {
		c.unregistered(i, now)
		return
	}
	c.Failed++
	c.done(i, now, why, 0)
	if d.failures() == 0 {
		c.back.change(1, now)
	}
	d.setFailures(d.failures() + 1)
	if errors.Is(why, errNoAnswer) {
		d.tries |= givenUp
	}
	if c.Retry.First == 0 {
		c.sleep(i, now)
		return
	}
	d.due = now + int64(c.Retry.after(d.failures(), share(c.Seed, c.number(i), forRetry+uint64(d.id))))
	d.what = retrying
	c.awaitRetry(i)
}

// awaitRetry has a device called when it tries again, or is to ping.
func (c *core) awaitRetry(i int32) {
	d := &c.devices[i]
	at := min(d.due, c.pingAt(i))
	if at >= c.span {
		d.what = resting
		return
	}
	c.schedule(i, at)
}

// end gives up what is under way.
func (c *core) end(now int64) {
	c.pass(now)
	c.ended = now
	for i := range c.devices {
		if d := &c.devices[i]; d.asks() || d.what == asking {
			if d.what == shaking {
				c.HandshakesFailed++
			}
			if c.registering(int32(i)) {
				c.unregistered(int32(i), now)
			} else {
				c.Failed++
				c.done(int32(i), now, errEnded, 0)
			}
			d.what = resting
		}
	}
}
