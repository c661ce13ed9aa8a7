package drive

import (
	"cmp"
	"errors"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A pipeline sends requests over one connection without waiting for the
// responses to those before (RFC 9112, section 9.3.2). A lane is a place in
// flight; responses come in order.
type pipeline struct {
	events
	fd       int // -1: none
	conns    []*httpConn
	flight   ring // oldest first
	unsent   int  // how many of those in flight, the last ones, are not yet sent whole
	part     []byte
	in       []byte // received, n of it not yet parsed
	n        int
	reply    httpReply
	answered bool  // the connection has carried a response
	broken   error // why nothing more can be sent over it; what was answered before is still to be received
}

var (
	errUnasked = errors.New("unexpected bytes before a request")
	// errLast is the end of a connection after a response that said so: the
	// server takes up nothing that is behind it (RFC 9112, section 9.6). Or after
	// one that came before its request was sent whole: half of that is on the line.
	errLast = errors.New("no request can follow on the connection")
)

// pipelined drives with as many requests in flight as there are lanes.
func (r *run) pipelined() {
	lanes := r.d.lanes
	p := &pipeline{events: events{run: r, free: newRing(len(lanes))}, flight: newRing(len(lanes)), fd: lanes[0].fd,
		in: make([]byte, 4*firstBuffer)}
	lanes[0].fd = -1
	for _, l := range lanes {
		p.conns = append(p.conns, l.stream.(*httpConn))
		p.free.push(l)
	}
	p.reply.reset(r.d.Method == "HEAD", r.d.MostBody)
	p.take() // what came since the run before: it may be closed
	p.loop()
	lanes[0].fd = p.fd
}

func (p *pipeline) loop() {
	for !p.stop.Load() {
		due := p.begin(p.send)
		if p.flight.n == 0 && p.over {
			return
		}
		p.flush()
		p.wait(due)
		p.take()
		if p.flight.n > 0 && p.now() >= p.flight.head().by {
			p.fail(errTimeout)
		}
	}
	p.fail(errStopped)
}

func (p *pipeline) send(l *lane, due, now time.Duration) {
	if err := p.beginRequest(l, p.seq, due, now); err != nil {
		p.done(l, err)
		return
	}
	l.fresh = false
	p.flight.push(l)
	p.unsent++
	if p.fd < 0 {
		p.countConnect()
		l.opening = p.now()
		if err := p.connect(l.by); err != nil {
			p.fail(err)
			return
		}
		p.opened(l)
	}
}

func (p *pipeline) connect(by time.Duration) error {
	raw, err := openRaw(&p.pacer, p.d.target, by)
	if err != nil {
		return err
	}
	p.fd, p.answered = raw.fd, false
	return unix.SetNonblock(p.fd, true)
}

// flush sends what there is room for.
func (p *pipeline) flush() {
	for p.unsent > 0 && p.fd >= 0 && p.broken == nil {
		l := p.flight.get(p.flight.n - p.unsent)
		if len(p.part) == 0 {
			p.part = p.conns[l.number].next()
		}
		n, no := send(p.fd, p.part, 0)
		if no == syscall.EAGAIN {
			return
		}
		if no != 0 {
			p.broken = no
			return
		}
		l.written = true
		if p.part = p.part[n:]; len(p.part) == 0 {
			p.unsent--
		}
	}
}

// wait returns when there is something to receive or send, or a request is due.
func (p *pipeline) wait(due time.Duration) {
	now := p.now()
	until := now + longestWait
	if p.flight.n > 0 {
		until = min(until, p.flight.head().by)
	}
	spins := false
	if due > 0 && due <= until {
		if until = due - spinWindow; until <= now {
			spins, until = true, now
		}
	}
	var what int16 = unix.POLLIN
	if p.unsent > 0 && p.broken == nil {
		what |= unix.POLLOUT
	}
	if !poll(p.fd, what, until-now) && spins {
		p.spun += p.now() - now
	}
}

// take receives once and gives the responses to those who asked, in order.
func (p *pipeline) take() {
	if p.fd < 0 {
		return
	}
	if p.n == len(p.in) {
		p.in = append(p.in, make([]byte, len(p.in))...)
	}
	n, no := receive(p.fd, p.in[p.n:], unix.MSG_DONTWAIT)
	now := p.now()
	switch {
	case no == syscall.EAGAIN:
		return
	case no != 0:
		p.broke(no)
		return
	case n == 0:
		if p.flight.n > 0 && p.n > 0 && p.reply.eof() {
			p.respond(p.in[:p.n], now)
			p.broke(errLast)
			return
		}
		p.broke(cmp.Or(p.broken, io.EOF))
		return
	}
	p.n += n
	p.parse(now)
}

func (p *pipeline) parse(now time.Duration) {
	at := 0
	for at < p.n {
		if p.flight.n == 0 {
			p.broke(errUnasked)
			return
		}
		b := p.in[at:p.n]
		p.flight.head().bytes = true
		whole, err := p.reply.parse(b)
		left := len(b)
		if !whole && err == nil {
			left, err = p.reply.fit(b)
		}
		if err != nil {
			p.fail(err)
			return
		}
		if !whole {
			p.n = at + left
			break
		}
		at += p.reply.pos
		last := !p.reply.reusable() || p.unsent == p.flight.n
		p.respond(b, now)
		if last {
			p.broke(errLast)
			return
		}
	}
	p.n = copy(p.in, p.in[at:p.n])
}

// respond gives the oldest request in flight its response, the first in b.
func (p *pipeline) respond(b []byte, now time.Duration) {
	l := p.flight.head()
	p.flight.pop()
	p.unsent = min(p.unsent, p.flight.n)
	c := p.conns[l.number]
	c.buf, c.r = b, p.reply
	p.reply.reset(p.d.Method == "HEAD", p.d.MostBody)
	p.answered = true
	l.row.done = int64(now)
	p.done(l, nil)
}

// broke is the end of a connection. Requests behind the last response go again
// if that is right for each, and if the connection has shown that it works.
func (p *pipeline) broke(err error) {
	goOn := p.answered
	p.hangUp()
	again := 0
	for n := p.flight.n; n > 0; n-- {
		l := p.flight.head()
		p.flight.pop()
		if goOn && p.mayGoAgain(l, err) && p.again(l) == nil {
			p.flight.push(l)
			again++
		} else {
			p.done(l, closedBy(err))
		}
	}
	if again == 0 {
		return
	}
	p.unsent = again
	p.countConnect()
	if err := p.connect(p.flight.head().by); err != nil {
		p.fail(err)
	}
}

// mayGoAgain is mayRepeat for a request that was not alone on its connection.
func (p *pipeline) mayGoAgain(l *lane, err error) bool {
	if err == errLast || !l.written {
		return !l.bytes
	}
	may := p.mayRepeat(l, err)
	l.fresh = true // Subtle: once is enough (RFC 9110, section 9.2.2)
	return may
}

// closedBy is a connection's end as the failure of a request on it.
func closedBy(err error) error {
	if err == errLast {
		return io.EOF
	}
	return err
}

// fail ends the connection and every request on it.
func (p *pipeline) fail(err error) {
	p.hangUp()
	for n := p.flight.n; n > 0; n-- {
		l := p.flight.head()
		p.flight.pop()
		p.done(l, err)
		if err == errTimeout {
			err = io.EOF // only the oldest was waited for as long
		}
	}
}

func (p *pipeline) done(l *lane, err error) {
	p.finish(l, err)
	p.free.push(l)
}

// hangUp closes the connection and forgets what was half-way.
func (p *pipeline) hangUp() {
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
	p.unsent, p.part, p.n, p.broken = 0, nil, 0, nil
	p.reply.reset(p.d.Method == "HEAD", p.d.MostBody)
}
