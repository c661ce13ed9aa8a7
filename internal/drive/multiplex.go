package drive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// muxWire is a lane's stream on the connection that all lanes share.
type muxWire struct {
	untimed
	grpc   bool
	buf    []byte
	id     uint32
	stream http2Stream
	body   []byte // of the request, not yet framed
	ended  bool   // the request was framed whole
}

func (w *muxWire) headroom() int {
	if w.grpc {
		return grpcPrefix
	}
	return 0
}

func (w *muxWire) start(buf []byte, _ time.Duration) error { w.buf, w.id = buf, 0; return nil }
func (w *muxWire) reply() (int, []byte)                    { return w.stream.reply(w.grpc) }

// The rest of a wire is of no use to it: the multiplexer moves the bytes.
func (w *muxWire) next() []byte                         { return nil }
func (w *muxWire) space() []byte                        { return nil }
func (w *muxWire) got(int, time.Duration) (bool, error) { return false, errors.ErrUnsupported }
func (w *muxWire) closed() error                        { return io.EOF }
func (w *muxWire) reusable() bool                       { return true }

// A multiplexer sends requests over one HTTP/2 connection, each on a stream of
// its own, and takes the responses in whatever order they come. A lane is a
// place in flight. Frames are made and read by an http2Wire, into which the
// stream that a frame is of is put before and taken out of after.
type multiplexer struct {
	events
	w       *http2Wire
	fd      int // -1: none
	opened  uint32
	flight  map[uint32]*lane
	waiting []*lane // begun, but the server takes no more streams
	most    int     // streams that the server takes
	out     []byte  // being sent
}

// firstStreams is how many streams are opened before the server has said how
// many it takes; RFC 9113, section 6.5.2, recommends that it takes so many.
const firstStreams = 100

var errReset = errors.New("the stream was reset")

// multiplexed drives with as many requests in flight as there are lanes.
func (r *run) multiplexed() {
	lanes := r.d.lanes
	m := &multiplexer{events: events{run: r, free: ring{lanes: make([]*lane, len(lanes))}}, fd: lanes[0].fd,
		w: r.d.shared, flight: map[uint32]*lane{}, most: r.d.most, opened: r.d.opened}
	if !m.w.begun {
		m.fresh()
	}
	for _, l := range lanes {
		m.free.push(l)
	}
	m.loop()
	lanes[0].fd, r.d.most, r.d.opened = m.fd, m.most, m.opened
}

func (m *multiplexer) loop() {
	for !m.stop.Load() {
		due := m.begin(m.send)
		m.open()
		if len(m.flight)+len(m.waiting) == 0 && m.over {
			m.flush()
			return
		}
		m.flush()
		m.await(due)
		m.take()
		m.sweep()
	}
	m.fail(errStopped)
}

func (m *multiplexer) send(l *lane, due, now time.Duration) {
	if err := m.beginRequest(l, m.seq, due, now); err != nil {
		m.done(l, err)
		return
	}
	m.waiting = append(m.waiting, l)
}

// open opens streams for those that wait, as many as the server takes. A server
// that goes away answers what it took up; what comes after finds another connection.
func (m *multiplexer) open() {
	for len(m.waiting) > 0 && len(m.flight) < m.most {
		if m.w.goingAway || m.opened > http2Most-2 {
			if len(m.flight) > 0 {
				return
			}
			m.hangUp()
		}
		if m.fd < 0 {
			m.countConnect()
			raw, err := openRaw(&m.pacer, m.d.target, m.waiting[0].by)
			if err == nil {
				m.fd = raw.fd
				err = unix.SetNonblock(m.fd, true)
			}
			if err != nil {
				m.fail(fmt.Errorf("connect: %w", err))
				return
			}
		}
		l := m.waiting[0]
		m.waiting = m.waiting[:copy(m.waiting, m.waiting[1:])]
		s := l.wire.(*muxWire)
		m.w.stream, m.w.last = s.stream, m.opened
		_ = m.w.start(s.buf, 0)
		m.opened = m.w.last
		s.id = m.opened
		m.flight[s.id] = l
		m.save(l)
	}
}

// load puts the stream of a frame into the wire: that of a lane, or nobody's.
func (m *multiplexer) load(id uint32) *lane {
	l := m.flight[id]
	if l == nil {
		m.w.last, m.w.stream, m.w.body, m.w.ended = 0, http2Stream{whole: true}, nil, true
		return nil
	}
	s := l.wire.(*muxWire)
	m.w.last, m.w.stream, m.w.body, m.w.ended = s.id, s.stream, s.body, s.ended
	return l
}

func (m *multiplexer) save(l *lane) {
	s := l.wire.(*muxWire)
	s.stream, s.body, s.ended = m.w.stream, m.w.body, m.w.ended
}

