package drive

import (
	"errors"
	"fmt"
	"io"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
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
	began, looked := now, false
	if l.unsure || now-l.free > idleLong {
		looked, l.unsure = l.pipe != nil && r.d.overTCP, false
		if r.gone(l) {
			l.hangUp()
		}
		now = r.now()
	}
	err := r.beginRequest(l, seq, due, now)
	if looked { // the look is part of connection, and so of the total
		l.begin, l.row.connection = began, int64(now-began)
	}
	if err != nil {
		r.finish(l, err)
		return
	}
	err = r.prepare(l)
	if err == nil {
		err = r.converse(l)
	}
	if err != nil && r.mayRepeat(l, err) {
		if !r.outlives(l, err) {
			l.hangUp()
		}
		if err = r.again(l); err == nil {
			err = r.converse(l)
		}
	}
	r.finish(l, err)
	if err != nil && r.outlives(l, err) {
		l.fresh = false
		return
	}
	// Bytes left to send: the server answered early, and half a request is on the line.
	if err != nil || l.conn != nil && !r.reusable(l) || r.d.Connection == PerRequest || len(l.out) > 0 {
		if err == nil && len(l.out) == 0 && l.parter != nil {
			l.parter.goodbye()
			r.farewell(l)
		}
		l.hangUp()
		l.free = r.now() // closing is of no request, nor of the next one's response time
	}
}

// reusable says whether a connection whose answer is whole may carry another request, and counts what is odd about the
// answer.
func (r *run) reusable(l *lane) bool {
	if w, ok := l.conn.(*httpConn); ok {
		if w.surplus() {
			r.count(&r.quality.Surplus)
		}
		if measure.DelayedAcknowledgement.Holds(w.still.Seconds()) {
			r.count(&r.quality.Held)
		}
	}
	return l.conn.reusable()
}

// idleLong is how long a connection may have been idle without being looked at
// before a request goes over it: servers close idle ones, after seconds.
const idleLong = time.Millisecond

// gone says whether the peer has closed a connection that was idle, or has said
// what nobody asked for. It costs a system call, before the request is sent.
func (r *run) gone(l *lane) bool {
	if l.pipe == nil || !r.d.connected() {
		return false
	}
	switch waiting, err := l.pipe.peek(); {
	case err != nil:
		return true
	case !waiting:
		return false
	case l.idler == nil && !r.d.secure(): // bytes of a protocol where only answers come
		return r.d.scheme == "http" || r.d.scheme == "tcp"
	}
	// Under TLS there may be no more than a session ticket, or a goodbye.
	n, err := l.pipe.receive(&r.pacer, l.conn.space(), 0)
	switch {
	case err == errTimeout:
		return false
	case err != nil || l.idler == nil:
		return true
	}
	return l.idler.unasked(n) != nil
}

// prepare lets the application do what it does before each request.
func (r *run) prepare(l *lane) error {
	if r.preparer != nil {
		return r.preparer.Prepare(l.seq, r.d.Timeout)
	}
	return nil
}

// converse sends and receives until the response is whole.
func (r *run) converse(l *lane) error {
	if l.mover != nil {
		return l.mover.converse(r, l)
	}
	if l.pipe == nil {
		whole, err := r.reopen(l)
		if err != nil {
			return err
		}
		if whole {
			r.complete(l, r.now())
			return nil
		}
	}
	p, c := &r.pacer, l.conn
	for {
		if err := r.push(l); err != nil {
			return r.lastWords(l, err, func(b []byte) (int, error) { return l.pipe.receive(p, b, l.by) })
		}
		by := l.by
		if l.timer != nil {
			if at, ok := l.timer.deadline(); ok {
				by = min(by, at)
			}
		}
		n, err := l.pipe.receive(p, c.space(), by)
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
		whole, err := c.got(n, now)
		l.received()
		switch {
		case err != nil:
			return err
		case whole:
			r.complete(l, now)
			return nil
		case now >= l.by: // Subtle: as long as something comes, receive never waits
			return errTimeout
		}
	}
}

