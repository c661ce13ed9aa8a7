package drive

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// muxStream is a lane's stream on the connection that all lanes share.
type muxStream struct {
	grpc   bool
	buf    []byte
	id     uint32 // 0: none is open
	conn   *http2Conn
	stream http2Stream
	body   []byte // of the request, not yet framed
	ended  bool   // the request was framed whole
	queued bool   // the body waits for the connection's window
}

func (w *muxStream) headroom() int {
	if w.grpc {
		return grpcPrefix
	}
	return 0
}

func (w *muxStream) start(buf []byte, _ time.Duration) error { w.buf, w.id = buf, 0; return nil }
func (w *muxStream) reply() (int, []byte)                    { return w.stream.reply(w.grpc) }
func (w *muxStream) fault() error                            { return w.stream.fault(w.grpc, w.conn.secrets) }
func (w *muxStream) leaving() string                         { return w.conn.leaving() }
func (w *muxStream) guess() string                           { return w.conn.guess() }

// A muxConn is the connection that all lanes share; it outlives a run.
type muxConn struct {
	w      *http2Conn // its current stream is the one that a frame is of
	opened uint32     // the last stream
	most   int        // streams that the server takes
	known  int        // streams that it took on the connection before; 0: there was none
}

// A multiplexer sends requests over one HTTP/2 connection, each on a stream of
// its own, and takes the responses in whatever order they come. A lane is a
// place in flight. Frames are made and read by an http2Conn, into which the
// stream that a frame is of is put before and taken out of after.
//
// What it does at an event depends on the event, not on how much is in flight:
// requests stand in the order in which they were begun, so that the first one's
// time runs out first, and only bodies that wait for the connection's window
// are looked at when it opens.
type multiplexer struct {
	events
	*muxConn
	fd      int // -1: none
	streams []*muxStream
	order   queue  // begun and not over, the oldest first
	waiting ring   // begun, but the server takes no more streams; the oldest first
	held    uint64 // requests up to this one found no stream when they were begun
	flight  map[uint32]*lane
	blocked []*lane // bodies that wait for the connection's window
	out     []byte  // being sent
	broken  error   // why nothing more can be sent; what was answered before is still to be received
}

// firstStreams is how many streams are opened before the server has said, here or on the
// connection before, how many it takes; RFC 9113, section 6.5.2, recommends that it takes no fewer.
const firstStreams = 100

// multiplexed drives with as many requests in flight as there are lanes.
func (r *run) multiplexed() {
	m := newMultiplexer(r)
	if m.fd >= 0 {
		if !m.w.begun { // our preface goes before what answers the server's
			m.w.begin()
		}
		m.take() // what came since the run before: it may be closed
	}
	m.loop()
	r.d.lanes[0].fd = m.fd
}

func newMultiplexer(r *run) *multiplexer {
	lanes := r.d.lanes
	if r.d.mux == nil {
		r.d.mux = &muxConn{w: newHTTP2Conn(r.d.Spec, r.d.scheme, r.d.host, r.d.path)}
	}
	m := &multiplexer{events: events{run: r, free: newRing(len(lanes))}, muxConn: r.d.mux, fd: lanes[0].fd,
		waiting: newRing(len(lanes)), order: newQueue(len(lanes)), flight: make(map[uint32]*lane, len(lanes))}
	lanes[0].fd = -1
	if !m.w.begun {
		m.fresh()
	}
	for _, l := range lanes {
		s := l.stream.(*muxStream)
		s.conn = m.w
		m.streams = append(m.streams, s)
		m.free.push(l)
	}
	return m
}

func (m *multiplexer) loop() {
	for !m.stop.Load() {
		due := m.begin(m.send)
		m.open()
		if m.waiting.n > 0 {
			m.held = m.waiting.get(m.waiting.n - 1).seq
		}
		if m.order.empty() && m.over {
			m.flush()
			return
		}
		m.flush()
		m.await(due)
		m.take()
		m.sweep()
	}
	m.failAll(errStopped)
}

// of is a lane's stream.
func (m *multiplexer) of(l *lane) *muxStream { return m.streams[l.number] }

func (m *multiplexer) send(l *lane, due, now time.Duration) {
	if err := m.beginRequest(l, m.seq, due, now); err != nil {
		m.finish(l, err)
		m.free.push(l)
		return
	}
	m.order.push(l)
	m.waiting.push(l)
}