// flush sends what there is room for.
func (m *multiplexer) flush() {
	for m.fd >= 0 {
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
			m.fail(no)
			return
		}
		m.out = m.out[n:]
	}
}

// await returns when there is something to receive or send, or a request is due.
func (m *multiplexer) await(due time.Duration) {
	if m.fd < 0 {
		return
	}
	now := m.now()
	until, spins := now+longestWait, false
	for _, l := range m.flight {
		until = min(until, l.by)
	}
	if due > 0 && due <= until {
		if until = due - spinWindow; until <= now {
			spins, until = true, now
		}
	}
	var what int16 = unix.POLLIN
	if len(m.out)+len(m.w.out) > 0 {
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
		m.fail(io.EOF)
		return
	}
	w := m.w
	w.n += n
	at := 0
	for w.n-at >= http2HeaderBytes {
		h := w.in[at:]
		size := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
		if size > http2Frame {
			m.fail(fmt.Errorf("HTTP/2: a frame of %d bytes, %d were allowed", size, http2Frame))
			return
		}
		if w.n-at < http2HeaderBytes+size {
			break
		}
		if err := m.frame(h[3], h[4], binary.BigEndian.Uint32(h[5:])&http2Most, h[http2HeaderBytes:http2HeaderBytes+size], now); err != nil {
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
	if l != nil {
		l.bytes = true
	}
	switch {
	case stream > m.opened && kind != framePush:
		return fmt.Errorf("a frame of stream %d, which nobody opened", stream)
	case kind == frameReset && l != nil && len(b) == 4 && m.w.headersOf == 0:
		m.end(l, fmt.Errorf("%w by the server with code %d", errReset, binary.BigEndian.Uint32(b)))
		return nil
	}
	perStream := m.w.perStream
	if err := m.w.take(kind, flags, stream, b); err != nil {
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
func (m *multiplexer) connectionFrame(kind, flags byte, b []byte, more int64) {
	switch {
	case kind == frameSettings && flags&flagAck == 0:
		for ; len(b) >= 6; b = b[6:] {
			if binary.BigEndian.Uint16(b) == settingStreams {
				m.most = int(min(binary.BigEndian.Uint32(b[2:]), http2Most))
			}
		}
	case kind == frameGoAway:
		// What the server did not take up goes again (RFC 9113, section 6.8).
		last := binary.BigEndian.Uint32(b) & http2Most
		for id := m.after(last); id != 0; id = m.after(last) {
			m.waiting = append(m.waiting, m.flight[id])
			delete(m.flight, id)
		}
		return
	case kind != frameWindow:
		return
	}
	// In the order in which they were opened: none may starve the others.
	for id := m.oldest(); id != 0; id = m.after(id) {
		l := m.load(id)
		m.w.stream.window += more
		m.w.fill()
		m.save(l)
	}
}

func (m *multiplexer) oldest() uint32 { return m.after(0) }

// after is the next stream in flight, 0 if there is none.
func (m *multiplexer) after(id uint32) uint32 {
	next := uint32(0)
	for other := range m.flight {
		if other > id && (next == 0 || other < next) {
			next = other
		}
	}
	return next
}

func (m *multiplexer) reset(stream uint32) {
	m.w.out = binary.BigEndian.AppendUint32(appendFrame(m.w.out, 4, frameReset, 0, stream), resetCancel)
}

// sweep gives up the requests whose time is over; the others go on.
func (m *multiplexer) sweep() {
	now := m.now()
	for id, l := range m.flight {
		if now >= l.by {
			m.reset(id)
			m.end(l, errTimeout)
		}
	}
	for i := 0; i < len(m.waiting); i++ {
		if l := m.waiting[i]; now >= l.by {
			m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
			i--
			m.done(l, errTimeout)
		}
	}
}

// end is that of a stream.
func (m *multiplexer) end(l *lane, err error) {
	delete(m.flight, l.wire.(*muxWire).id)
	m.done(l, err)
}

func (m *multiplexer) done(l *lane, err error) {
	m.finish(l, err)
	m.free.push(l)
}

// fail ends the connection and every request on it, or on its way to it. An
// idle connection that the server closed concerns nobody.
func (m *multiplexer) fail(err error) {
	m.hangUp()
	for id := m.oldest(); id != 0; id = m.oldest() {
		m.end(m.flight[id], err)
	}
	if err == io.EOF {
		return // those that wait find another connection
	}
	for _, l := range m.waiting {
		m.done(l, err)
	}
	m.waiting = m.waiting[:0]
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
	m.out, m.opened, m.most = m.out[:0], 0, firstStreams
}
