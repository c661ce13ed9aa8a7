package population

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A Stream says how devices speak over connections of their own.
type Stream struct {
	Protocol string // MQTT5, MQTT311, HTTP or TCP
	// PerRequest: HTTP with a connection for each request. Otherwise a connection lasts.
	PerRequest  bool
	QoS         byte   // MQTT: 0 or 1, of requests and answers
	Topic       string // MQTT: what the topics begin with, as at drive's mqttConn
	ContentType string // MQTT 5: of the requests
	Answer      int    // TCP: B of an answer
	// TLS is between; nil: nothing is. Sessions are not resumed.
	TLS *tls.Config
}

// The protocols of streams.
const (
	MQTT5   = "mqtt5"
	MQTT311 = "mqtt311"
	HTTP    = "http" // HTTP/1.1
	TCP     = "tcp"  // the bare exchange
)

func (s *Stream) mqtt() bool { return s.Protocol == MQTT5 || s.Protocol == MQTT311 }

// joins says whether a device opens its connection when it is switched on, and again
// when it breaks. HTTP opens one when it has a request.
func (s *Stream) joins() bool { return s.Protocol != HTTP }

func (s *Stream) check() error {
	switch {
	case !s.mqtt() && s.Protocol != HTTP && s.Protocol != TCP:
		return fmt.Errorf("unknown protocol %q; write %s, %s, %s or %s", s.Protocol, MQTT5, MQTT311, HTTP, TCP)
	case s.PerRequest && s.Protocol != HTTP:
		return fmt.Errorf("a connection for each request is for HTTP, not for %s", s.Protocol)
	case s.mqtt() && (s.QoS > 1 || s.Topic == ""):
		return fmt.Errorf("QoS %d below topic %q; devices take QoS 0 or 1, and a topic", s.QoS, s.Topic)
	case s.Protocol == TCP && s.Answer < 1:
		return errors.New("a bare exchange without an answer; state at least 1 byte")
	}
	return nil
}

// A wire is what brings bytes of a device to its server. Its errors are the machine's,
// and end the run.
type wire interface {
	dial(i int32) error // opened or broken tells the end
	send(i int32, b []byte) error
	hang(i int32) // closes
	now() int64   // ns of the run
}

// Why connections ended.
var (
	errClosed = errors.New("the server closed the connection")
	errNoPong = errors.New("no answer to a ping in time")
	errNoOpen = errors.New("no connection in time")
	errLonger = errors.New("an answer without an end, or too long")
)

// late is why a request failed that waited too long.
func late(p phase) error {
	if p == open {
		return errNoAnswer
	}
	return errNoOpen
}

// A hold is what the outage holds of a connection.
type hold struct {
	since int64
	bytes []byte
}

// mostAnswer bounds what is kept of an answer that has not come whole.
const mostAnswer = 1 << 20

// streams are the devices of a core that keep connections. Whoever runs it calls fire
// when next says, and opened, received and broken when that happened.
type streams struct {
	*core
	links   []link
	rest    map[int32][]byte // what came and is no whole answer yet
	held    map[int32]hold   // what the outage holds
	parked  map[int32][]byte // what came for a radio that sleeps, until it is paged or its device sends
	scratch []byte
	speak   speaker
	shield  *shield // nil: no TLS
	wire    wire
	fault   error  // the machine's
	opens   int64  // connections now
	own     uint32 // of this population, in the names of its devices: connections outlive runs
	over    bool   // the outage, and what it held is let go
}

func newStreams(c *core, w wire) *streams {
	s := &streams{core: c, wire: w, links: make([]link, len(c.devices)), rest: map[int32][]byte{},
		held: map[int32]hold{}, parked: map[int32][]byte{}, own: rand.Uint32()}
	for i := range s.links {
		s.links[i].fd = -1
	}
	s.speak = newSpeaker(c.Stream)
	if c.Stream.TLS != nil {
		s.shield = &shield{config: c.Stream.TLS, ends: make([]*tlsEnd, len(c.devices)), buf: make([]byte, 16<<10)}
	}
	c.turn, c.went = s.call, make([]int64, len(c.devices))
	if c.Stream.joins() {
		c.keeps = func(i int32) bool { return s.links[i].marks&early != 0 }
	}
	return s
}

