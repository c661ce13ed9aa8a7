package population

// A link is all that is kept of a device's connection, beside its record: 16 B without a
// pointer.
type link struct {
	fd    int32  // -1: none
	got   int32  // B of the answer that came; TCP
	conn  uint16 // number of its connection
	id    uint16 // MQTT: identifier of the packet under way
	phase phase
	marks mark
}

// A phase is how far a connection is.
type phase uint8

const (
	closed   phase = iota
	opening        // the kernel opens it
	greeting       // TLS shakes hands; MQTT: CONNECT was sent
	admitted       // MQTT: the broker took it, and SUBSCRIBE was sent
	open
)

// Marks of a link.
type mark uint8

const (
	answered mark = 1 << iota // MQTT: the answer is here, and
	settled                   // the request was acknowledged
	idle                      // after the delay it connects again, and asks nothing
	cutOut                    // the outage holds what the device sent, or its opening
	cutIn                     // the outage holds what was sent to it
	gone                      // a NAT has forgotten the connection: nothing passes any more
	early                     // the connection was open when the run began
)

// join opens a connection without a request; a report that is due comes with it.
func (s *streams) join(i int32, now int64) {
	d := &s.devices[i]
	s.links[i].marks &^= idle
	if at := s.dueAt(i, d.k); at <= now && d.failures() == 0 {
		d.k++
		s.ask(i, at, now)
		return
	}
	d.what, d.sent = joining, now
	s.connect(i, now)
	if d.what == joining {
		s.awaitOpen(i)
	}
}

// awaitOpen has a device called that opens a connection: when that lasts too long, when
// the outage lets it go, when it is to ping, or when its report is due.
func (s *streams) awaitOpen(i int32) {
	d := &s.devices[i]
	at := min(d.sent+int64(s.Timeout), s.letGoAt(i), s.nextPing(i))
	if due := s.dueAt(i, d.k); d.failures() == 0 && due < s.span {
		at = min(at, max(due, d.sent))
	}
	s.schedule(i, at)
}

// goOn is the turn of a device that opens a connection.
func (s *streams) goOn(i int32, now int64) {
	d := &s.devices[i]
	due := s.dueAt(i, d.k)
	switch {
	case now >= d.sent+int64(s.Timeout):
		s.broken(i, now, errNoOpen)
	case d.failures() == 0 && due <= now && due < s.span:
		d.k++
		s.ask(i, due, now)
	default:
		if now >= s.letGoAt(i) {
			s.letGo(i, now)
		}
		if d.what == joining {
			s.pingInTime(i, now)
		}
		if d.what == joining {
			s.awaitOpen(i)
		}
	}
}

// connect opens a connection, unless the outage prevents it.
func (s *streams) connect(i int32, now int64) {
	l := &s.links[i]
	l.conn++
	s.Connects++
	if s.hits(s.number(i), now) {
		l.marks |= cutOut
		s.Withheld++
		return
	}
	s.dial(i)
}

func (s *streams) dial(i int32) {
	s.links[i].phase = opening
	s.blame(s.wire.dial(i))
}

// opened: the kernel has opened the connection.
func (s *streams) opened(i int32, now int64) {
	l := &s.links[i]
	s.opens++
	s.OpenMost = max(s.OpenMost, s.opens)
	l.phase = greeting
	s.spoken(i, now) // its opening
	if s.shield != nil {
		s.shake(i, now)
		return
	}
	s.greet(i, now)
}

// admit notes that the broker has taken a device, which pings from now on.
func (s *streams) admit(i int32) {
	s.links[i].phase = admitted
	switch s.devices[i].what {
	case asking:
		s.await(i)
	case joining:
		s.awaitOpen(i)
	}
}

// greet says what opens a connection, if anything does.
func (s *streams) greet(i int32, now int64) {
	s.scratch = s.speak.greet(s, i, s.scratch[:0])
	if len(s.scratch) > 0 {
		s.say(i, s.scratch, now)
		return
	}
	s.up(i, now)
}

// up: requests can go out.
func (s *streams) up(i int32, now int64) {
	d := &s.devices[i]
	s.links[i].phase = open
	switch d.what {
	case asking:
		s.went[i] = s.wire.now()
		due := d.due
		if s.transmit(i, now); d.what == asking && d.due == due {
			s.await(i) // it may be to ping meanwhile
		}
	case joining:
		if d.failures() > 0 {
			s.back.change(-1, now)
		}
		d.setFailures(0)
		s.sleep(i, now)
	}
}

