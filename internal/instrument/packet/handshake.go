package packet

import (
	"encoding/binary"
	"math"
	"slices"
)

// A tlsWatch follows a connection's TLS records as long as it shakes hands. Nothing
// is decrypted: TLS 1.3 hides its handshake in records that say "application
// data", so the client's Finished is known by its length, which the cipher
// suite fixes (RFC 8446, sections 4.4.4 and 5.2).
type tlsWatch struct {
	state    tlsState
	why      string // of tlsFailed
	hello    bool   // the server's was seen
	is13     bool
	finished int // bytes of the client's Finished record
	tag      int // bytes of the cipher's tag
	hidden   int // client records that were not its Finished
	appFrom  int64
	client   recordWalker
	server   recordWalker
	sent     recordEnds // of the client's application data
	ended    bool       // a handshake record was complete
}

type tlsState uint8

const (
	tlsUnknown tlsState = iota // no data yet
	tlsNone                    // plain TCP
	tlsHandshaking
	tlsDone
	tlsFailed // cannot be followed
)

func (t *tlsWatch) fail(why string) { t.state, t.why = tlsFailed, why }

// visible returns how many bytes before offset end of the client's stream are
// application data.
func (t *tlsWatch) visible(end int64) int64 {
	switch t.state {
	case tlsHandshaking, tlsFailed:
		return 0
	case tlsDone:
		return max(end-t.appFrom, 0)
	}
	return math.MaxInt64
}

// closes says whether a client segment looks like the closing alert.
func (t *tlsWatch) closes(s *segment) bool {
	if t.state != tlsDone || len(s.data) < 5 {
		return false
	}
	n := int(binary.BigEndian.Uint16(s.data[3:]))
	// In TLS 1.3 it hides in a record of type 23: 2 B of alert, the true type, the tag.
	return s.data[0] == 21 || t.is13 && s.data[0] == 23 && n == 3+t.tag && s.payload == 5+n
}

// handshake follows the TCP and the TLS handshake.
func (c *conn) handshake(h *half, p *Packet, s *segment, fromClient bool) {
	if fromClient && s.flags&synFlag != 0 {
		c.synAt = p.At
	}
	if !c.established && fromClient && s.flags&(ackFlag|synFlag) == ackFlag && c.srv.begun && !c.srv.midway &&
		c.srv.number(s.ack) >= 1 {
		c.established = true
		c.rtt = p.At - c.synAt
		c.handshakeEnds(p, s, s.payload)
	}
	if s.payload == 0 || c.Partial || c.tls.state == tlsNone || c.tls.state >= tlsDone {
		return
	}
	from := h.number(s.seq)
	if s.flags&synFlag != 0 {
		from++
	}
	c.tls.detect(s, from, fromClient)
	if c.tls.state != tlsHandshaking {
		return
	}
	w := &c.tls.server
	if fromClient {
		w = &c.tls.client
	}
	w.feed(from, s.data, s.payload, func(r record) bool {
		c.onRecord(r, fromClient)
		if c.tls.ended {
			c.tls.ended = false
			c.handshakeEnds(p, s, int(max(from+int64(s.payload)-r.end, 0)))
		}
		return c.tls.state == tlsHandshaking
	})
	if w.broken != "" && c.tls.state == tlsHandshaking {
		c.tls.fail(w.broken)
	}
}

// handshakeEnds notes that the handshake reaches at least to this segment, of
// which app bytes are not part of it.
func (c *conn) handshakeEnds(p *Packet, s *segment, app int) {
	c.HandshakeTime = p.At - c.Start
	c.HandshakeBytes = c.WireBytes() - int64(min(app, s.payload))
}

// detect decides by the first bytes of the client whether this is TLS.
func (t *tlsWatch) detect(s *segment, from int64, fromClient bool) {
	if t.state != tlsUnknown {
		return
	}
	d := s.data
	switch {
	// A client begins with a handshake record (22), any version 3.x, a ClientHello (1).
	case !fromClient, from == 1 && (len(d) < 6 || d[0] != 22 || d[1] != 3 || d[5] != 1):
		t.state = tlsNone
	case from == 1:
		t.state = tlsHandshaking
		t.client.pos, t.server.pos = 1, 1
		t.server.collect = true
	default: // out of order; keep it for later
		t.client.keep(from, d, s.payload)
	}
}

func (c *conn) onRecord(r record, fromClient bool) {
	t := &c.tls
	switch {
	case r.typ == 23 && !r.whole:
		t.onHidden(r, fromClient)
	case !r.whole:
	case r.typ == 20 || r.typ == 22:
		t.ended = true
		if r.typ == 22 && !fromClient && !t.hello {
			t.serverHello(r.body)
			t.server.collect = false
		}
	case r.typ == 23 && fromClient && t.is13 && r.length == t.finished:
		t.ended, t.state, t.appFrom = true, tlsDone, r.end
		t.sent = recordEnds{next: r.end}
	}
}

// onHidden meets the header of an application data record.
func (t *tlsWatch) onHidden(r record, fromClient bool) {
	switch {
	case !t.hello:
		t.fail("application data before the server's hello (0-RTT)")
	case !t.is13:
		t.state, t.appFrom = tlsDone, r.start
		if !fromClient {
			t.appFrom = t.client.pos
		}
	case fromClient && r.length != t.finished:
		if t.hidden++; t.hidden > 4 {
			t.fail("the client's Finished cannot be distinguished from its other records")
		}
	}
}