// set is begin for streams. Devices that are connected stay so.
func (s *streams) set(l Load, salt uint16) {
	s.ended = s.wire.now() // the broker counts a silence over both runs, and what is between them
	for i := range s.links {
		if s.links[i].marks &^= early; s.links[i].phase == open {
			s.links[i].marks |= early
		}
	}
	s.begin(l, salt)
	s.OpenMost = s.opens
	s.over = s.outage.For == 0
	if !s.Stream.joins() {
		return
	}
	for i := range s.devices {
		i := int32(i)
		if s.links[i].phase == open {
			s.sleep(i, 0)
			continue
		}
		s.devices[i].what = off
		s.later(i, s.onAt(i))
	}
}

// finish gives up what is under way. Connections at rest stay open for the next run, and nothing that came over one may
// be missing from it.
func (s *streams) finish(now int64) {
	for i := range s.parked {
		s.unpark(i, now)
	}
	for i := range s.devices {
		if s.links[i].phase != open || s.devices[i].what == asking || s.devices[i].what == pinged {
			s.hang(int32(i))
		}
	}
	s.end(now)
}

// later has a device called, unless the run is over by then.
func (s *streams) later(i int32, at int64) {
	if at >= s.span {
		s.wheel.remove(i)
		s.devices[i].what = resting
		return
	}
	s.schedule(i, at)
}

// call is a device's turn.
func (s *streams) call(i int32, now int64) {
	d, l := &s.devices[i], &s.links[i]
	switch d.what {
	case sleeping:
		d.k++
		s.ask(i, d.at, now)
	case retrying:
		if now < d.due {
			if s.pingInTime(i, now); d.what == retrying {
				s.awaitRetry(i)
			}
			return
		}
		if l.marks&idle != 0 {
			s.join(i, now)
			return
		}
		s.Retries++
		s.ask(i, d.due, now)
	case off:
		s.join(i, now)
	case silent:
		if now < s.nextPing(i) { // it has said something since
			s.sleep(i, 0)
			return
		}
		s.ping(i, now)
	case joining:
		s.goOn(i, now)
	case asking:
		if now >= d.sent+int64(s.Timeout) {
			s.broken(i, now, late(l.phase))
			return
		}
		if now >= s.letGoAt(i) {
			s.letGo(i, now)
		}
		if d.what == asking {
			s.pingInTime(i, now)
		}
		if d.what == asking {
			s.await(i)
		}
	case pinged:
		if now >= d.sent+int64(s.Timeout) {
			s.broken(i, now, errNoPong)
			return
		}
		if s.pingInTime(i, now); d.what == pinged {
			s.awaitPong(i)
		}
	}
}

// blame notes what ends the run.
func (s *streams) blame(err error) {
	if s.fault == nil {
		s.fault = err
	}
}

// ask begins a request that was due at an instant: over the connection, or by opening one.
func (s *streams) ask(i int32, due, now int64) {
	d, l := &s.devices[i], &s.links[i]
	if s.most > 0 && s.started >= s.most {
		d.what = resting
		return
	}
	s.started++
	s.waiting++
	s.Requests++
	d.id++
	// Subtle: of the clock again, since each device before it cost system calls. And before its own, which are of the RTT.
	at := s.wire.now()
	s.late.Add(time.Duration(at - due))
	d.due, d.sent, d.what = due, max(at, due), asking
	l.marks &^= answered | settled | idle
	l.got = 0
	switch {
	case l.phase == open:
		s.transmit(i, now)
	case l.phase == closed && l.marks&cutOut == 0:
		s.connect(i, now)
	}
	if d.what == asking && d.due == due {
		s.await(i)
	}
}

// await has a device called when its answer is late, when the outage lets its request go, or when it is to ping.
func (s *streams) await(i int32) {
	d := &s.devices[i]
	s.schedule(i, min(d.sent+int64(s.Timeout), s.letGoAt(i), s.nextPing(i)))
}

// letGoAt is when the outage lets go what it holds of a device that waits: TCP tries again then. never: it holds
// nothing.
func (s *streams) letGoAt(i int32) int64 {
	l := &s.links[i]
	switch {
	case l.marks&cutOut == 0:
		return never
	case l.phase == closed:
		return s.outage.again(s.devices[i].sent, openingAgain)
	}
	return s.outage.again(s.held[i].since, segmentAgain)
}