// ping asks for a sign of life, and waits for it.
func (s *streams) ping(i int32, now int64) {
	d := &s.devices[i]
	d.what, d.sent = pinged, now
	if s.pingInTime(i, now); d.what == pinged {
		s.awaitPong(i)
	}
}

// pingInTime sends a ping if it is time to.
func (s *streams) pingInTime(i int32, now int64) {
	if now < s.nextPing(i) {
		return
	}
	s.Pings++
	s.scratch = s.speak.ping(s.scratch[:0])
	s.say(i, s.scratch, now)
}

// nextPing is pingAt, where the server would take a ping.
func (s *streams) nextPing(i int32) int64 {
	if s.links[i].phase < admitted {
		return never
	}
	return s.pingAt(i)
}

// awaitPong has a device called when the answer to its ping is late, or when it is to ping again.
func (s *streams) awaitPong(i int32) {
	s.schedule(i, min(s.devices[i].sent+int64(s.Timeout), s.nextPing(i)))
}

// pong: a sign of life came.
func (s *streams) pong(i int32, now int64) {
	s.Pongs++
	if s.devices[i].what == pinged {
		s.sleep(i, now)
	}
}

// broken: a connection has ended, or is given up, and what was under way fails.
func (s *streams) broken(i int32, now int64, why error) {
	d, l := &s.devices[i], &s.links[i]
	switch {
	case l.phase == opening || l.phase == closed && l.marks&cutOut != 0:
		s.ConnectFailed++
	case l.phase != closed:
		s.Broken++
	}
	s.hang(i)
	switch d.what {
	case asking:
		s.fail(i, now, why)
	case joining, pinged, sleeping, silent:
		if s.Stream.joins() {
			s.lost(i, now)
		}
	case resting:
		if s.stays && now < s.span && s.Stream.joins() {
			s.lost(i, now)
		}
	}
}

// listener says whether a device hears of all requests.
func (s *streams) listener(i int32) bool { return s.classOf(s.number(i)).Observe > 0 }

// lost has a device connect again that has no request.
func (s *streams) lost(i int32, now int64) {
	d := &s.devices[i]
	s.wheel.remove(i)
	if d.failures() == 0 {
		s.back.change(1, now)
	}
	d.setFailures(d.failures() + 1)
	if s.Retry.First == 0 && s.listener(i) { // it has no report that would open a connection
		d.what = off
		s.later(i, now+int64(s.classOf(s.number(i)).Observe))
		return
	}
	if s.Retry.First == 0 {
		s.sleep(i, now)
		return
	}
	d.id++ // a number of its own for the draw
	d.what = retrying
	s.links[i].marks |= idle
	d.due = now + int64(s.Retry.after(d.failures(), share(s.Seed, s.number(i), forRetry+uint64(d.id))))
	s.later(i, d.due)
}

// hang closes a connection, whatever became of it.
func (s *streams) hang(i int32) {
	l := &s.links[i]
	if l.phase > opening {
		s.opens--
	}
	if s.shield != nil {
		s.farewell(i)
	}
	if l.fd >= 0 {
		s.wire.hang(i)
	}
	l.phase, l.marks, l.got = closed, l.marks&(idle|early), 0
	delete(s.rest, i)
	delete(s.held, i)
	delete(s.parked, i)
	s.speaks(i, unsent)
	if s.spoke != nil {
		s.spoke[i] = -1
	}
}

// cutOff says whether a NAT has forgotten the connection of a device, which nobody is told. A probe of the kernel
// that comes in time prevents it.
func (s *streams) cutOff(i int32, now int64) bool {
	l := &s.links[i]
	if l.marks&gone != 0 {
		return true
	}
	if !s.forgotten(i, now) || s.probes(i) {
		return false
	}
	s.Forgotten++
	l.marks |= gone
	return true
}

// probes says whether the kernel keeps the binding of a device alive.
func (s *streams) probes(i int32) bool {
	alive := s.classOf(s.number(i)).KeepAlive
	return !s.Stream.mqtt() && alive > 0 && alive < s.NAT
}

// unpark hands on what came while a radio slept.
func (s *streams) unpark(i int32, now int64) {
	if b, ok := s.parked[i]; ok {
		delete(s.parked, i)
		s.arrived(i, b, now)
	}
}

// pagedNow: the network calls a device, for what came over its connection.
func (s *streams) pagedNow(x holding, now int64) {
	if s.links[x.device].conn == x.conn {
		s.unpark(x.device, now)
	}
}

// subscribed is how many devices hear of all requests now.
func (s *streams) subscribed() (n int64) {
	for i := range s.links {
		if s.links[i].phase == open && s.listener(int32(i)) {
			n++
		}
	}
	return n
}
