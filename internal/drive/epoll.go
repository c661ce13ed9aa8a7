package drive

import (
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An events drives many lanes from one thread with non-blocking sockets.
//
// Of streams epoll tells only what is new (EPOLLET): else it would look at each socket again before the next wait, and
// find nothing. So nothing may be left behind untold. A read that was not filled has taken all, unless the event said
// that more is behind it; after any other, rearm has what is left told again. A write goes on until there is no room,
// or nothing to write. One datagram says nothing of those behind it, so of these epoll tells as long as there are any.
type events struct {
	*run
	ep    int
	edges uint32        // what streams are watched for besides; 0: no streams
	free  ring          // lanes without a request, longest free first
	busy  int           // lanes with one
	seq   uint64        // the request taken and not yet sent
	due   time.Duration // of it, as the schedule has it
	taken bool
	over  bool          // no more to take
	wake  time.Duration // no lane's time runs out before it
	ready [256]unix.EpollEvent
}

// Events that say that more may be behind what one read takes: the end of the connection, or what follows an urgent
// byte, before which a read stops.
const (
	askedFor = unix.EPOLLRDHUP | unix.EPOLLPRI
	behind   = askedFor | unix.EPOLLERR | unix.EPOLLHUP // the kernel tells these two unasked
)

func (r *run) epoll() error {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("drive: epoll: %w", err)
	}
	defer unix.Close(ep)
	e := &events{run: r, ep: ep, free: newRing(len(r.d.lanes))}
	if r.d.overTCP {
		e.edges = unix.EPOLLET | askedFor
	}
	for _, l := range r.d.lanes {
		l.busy, l.pending, l.watched = false, false, 0
		if l.fd >= 0 {
			e.watch(l, unix.EPOLLIN)
		}
		e.free.push(l)
	}
	e.lookAround()
	e.loop()
	return nil
}

// lookAround takes what came since the run before: connections may be closed.
func (e *events) lookAround() {
	for range e.d.lanes {
		n := epollWait(e.ep, e.ready[:], 0)
		for i := range e.ready[:n] {
			e.advance(e.d.lanes[e.ready[i].Fd], e.ready[i].Events)
		}
		if n < len(e.ready) {
			return
		}
	}
}

func (e *events) loop() {
	for !e.stop.Load() {
		due := e.begin(e.send)
		if e.busy == 0 && e.over {
			return
		}
		n := e.wait(due)
		for i := range e.ready[:n] {
			e.advance(e.d.lanes[e.ready[i].Fd], e.ready[i].Events)
		}
		if now := e.now(); now >= e.wake {
			e.sweep(now)
		}
	}
	for _, l := range e.d.lanes {
		if l.busy {
			e.fail(l, errStopped)
		}
	}
}

// begin sends what is due on free lanes; it returns when the next is due, 0 if
// that depends on no clock.
func (e *events) begin(send func(l *lane, due, now time.Duration)) time.Duration {
	for e.free.n > 0 && !e.over {
		if !e.taken {
			if e.seq, e.due, e.taken = e.feed.take(); !e.taken {
				e.over = true
				return 0
			}
		}
		l := e.free.head()
		at, ok := e.feed.instant(e.due, l.free)
		if !ok {
			e.over = true
			return 0
		}
		now := e.now()
		if now < at {
			return at
		}
		e.free.pop()
		e.lateness(e.due, l.free, now)
		e.taken = false
		send(l, at, now)
	}
	return 0
}

// asleep is for how many milliseconds to sleep, rounded up: rounded down, the last one would be all empty waits. Not
// ok: a request is due by their end, or so soon behind it that a sleeping thread would wake too late.
func (e *events) asleep(now, due time.Duration) (ms int, ok bool) {
	until := min(now+longestWait, max(e.wake, now))
	ms = int((until - now + time.Millisecond - 1) / time.Millisecond)
	return ms, due <= 0 || due > now+time.Duration(ms)*time.Millisecond+spinWindow
}

