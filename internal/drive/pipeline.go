package drive

import (
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
	fd       int     // -1: none
	flight   []*lane // oldest first
	out      [][]byte
	in       []byte // received, n of it not yet parsed
	n        int
	reply    httpReply
	answered bool // the connection has carried a response
}

var errUnasked = errors.New("bytes came that nobody had asked for")

// pipelined drives with as many requests in flight as there are lanes.
func (r *run) pipelined() {
	lanes := r.d.lanes
	p := &pipeline{events: events{run: r, free: ring{lanes: make([]*lane, len(lanes))}}, fd: lanes[0].fd, in: make([]byte, 4*firstBuffer)}
	for _, l := range lanes {
		p.free.push(l)
	}
	p.reply.reset(r.d.Method == "HEAD")
	p.loop()
	lanes[0].fd = p.fd
}

func (p *pipeline) loop() {
	for !p.stop.Load() {
		due := p.begin(p.send)
		if len(p.flight) == 0 && p.over {
			return
		}
		p.flush()
		p.wait(due)
		p.take()
		if len(p.flight) > 0 && p.now() >= p.flight[0].by {
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
	p.flight = append(p.flight, l)
	if p.fd < 0 {
		p.countConnect()
		if err := p.connect(l.by); err != nil {
			p.fail(err)
			return
		}
	}
	p.out = append(p.out, l.wire.next())
}

func (p *pipeline) connect(by time.Duration) error {
	raw, err := openRaw(&p.pacer, p.d.target, by)
	if err != nil {
		return err
	}
	p.fd, p.answered, p.n, p.out = raw.fd, false, 0, p.out[:0]
	p.reply.reset(p.d.Method == "HEAD")
	return unix.SetNonblock(p.fd, true)
}

// flush sends what there is room for.
func (p *pipeline) flush() {
	for len(p.out) > 0 {
		n, no := send(p.fd, p.out[0], 0)
		if no == syscall.EAGAIN {
			return
		}
		if no != 0 {
			p.broke(no)
			return
		}
		if p.out[0] = p.out[0][n:]; len(p.out[0]) == 0 {
			p.out = p.out[:copy(p.out, p.out[1:])]
		}
	}
}

// wait returns when there is something to receive or send, or a request is due.
func (p *pipeline) wait(due time.Duration) {
	now := p.now()
	until := now + longestWait
	if len(p.flight) > 0 {
		until = min(until, p.flight[0].by)
	}
	spins := false
	if due > 0 && due <= until {
		if until = due - spinWindow; until <= now {
			spins, until = true, now
		}
	}
	var what int16 = unix.POLLIN
	if len(p.out) > 0 {
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
		if len(p.flight) > 0 && p.n > 0 && p.reply.eof() {
			p.respond(p.in[:p.n], now)
		}
		p.broke(io.EOF)
		return
	}
	p.n += n
	p.parse(now)
}

func (p *pipeline) parse(now time.Duration) {
	at := 0
	for at < p.n {
		if len(p.flight) == 0 {
			p.broke(errUnasked)
			return
		}
		b := p.in[at:p.n]
		p.flight[0].bytes = true
		whole, err := p.reply.parse(b)
		if err != nil {
			p.fail(err)
			return
		}
		if !whole {
			if len(b) > mostBody+2*mostHead {
				p.fail(errBody)
				return
			}
			break
		}
		at += p.reply.pos
		reusable := p.reply.reusable()
		p.respond(b, now)
		if !reusable {
			p.broke(io.EOF)
			return
		}
	}
	p.n = copy(p.in, p.in[at:p.n])
}

// respond gives the oldest request in flight its response, the first in b.
func (p *pipeline) respond(b []byte, now time.Duration) {
	l := p.flight[0]
	p.flight = p.flight[:copy(p.flight, p.flight[1:])]
	w := l.wire.(*httpWire)
	w.buf, w.r = b, p.reply
	p.reply.reset(p.d.Method == "HEAD")
	p.answered = true
	l.row.done = int64(now)
	p.done(l, nil)
}

// broke is the end of a connection. Requests behind the last response were not
// taken up and may go again, if the connection has shown that it works.
func (p *pipeline) broke(err error) {
	if !p.answered || len(p.flight) == 0 {
		p.fail(err)
		return
	}
	p.hangUp()
	p.countConnect()
	if err := p.connect(p.flight[0].by); err != nil {
		p.fail(err)
		return
	}
	for _, l := range p.flight {
		l.bytes = false
		if err := l.wire.start(l.buf, p.now()); err != nil {
			p.fail(err)
			return
		}
		p.out = append(p.out, l.wire.next())
	}
}

// fail ends the connection and every request on it.
func (p *pipeline) fail(err error) {
	p.hangUp()
	for _, l := range p.flight {
		p.done(l, err)
		if err == errTimeout {
			err = io.EOF // only the oldest was waited for as long
		}
	}
	p.flight = p.flight[:0]
}

func (p *pipeline) done(l *lane, err error) {
	p.finish(l, err)
	p.free.push(l)
}

func (p *pipeline) hangUp() {
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
	p.out, p.n = p.out[:0], 0
}