// open opens streams for those that wait, as many as the server takes. A server
// that goes away answers what it took up; what comes after finds another connection.
func (m *multiplexer) open() {
	for m.waiting.n > 0 && len(m.flight) < m.most && m.broken == nil {
		if m.w.goingAway || m.opened > http2Most-2 {
			if len(m.flight) > 0 {
				return
			}
			m.hangUp()
		}
		if m.fd < 0 {
			if err := m.connect(m.waiting.head().by); err != nil {
				m.failAll(fmt.Errorf("connect: %w", err))
				return
			}
		}
		l := m.waiting.head()
		m.waiting.pop()
		if l.seq <= m.held { // what it waited for a stream is no part of its RTT, as what a connection took to be made
			l.opening = time.Duration(l.row.sent)
			m.run.opened(l)
		}
		s := m.of(l)
		m.w.stream, m.w.last = s.stream, m.opened
		_ = m.w.start(s.buf, 0)
		m.opened = m.w.last
		s.id, l.written = m.opened, true
		m.flight[s.id] = l
		m.save(l)
	}
}

func (m *multiplexer) connect(by time.Duration) error {
	m.countConnect()
	began := m.now()
	raw, err := openRaw(&m.pacer, m.d.target, by)
	if err != nil {
		return err
	}
	for i := range m.waiting.n { // all of them wait for it
		l := m.waiting.get(i)
		l.opening = began
		m.run.opened(l)
	}
	m.fd = raw.fd
	return unix.SetNonblock(m.fd, true)
}

// load puts the stream of a frame into the connection: that of a lane, or nobody's.
func (m *multiplexer) load(id uint32) *lane {
	l := m.flight[id]
	if l == nil {
		m.w.last, m.w.stream, m.w.body, m.w.ended = 0, http2Stream{whole: true}, nil, true
		return nil
	}
	s := m.of(l)
	m.w.last, m.w.stream, m.w.body, m.w.ended = s.id, s.stream, s.body, s.ended
	return l
}

// save takes it out again. A body that only the connection's window holds back
// queues for it.
func (m *multiplexer) save(l *lane) {
	s := m.of(l)
	s.stream, s.body, s.ended = m.w.stream, m.w.body, m.w.ended
	if !s.ended && s.stream.window > 0 && !s.queued {
		s.queued = true
		m.blocked = append(m.blocked, l)
	}
}

// flush sends what there is room for.
func (m *multiplexer) flush() {
	for m.fd >= 0 && m.broken == nil {
		if len(m.out) == 0 {
			if len(m.w.out) == 0 {
				return
			}
			m.out, m.w.out, m.w.spare = m.w.out, m.w.spare[:0], m.w.out
		}
		n, no := send(m.fd, m.out, 0)
		if no == syscall.EAGAIN {
			return
		}
		if no != 0 {
			m.broken = no
			return
		}
		m.out = m.out[n:]
	}
}

// await returns when there is something to receive or send, or a request is
// due. Without a connection it only sleeps: nothing can come.
func (m *multiplexer) await(due time.Duration) {
	now := m.now()
	until, spins := now+longestWait, false
	if l := m.order.first(); l != nil {
		until = min(until, l.by)
	}
	if due > 0 && due <= until {
		if until = due - spinWindow; until <= now {
			spins, until = true, now
		}
	}
	var what int16 = unix.POLLIN
	if len(m.out)+len(m.w.out) > 0 && m.broken == nil {
		what |= unix.POLLOUT
	}
	if !poll(m.fd, what, until-now) && spins {
		m.spun += m.now() - now
	}
}

// take receives once and reads the frames that are whole.
func (m *multiplexer) take() {
	if m.fd < 0 {
		return
	}
	n, no := receive(m.fd, m.w.space(), unix.MSG_DONTWAIT)
	now := m.now()
	switch {
	case no == syscall.EAGAIN:
		return
	case no != 0:
		m.fail(no)
		return
	case n == 0:
		m.fail(cmp.Or(m.broken, io.EOF))
		return
	}
	w := m.w
	w.n += n
	if err := w.otherProtocol(); err != nil {
		m.fail(err)
		return
	}
	at := 0
	for w.n-at >= http2HeaderBytes {
		h := w.in[at:]
		size := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
		if size > http2Frame {
			m.fail(fmt.Errorf("HTTP/2: %w", w.frameFault(h, size)))
			return
		}
		if w.n-at < http2HeaderBytes+size {
			break
		}
		id, payload := binary.BigEndian.Uint32(h[5:])&http2Most, h[http2HeaderBytes:http2HeaderBytes+size]
		if err := m.frame(h[3], h[4], id, payload, now); err != nil {
			m.fail(fmt.Errorf("HTTP/2: %w", err))
			return
		}
		at += http2HeaderBytes + size
	}
	w.n = copy(w.in, w.in[at:w.n])
}