// transmit sends the request.
func (s *streams) transmit(i int32, now int64) {
	s.scratch = s.speak.ask(s, i, s.scratch[:0])
	s.say(i, s.scratch, now)
}

// say sends what a device says, through TLS if that is between.
func (s *streams) say(i int32, b []byte, now int64) {
	if s.shield != nil && len(b) > 0 {
		b = s.shield.seal(i, b)
	}
	s.write(i, b, now)
}

// write sends bytes of a device, or has the outage hold them.
func (s *streams) write(i int32, b []byte, now int64) {
	if len(b) == 0 {
		return
	}
	s.speaks(i, now)
	if s.links[i].marks&cutOut != 0 || s.hits(s.number(i), now) {
		s.Withheld++
		s.links[i].marks |= cutOut
		h, ok := s.held[i]
		if !ok {
			h.since = now
		}
		h.bytes = append(h.bytes, b...)
		s.held[i] = h
		return
	}
	if s.cutOff(i, now) {
		s.LostAtNAT++
		return
	}
	s.spoken(i, now)
	s.BytesOut += int64(len(b))
	s.blame(s.wire.send(i, b))
	s.unpark(i, now)
}

// letGo sends what the outage held, as TCP does: again, after its end.
func (s *streams) letGo(i int32, now int64) {
	l := &s.links[i]
	if l.marks&cutOut == 0 || s.hits(s.number(i), now) {
		return
	}
	l.marks &^= cutOut
	if l.phase == closed {
		s.dial(i)
		return
	}
	b := s.held[i].bytes
	delete(s.held, i)
	s.write(i, b, now)
}

// after is called once, when the outage is over. It lets go what no request waits for,
// and lists the devices to which something was sent meanwhile.
func (s *streams) after(now int64) (readable []int32) {
	s.over = true
	for i := range s.links {
		l, i := &s.links[i], int32(i)
		if l.marks&cutIn != 0 {
			l.marks &^= cutIn
			readable = append(readable, i)
		}
		if what := s.devices[i].what; what != asking && what != joining {
			s.letGo(i, now)
		}
	}
	return readable
}

// received takes bytes that came for a device, up to its radio.
func (s *streams) received(i int32, b []byte, now int64) {
	if s.cutOff(i, now) {
		s.LostAtNAT++
		return
	}
	at := s.reached(i, now)
	if at == now && len(s.parked[i]) == 0 {
		s.arrived(i, b, now)
		return
	}
	s.Paged++
	if len(s.parked[i]) == 0 && at != never {
		s.keep(i, s.links[i].conn, nil, at)
	}
	s.parked[i] = append(s.parked[i], b...)
}

// arrived takes bytes that have reached a device.
func (s *streams) arrived(i int32, b []byte, now int64) {
	if s.spoke != nil {
		s.spoke[i] = now // what is acknowledged refreshes the binding too
	}
	s.woken(i, now)
	s.BytesIn += int64(len(b))
	if s.shield != nil {
		s.unseal(i, b, now)
		return
	}
	s.digest(i, b, now)
}

// digest takes what the server says.
func (s *streams) digest(i int32, b []byte, now int64) {
	l := &s.links[i]
	if old, ok := s.rest[i]; ok {
		b = append(old, b...)
		delete(s.rest, i)
	}
	for len(b) > 0 && l.phase != closed {
		n, err := s.speak.take(s, i, b, now)
		if err == nil && n == 0 && len(b) > mostAnswer {
			err = errLonger
		}
		if err != nil {
			s.broken(i, now, err)
			return
		}
		if n == 0 {
			s.rest[i] = bytes.Clone(b)
			return
		}
		b = b[n:]
	}
}

// reply takes the answer to the request under way, or what is wrong with it.
func (s *streams) reply(i int32, payload []byte, err error, now int64) {
	d := &s.devices[i]
	if d.what != asking {
		s.Strays++
		return
	}
	if err == nil {
		err = s.judge(payload)
	}
	if err != nil {
		s.Wrong++
		s.fail(i, now, err)
		return
	}
	s.right(i, len(payload), now)
}

// right ends the request under way with a right answer of so many bytes.
func (s *streams) right(i int32, size int, now int64) {
	d := &s.devices[i]
	s.Answered++
	s.done(i, now, nil, size)
	if d.failures() > 0 {
		s.back.change(-1, now)
	}
	d.setFailures(0)
	s.sleep(i, now)
}