// wait fills ready. Far from a due instant it sleeps, close to one it only looks.
func (e *events) wait(due time.Duration) int {
	now := e.now()
	ms, ok := e.asleep(now, due)
	if !ok {
		if left := due - now; left > spinWindow {
			poll(e.ep, unix.POLLIN, left-spinWindow)
			return epollWait(e.ep, e.ready[:], 0)
		}
		n := epollWait(e.ep, e.ready[:], 0)
		if n == 0 {
			e.spun += e.now() - now
		}
		return n
	}
	return epollWait(e.ep, e.ready[:], ms)
}

func (e *events) send(l *lane, due, now time.Duration) {
	l.busy, l.out = true, nil
	e.busy++
	if err := e.beginRequest(l, e.seq, due, now); err != nil {
		e.fail(l, err)
		return
	}
	if l.fd < 0 {
		e.connect(l)
		return
	}
	e.flush(l)
}

// connect begins to make a connection for the request on l.
func (e *events) connect(l *lane) {
	e.countConnect()
	l.opening = e.now()
	fd, pending, err := dial(e.d.target, false)
	if err != nil {
		e.fail(l, fmt.Errorf("connect: %w", err))
		return
	}
	l.fd, l.fresh, l.watched, l.pending = fd, true, 0, pending
	l.connected()
	if pending {
		e.watch(l, unix.EPOLLOUT)
		e.alarm(l)
		return
	}
	e.established(l)
	e.flush(l)
}

// established is called when bytes can go over a connection, and again when what
// a protocol says before any request was said.
func (e *events) established(l *lane) {
	if l.opening != 0 && (l.greeter == nil || l.greeter.greeted()) {
		e.opened(l)
	}
}

// flush sends until there is nothing to send or no room.
func (e *events) flush(l *lane) {
	for {
		if len(l.out) == 0 {
			if l.out = l.conn.next(); l.out == nil {
				e.watch(l, unix.EPOLLIN)
				e.alarm(l)
				return
			}
		}
		n, no := send(l.fd, l.out, 0)
		switch no {
		case 0:
			l.written = true
			l.out = l.out[n:]
		case syscall.EAGAIN:
			// Subtle: EPOLLIN as well; a server may answer before it has read all.
			e.watch(l, unix.EPOLLIN|unix.EPOLLOUT)
			e.alarm(l)
			return
		default:
			if err := e.lastWords(l, no, func(b []byte) (int, error) { return received(l.fd, b) }); err != nil {
				e.broke(l, err)
			} else {
				e.succeed(l, time.Duration(l.row.done))
			}
			return
		}
	}
}

// received is what can be received of a stream at once.
func received(fd int, b []byte) (int, error) {
	switch n, no := receive(fd, b, 0); {
	case no != 0:
		return 0, no
	case n == 0:
		return 0, io.EOF
	default:
		return n, nil
	}
}

// advance does what an event allows.
func (e *events) advance(l *lane, what uint32) {
	switch {
	case l.fd < 0: // an event of a connection closed a moment ago
	case l.pending:
		if err := connected(l.fd); err != nil {
			e.fail(l, fmt.Errorf("connect: %w", err))
		} else if what&unix.EPOLLOUT != 0 {
			l.pending = false
			e.established(l)
			e.flush(l)
		}
	case !l.busy:
		e.idle(l, what)
	default:
		if what&^unix.EPOLLOUT != 0 {
			e.take(l, what)
		}
		if what&unix.EPOLLOUT != 0 && l.busy && l.fd >= 0 && len(l.out) > 0 {
			e.flush(l)
		}
	}
}

// take receives once.
func (e *events) take(l *lane, what uint32) {
	space := l.conn.space()
	n, no := receive(l.fd, space, 0)
	now := e.now()
	switch {
	case no == syscall.EAGAIN:
		return
	case no != 0:
		e.broke(l, no)
		return
	case n == 0 && e.d.overTCP:
		if err := l.conn.closed(); err != nil {
			e.broke(l, err)
		} else {
			e.succeed(l, now)
		}
		return
	}
	whole, err := l.conn.got(n, now)
	l.received()
	e.established(l)
	switch {
	case err != nil:
		e.broke(l, err)
	case whole:
		e.succeed(l, now)
	default:
		if len(l.out) == 0 {
			e.flush(l)
		}
	}
	e.rearm(l, what, n == len(space))
}