// push sends what there is to send, up to where the peer is to be heard first: l.out is left.
func (r *run) push(l *lane) error {
	for {
		if len(l.out) == 0 {
			if l.out = l.conn.next(); l.out == nil {
				return nil
			}
		}
		n, some, err := l.pipe.send(&r.pacer, l.out, l.by)
		l.written, l.out = l.written || some, l.out[n:]
		if err != nil || len(l.out) > 0 {
			return err
		}
	}
}

// lastWords looks, where a connection broke while a request was sent, for what the server had said before: one that
// does not want to read a body answers, and closes (RFC 9112, section 9.6). nil: the response is whole, else broke.
func (r *run) lastWords(l *lane, broke error, receive func([]byte) (int, error)) error {
	for r.d.overTCP && l.written && !errors.Is(broke, errTimeout) && broke != errStopped {
		n, err := receive(l.conn.space())
		now := r.now()
		if n <= 0 || err != nil {
			if err == io.EOF && l.bytes && l.conn.closed() == nil {
				l.row.done = int64(now)
				return nil
			}
			break
		}
		whole, err := l.conn.got(n, now)
		l.received()
		if err != nil {
			return err
		}
		if whole {
			l.row.done = int64(now)
			return nil
		}
	}
	return broke
}

// complete is called when the response is whole.
func (r *run) complete(l *lane, now time.Duration) {
	l.row.done = int64(now)
	r.farewell(l)
}

// greet lets a new connection's ends know each other before any request. Of a request that is resumed, what the peer
// says may already contain the whole response.
func (r *run) greet(l *lane) (whole bool, err error) {
	for l.greeter != nil && !l.greeter.greeted() {
		if err := r.push(l); err != nil {
			return false, err
		}
		n, err := l.pipe.receive(&r.pacer, l.conn.space(), l.by)
		if err != nil {
			return false, err
		}
		now := r.now()
		if whole, err = l.conn.got(n, now); whole || err != nil {
			return whole, err
		}
		if now >= l.by {
			return false, errTimeout
		}
	}
	return false, nil
}

var (
	errWhole    = errors.New("the peer closed the connection, which ends the response")
	errCutShort = errors.New("connection closed in mid-response: its end was to be the response's, but TLS was not " +
		"ended (close_notify)")
)

// missed says what a failed receive means: nil, go on; errWhole; or a failure.
func (r *run) missed(l *lane, err error, now time.Duration) error {
	switch {
	case isEOF(err):
		if ended := l.conn.closed(); ended != nil {
			return ended
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // TLS: anybody may have cut it short (RFC 9112, section 9.8)
			return errCutShort
		}
		return errWhole
	case err == errTimeout && now < l.by && l.timer != nil:
		return l.timer.expire(now)
	}
	return err
}

// farewell sends what is left to send after the response: an acknowledgement.
// The exchange is over, so whether it arrives changes nothing.
func (r *run) farewell(l *lane) {
	if len(l.out) == 0 {
		_ = r.push(l)
	}
}

// reopen makes a connection within a request. Whole is as in greet.
func (r *run) reopen(l *lane) (whole bool, err error) {
	r.countConnect()
	l.opening = r.now()
	if err := r.open(l); err != nil {
		if err == errTimeout || err == errStopped {
			return false, err
		}
		return false, fmt.Errorf("connect: %w", err)
	}
	if whole, err = r.greet(l); err != nil {
		return false, err
	}
	r.opened(l)
	return whole, nil
}

// countConnect counts a connection made anew that was to be kept alive.
func (r *run) countConnect() {
	if r.d.Connection != PerRequest {
		r.count(&r.quality.Reconnects)
	}
}

// dialBy is until when a connection of TCP is awaited that is to be there by then.
func (r *run) dialBy(by time.Duration) time.Duration {
	if r.patience > 0 {
		return min(by, r.now()+r.patience)
	}
	return by
}

// open makes a lane's connection, until l.by.
func (r *run) open(l *lane) (err error) {
	l.fresh = true
	l.connected()
	if l.mover != nil {
		return l.mover.open(r, l.by)
	}
	if r.d.secret != nil {
		l.pipe, err = r.d.secret.open(r, l.by)
		return err
	}
	raw, err := openRaw(&r.pacer, r.d.target, r.dialBy(l.by))
	if err == nil {
		l.pipe = raw
	}
	return err
}