// serverHello reads version and cipher suite, RFC 8446, section 4.1.3.
func (t *tlsWatch) serverHello(b []byte) {
	const bad = "the server's hello cannot be read"
	if len(b) < 39 || b[0] != 2 {
		t.fail(bad)
		return
	}
	b = b[38:] // message header, version and random; the session id follows
	if n := 1 + int(b[0]); len(b) < n+3 {
		t.fail(bad)
		return
	} else {
		b = b[n:]
	}
	suite := binary.BigEndian.Uint16(b)
	t.hello, t.is13 = true, hasVersion13(b[3:])
	if !t.is13 {
		return
	}
	hash, tag := 32, 16
	switch suite {
	case 0x1302: // AES-256-GCM-SHA384
		hash = 48
	case 0x1305: // AES-128-CCM-8-SHA256
		tag = 8
	case 0x1301, 0x1303, 0x1304:
	default:
		t.fail("an unknown cipher suite")
		return
	}
	t.finished, t.tag = 4+hash+1+tag, tag // message header, verify data, the true type, tag
}

func hasVersion13(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	for b = b[2:]; len(b) >= 4; {
		typ, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if typ == 43 && n == 2 && len(b) >= 6 {
			return binary.BigEndian.Uint16(b[4:]) == 0x0304
		}
		b = b[min(4+n, len(b)):]
	}
	return false
}

func (c *conn) finishHandshake() {
	t := &c.tls
	switch {
	case !c.established:
		c.NoHandshake = "the handshake did not complete"
	case t.state == tlsFailed:
		c.NoHandshake = t.why
	case t.state == tlsHandshaking:
		c.NoHandshake = "no application data followed the handshake"
	}
	if t.hello && t.is13 {
		c.Security = "TLS 1.3"
	} else if t.hello {
		c.Security = "TLS 1.2"
	}
}

// A recordEnds follows where one direction's TLS records end. Only headers are
// read; where one is not whole in its segment, nothing is known from there on.
type recordEnds struct {
	next int64 // where the next header begins; 0: not known
}

// mid says whether a byte of the stream belongs to a record that began before it.
func (e recordEnds) mid(at int64) bool { return at < e.next }

// follow takes the client's next segment.
func (t *tlsWatch) follow(from int64, s *segment) {
	e := &t.sent
	if e.next == 0 || e.next < from { // a segment came before its turn, or is lost
		if e.next > 0 && from > e.next {
			e.next = 0
		}
		return
	}
	for e.next < from+int64(s.payload) {
		at := int(e.next - from)
		if at+5 > len(s.data) {
			e.next = 0
			return
		}
		e.next += 5 + int64(binary.BigEndian.Uint16(s.data[at+3:]))
	}
}

// A record is one TLS record, seen twice: when its header is known, and when
// its last byte has passed.
type record struct {
	typ        byte
	length     int // without the header
	start, end int64
	whole      bool
	body       []byte // if collected
}

// A recordWalker finds the records in one direction's stream, in order.
type recordWalker struct {
	pos     int64 // next byte of the stream
	head    []byte
	cur     record
	left    int // bytes of the body to come
	collect bool
	later   []piece
	broken  string
}

// A piece is a segment that came before its turn.
type piece struct {
	from int64
	data []byte
	wire int
}

func (w *recordWalker) keep(from int64, data []byte, wire int) {
	if len(w.later) < 64 { // no capture makes us keep more
		w.later = append(w.later, piece{from, slices.Clone(data), wire})
	}
}

// feed takes wire bytes of the stream from offset from on, of which data was
// captured, and calls emit until it says false.
func (w *recordWalker) feed(from int64, data []byte, wire int, emit func(record) bool) {
	if from > w.pos {
		w.keep(from, data, wire)
		return
	}
	more := w.walk(piece{from, data, wire}, emit)
	for i := 0; more && i < len(w.later); i++ {
		if l := w.later[i]; l.from <= w.pos {
			w.later = slices.Delete(w.later, i, i+1)
			more = w.walk(l, emit)
			i = -1
		}
	}
}

func (w *recordWalker) walk(p piece, emit func(record) bool) bool {
	skip := w.pos - p.from
	if skip >= int64(p.wire) {
		return true
	}
	data, wire := p.data[min(int(skip), len(p.data)):], p.wire-int(skip)
	take := func(n int) []byte {
		b := data[:min(n, len(data))]
		data, wire, w.pos = data[len(b):], wire-n, w.pos+int64(n)
		return b
	}
	for wire > 0 {
		if w.left == 0 {
			n := min(5-len(w.head), wire)
			b := take(n)
			if len(b) < n {
				w.broken = "the snaplen truncated a TLS record header"
				return false
			}
			if w.head = append(w.head, b...); len(w.head) < 5 {
				return true
			}
			if !w.begin() || !emit(w.cur) {
				return false
			}
		}
		n := min(w.left, wire)
		b := take(n)
		if w.collect {
			if len(b) < n {
				w.broken = "the snaplen truncated the server's hello"
				return false
			}
			w.cur.body = append(w.cur.body, b...)
		}
		if w.left -= n; w.left == 0 {
			w.cur.whole = true
			if !emit(w.cur) {
				return false
			}
		}
	}
	return true
}

// begin reads the header of the next record, RFC 8446, section 5.1.
func (w *recordWalker) begin() bool {
	h := w.head
	n := int(binary.BigEndian.Uint16(h[3:]))
	if h[0] < 20 || h[0] > 24 || h[1] != 3 || n > 1<<14+2048 {
		w.broken = "not TLS records"
		return false
	}
	w.cur = record{typ: h[0], length: n, start: w.pos - 5, end: w.pos + int64(n)}
	w.head, w.left = h[:0], n
	return true
}