// idle takes what comes without a request: the server closing, or bytes that
// nobody asked for end a stream; a datagram that repeats an old response is
// acknowledged again.
func (e *events) idle(l *lane, what uint32) {
	space := l.conn.space()
	n, no := receive(l.fd, space, 0)
	if no == syscall.EAGAIN {
		return
	}
	if l.idler != nil && no == 0 && n > 0 && l.idler.unasked(n) == nil {
		e.rearm(l, what, n == len(space))
		return
	}
	if e.d.overTCP || no != 0 {
		l.hangUp()
		return
	}
	_, _ = l.conn.got(n, e.now())
	e.farewell(l)
}

// rearm has epoll tell again what is there, where a read may have left something behind.
func (e *events) rearm(l *lane, what uint32, filled bool) {
	if e.edges != 0 && l.fd >= 0 && (filled || what&behind != 0) {
		e.control(l, unix.EPOLL_CTL_MOD)
	}
}

func (e *events) farewell(l *lane) {
	for b := l.conn.next(); b != nil; b = l.conn.next() {
		send(l.fd, b, 0)
	}
}

func (e *events) succeed(l *lane, now time.Duration) {
	l.row.done = int64(now)
	e.farewell(l)
	e.finish(l, nil)
	// Bytes left to send: the server answered early, and half a request is on the line.
	if !e.reusable(l) || e.d.Connection == PerRequest || len(l.out) > 0 {
		if l.parter != nil && len(l.out) == 0 {
			l.parter.goodbye()
			e.farewell(l)
		}
		l.hangUp()
		l.free = e.now() // closing is of no request, nor of the next one's response time
	}
	e.release(l)
}

func (e *events) fail(l *lane, err error) {
	e.finish(l, err) // before what belonged to the connection is forgotten, such as what was sent again
	if !l.pending && e.outlives(l, err) {
		l.fresh = false
	} else {
		l.hangUp()
	}
	l.free = e.now()
	e.release(l)
}

func (e *events) release(l *lane) {
	l.busy, l.pending, l.out = false, false, nil
	e.busy--
	e.free.push(l)
}

// broke is the end of a request's attempt, and mostly of the connection that it was on.
func (e *events) broke(l *lane, err error) {
	if !e.mayRepeat(l, err) {
		e.fail(l, err)
		return
	}
	kept := e.outlives(l, err)
	if !kept {
		l.hangUp()
	}
	if err := e.again(l); err != nil {
		e.fail(l, err)
		return
	}
	if kept {
		e.flush(l)
	} else {
		e.connect(l)
	}
}

// watch asks epoll for events on l.
func (e *events) watch(l *lane, what uint32) {
	if l.watched == what {
		return
	}
	op := unix.EPOLL_CTL_MOD
	if l.watched == 0 {
		op = unix.EPOLL_CTL_ADD
	}
	l.watched = what
	e.control(l, op)
}

// control tells epoll what to watch l for. It tells at once what of that is there, whether it has told it or not.
//
// Subtle: Fd is handed back as it is, so it carries the lane's number. Nothing is
// ever taken out: the kernel does that when the socket is closed.
func (e *events) control(l *lane, op int) {
	_ = unix.EpollCtl(e.ep, op, l.fd, &unix.EpollEvent{Events: l.watched | e.edges, Fd: int32(l.number)})
}

// alarm notes when l's time runs out.
func (e *events) alarm(l *lane) {
	l.wake = l.by
	if l.timer != nil {
		if at, ok := l.timer.deadline(); ok {
			l.wake = min(l.wake, at)
		}
	}
	if e.wake = min(e.wake, l.wake); e.busy == 1 {
		e.wake = l.wake // it may be later than that of a request that is over
	}
}

// sweep deals with lanes whose time has run out, and finds when the next one's does.
func (e *events) sweep(now time.Duration) {
	e.wake = now + time.Hour // where no lane is busy
	for _, l := range e.d.lanes {
		switch {
		case !l.busy:
			continue
		case now >= l.by:
			e.fail(l, errTimeout)
			continue
		case now >= l.wake && !l.pending:
			if l.timer != nil {
				if err := l.timer.expire(now); err != nil {
					e.fail(l, err)
					continue
				}
			}
			e.flush(l)
		}
		e.wake = min(e.wake, l.wake)
	}
}