// frame reads one; an error is the connection's end.
func (m *multiplexer) frame(kind, flags byte, stream uint32, b []byte, now time.Duration) error {
	l := m.load(stream)
	idle := stream > m.opened && kind <= frameContinuation && kind != framePriority
	switch {
	case idle && kind != framePush:
		return fmt.Errorf("a frame of stream %d, which was not opened", stream)
	case kind == frameReset && l != nil && len(b) == 4 && m.w.headersOf == 0:
		m.wasReset(l, m.w.stream.reset(binary.BigEndian.Uint32(b)))
		return nil
	}
	perStream := m.w.perStream
	err := m.w.take(kind, flags, stream, b)
	if l != nil {
		l.bytes = m.w.answering()
	}
	if ofStream(err) && l != nil {
		if long := errors.As(err, new(tooLargeError)); long || !m.w.ended {
			m.reset(stream)
		}
		m.end(l, fmt.Errorf("HTTP/2: %w", err))
		return nil
	}
	if err != nil {
		return err
	}
	if l == nil {
		m.connectionFrame(kind, flags, b, m.w.perStream-perStream)
		return nil
	}
	if m.w.stream.whole && !m.w.ended { // answered before it was all sent: the rest is not wanted
		m.reset(stream)
		m.w.ended, m.w.body = true, nil
	}
	m.save(l)
	if m.w.stream.whole {
		l.row.done = int64(now)
		m.end(l, nil)
	}
	return nil
}

// connectionFrame does for all streams what a frame of the connection asks for.
// more is what the settings add to every stream's window.
func (m *multiplexer) connectionFrame(kind, flags byte, b []byte, more int64) {
	switch {
	case kind == frameSettings && flags&flagAck == 0:
		for ; len(b) >= 6; b = b[6:] {
			if binary.BigEndian.Uint16(b) == settingStreams {
				m.most = int(min(binary.BigEndian.Uint32(b[2:]), http2Most))
				m.known = m.most
			}
		}
		if more != 0 {
			for _, id := range m.after(0) {
				l := m.load(id)
				m.w.stream.window += more
				m.save(l)
			}
		}
		m.fill()
	case kind == frameWindow:
		m.fill()
	case kind == frameGoAway:
		m.untaken(binary.BigEndian.Uint32(b)&http2Most, binary.BigEndian.Uint32(b[4:]))
	}
}

// fill frames more of the bodies that waited for the connection's window, in the
// order in which they came to wait: none may starve the others.
func (m *multiplexer) fill() {
	done := 0
	for _, l := range m.blocked {
		s := m.of(l)
		if s.id != 0 && !s.ended { // else it is over
			if m.w.window <= 0 {
				break
			}
			m.load(s.id)
			m.w.fill()
			m.save(l)
			if !s.ended && s.stream.window > 0 {
				break // the connection's window is used up
			}
		}
		s.queued = false
		done++
	}
	m.blocked = slices.Delete(m.blocked, 0, done)
}

func (m *multiplexer) reset(stream uint32) {
	m.w.out = binary.BigEndian.AppendUint32(appendFrame(m.w.out, 4, frameReset, 0, stream), resetCancel)
}

// sweep gives up the requests whose time is over; the others go on. All have
// the same timeout, so those begun first are first.
func (m *multiplexer) sweep() {
	now := m.now()
	for l := m.order.first(); l != nil && now >= l.by; l = m.order.first() {
		if s := m.of(l); s.id != 0 {
			m.reset(s.id)
			m.end(l, errTimeout)
			continue
		}
		m.waiting.pop() // Subtle: it is in the same order
		m.settle(l, errTimeout)
	}
}

// end is that of a stream.
func (m *multiplexer) end(l *lane, err error) {
	s := m.of(l)
	delete(m.flight, s.id)
	s.id = 0
	m.settle(l, err)
}

// settle is the end of a request.
func (m *multiplexer) settle(l *lane, err error) {
	m.order.remove(l)
	m.finish(l, err)
	m.free.push(l)
}

// fail ends the connection and every request on it. An idle connection that the server closed concerns nobody, and
// those that wait for a stream find another connection.
func (m *multiplexer) fail(err error) {
	for _, id := range m.after(0) {
		m.end(m.flight[id], err) // before what the server said of the end is forgotten
	}
	m.hangUp()
}

// failAll is fail where no other connection can be found.
func (m *multiplexer) failAll(err error) {
	m.fail(err)
	for ; m.waiting.n > 0; m.waiting.pop() {
		m.settle(m.waiting.head(), err)
	}
}

func (m *multiplexer) hangUp() {
	if m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
	m.fresh()
}

// fresh: the next stream is the first of a new connection.
func (m *multiplexer) fresh() {
	m.w.hungUp()
	m.broken = nil
	m.out, m.opened, m.most = m.out[:0], 0, firstStreams
	if m.known > 0 {
		m.most = min(m.most, m.known)
	}
	for _, l := range m.blocked {
		m.of(l).queued = false
	}
	m.blocked = m.blocked[:0]
}
