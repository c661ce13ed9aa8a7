package drive

import (
	"errors"
	"fmt"
	"time"
)

// block drives one lane with blocking calls on this thread.
func (r *run) block(l *lane) {
	for {
		seq, due, ok := r.feed.take()
		if !ok {
			return
		}
		at, ok := r.feed.instant(due, l.free)
		if !ok {
			return
		}
		now, ok := r.until(at)
		if !ok {
			return
		}
		r.lateness(due, l.free, now)
		r.exchange(l, seq, at, now)
	}
}

// exchange conducts one request, from serialization to deserialization.
func (r *run) exchange(l *lane, seq uint64, due, now time.Duration) {
	if err := r.beginRequest(l, seq, due, now); err != nil {
		r.finish(l, err)
		return
	}
	err := r.prepare(l)
	if err == nil {
		err = r.converse(l)
	}
	if err != nil && r.mayRetry(l, err) {
		l.hangUp()
		if err = l.wire.start(l.buf, r.now()); err == nil {
			err = r.converse(l)
		}
	}
	r.finish(l, err)
	if err != nil || r.d.Connection == PerRequest || !l.wire.reusable() {
		l.hangUp()
	}
}

// prepare lets the application do what it does before each request.
func (r *run) prepare(l *lane) error {
	if p, ok := r.call.(Preparer); ok {
		return p.Prepare(l.seq, r.d.Timeout)
	}
	return nil
}

// converse sends and receives until the response is whole.
func (r *run) converse(l *lane) error {
	if w, ok := l.wire.(*http3Wire); ok {
		return w.converse(r)
	}
	if l.pipe == nil {
		if err := r.reopen(l); err != nil {
			return err
		}
	}
	p, w := &r.pacer, l.wire
	for {
		for b := w.next(); b != nil; b = w.next() {
			if err := l.pipe.send(p, b, l.by); err != nil {
				return err
			}
		}
		by := l.by
		if at, ok := w.deadline(); ok {
			by = min(by, at)
		}
		n, err := l.pipe.receive(p, w.space(), by)
		now := r.now()
		if err != nil {
			if err = r.missed(l, err, now); err == nil {
				continue
			}
			if err == errWhole {
				l.row.done = int64(now)
				return nil
			}
			return err
		}
		l.bytes = true
		whole, err := w.got(n, now)
		if err != nil {
			return err
		}
		if whole {
			l.row.done = int64(now)
			r.farewell(l)
			return nil
		}
	}
}

// A greeter is a wire with an exchange of its own before the first request.
type greeter interface {
	greeted() bool
}

// greet lets a new connection's ends know each other before any request.
func (r *run) greet(l *lane) error {
	g, ok := l.wire.(greeter)
	for ok && !g.greeted() {
		for b := l.wire.next(); b != nil; b = l.wire.next() {
			if err := l.pipe.send(&r.pacer, b, l.by); err != nil {
				return err
			}
		}
		n, err := l.pipe.receive(&r.pacer, l.wire.space(), l.by)
		if err != nil {
			return err
		}
		if _, err := l.wire.got(n, r.now()); err != nil {
			return err
		}
	}
	return nil
}

var errWhole = errors.New("the peer closed, and that ends the response")

// missed says what a failed receive means: nil, go on; errWhole; or a failure.
func (r *run) missed(l *lane, err error, now time.Duration) error {
	switch {
	case isEOF(err):
		if err = l.wire.closed(); err == nil {
			return errWhole
		}
		return err
	case err == errTimeout && now < l.by:
		return l.wire.expire(now)
	}
	return err
}

// farewell sends what is left to send after the response: an acknowledgement.
// The exchange is over, so whether it arrives changes nothing.
func (r *run) farewell(l *lane) {
	for b := l.wire.next(); b != nil; b = l.wire.next() {
		_ = l.pipe.send(&r.pacer, b, l.by)
	}
}

// reopen makes a connection within a request.
func (r *run) reopen(l *lane) error {
	r.countConnect()
	if err := r.open(l); err != nil {
		if err == errTimeout || err == errStopped {
			return err
		}
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

// countConnect counts a connection made anew that was to be kept alive.
func (r *run) countConnect() {
	if r.d.Connection == PerRequest {
		return
	}
	if r.shared {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	r.quality.Reconnects++
}

// open makes a lane's connection, until l.by.
func (r *run) open(l *lane) (err error) {
	l.fresh = true
	l.connected()
	if w, ok := l.wire.(*http3Wire); ok {
		return w.open(r, l.by)
	}
	if r.d.secret != nil {
		l.pipe, err = r.d.secret.open(r, l.by)
		return err
	}
	raw, err := openRaw(&r.pacer, r.d.target, l.by)
	if err == nil {
		l.pipe = raw
	}
	return err
}
