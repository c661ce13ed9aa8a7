package coap

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// A task is one datagram on its way through the endpoint, with all the room it
// needs. It is reused for the next.
type task struct {
	buf  []byte // the datagram is read into this
	from *peer

	in, out Message
	req     Request
	resp    Response
	path    []byte
	wire    []byte // the answer, if not empty

	memory *exchange
	turn   uint32
	began  time.Duration
	slot   int  // in endpoint.running
	acked  bool // the request has been acknowledged, its response goes separately

	block1, block2 Block
	has1, has2     bool
	upload         *transfer // holds the request's body

	changes  uint64    // of endpoint.changes, when the handler began
	observer *observer // registered by the request; its answer is the first notification
	notify   *observer // this is a later one
	stream   *signaler // over TCP; nil: datagrams
	whole    bool      // the response goes without blocks
	security *Security // OSCORE: of the request; nil: none
	bound    binding
}

func newTask(room int) *task { return &task{buf: make([]byte, room)} }

// meet takes a datagram as begin does, from an address. Not known: there is no room for a stranger.
func (ep *endpoint) meet(t *task, from netip.AddrPort, datagram []byte, now time.Duration) (handle, known bool) {
	err := t.in.Decode(datagram)
	ep.mu.Lock()
	defer ep.mu.Unlock()
	if t.from = ep.peerOf(from, now); t.from == nil {
		ep.s.Counts.Ignored.Add(1)
		return false, false
	}
	return ep.take(t, datagram, err, now), true
}

// begin takes a datagram from t.from. It leaves an answer in t.wire, or nothing,
// or says that the handler is to run and finish to be called after it.
func (ep *endpoint) begin(t *task, datagram []byte, now time.Duration) (handle bool) {
	err := t.in.Decode(datagram)
	ep.mu.Lock()
	defer ep.mu.Unlock()
	return ep.take(t, datagram, err, now)
}

// take is begin with the datagram decoded in t.in, if malformed is nil.
func (ep *endpoint) take(t *task, datagram []byte, malformed error, now time.Duration) (handle bool) {
	m := &t.in
	t.wire = t.wire[:0]
	if malformed != nil {
		ep.s.Counts.Malformed.Add(1)
		if malformed != ErrShort && malformed != ErrVersion && m.Type == Confirmable {
			t.wire = appendEmpty(t.wire, Reset, m.ID)
		}
		return false
	}
	if m.Type == Acknowledgement || m.Type == Reset {
		if !ep.settle(t.from, m.ID, m.Type == Reset) {
			ep.s.Counts.Ignored.Add(1)
		}
		return false
	}
	if !m.Code.request() { // a ping, or a response nobody asked for
		ep.s.Counts.Ignored.Add(1)
		if m.Type == Confirmable {
			t.wire = appendEmpty(t.wire, Reset, m.ID)
		}
		return false
	}
	if ep.repeated(t, datagram, now) {
		return false
	}
	return ep.accept(t, now)
}

// accept takes the request in t.in, which is no duplicate.
func (ep *endpoint) accept(t *task, now time.Duration) (handle bool) {
	t.whole = false
	if bad := ep.unseal(t); bad != 0 {
		ep.refuse(t, bad)
		return false
	}
	if bad := ep.acceptable(t); bad != 0 {
		ep.refuse(t, bad)
		return false
	}
	if !ep.assemble(t, now) {
		return false
	}
	ep.describe(t)
	ep.run(t, now)
	return true
}

// repeated answers a duplicate as before, or remembers the message:
// RFC 7252, section 4.5.
func (ep *endpoint) repeated(t *task, datagram []byte, now time.Duration) bool {
	hash := maphash.Bytes(ep.seed, datagram)
	if e := t.from.recall(t.in.ID, hash, now); e != nil {
		ep.s.Counts.Duplicates.Add(1)
		t.wire = append(t.wire, e.reply...)
		return true
	}
	t.memory = t.from.remember(t.in.ID, hash, now)
	t.turn = t.memory.turn
	t.acked = false
	return false
}

// acceptable checks the options: RFC 7252, sections 5.4.1, 5.7.2 and 5.10.8. A
// condition that is not honoured must not be passed over.
func (ep *endpoint) acceptable(t *task) Code {
	if _, bad := t.in.Sift(); bad {
		return BadOption
	}
	for i := range t.in.Options {
		switch t.in.Options[i].Number {
		case ProxyURI, ProxyScheme:
			return ProxyingNotSupported
		case IfMatch, IfNoneMatch, OSCORE:
			return BadOption
		}
	}
	return 0
}

// refuse answers without the handler. A non-confirmable request with a bad
// option is rejected, here by silence (RFC 7252, section 5.4.1).
func (ep *endpoint) refuse(t *task, code Code) {
	ep.s.Counts.Refused.Add(1)
	if t.in.Type == NonConfirmable && code == BadOption && t.stream == nil {
		return
	}
	ep.answer(t, code)
	if code == RequestEntityTooLarge {
		t.out.AddUint(Size1, uint32(ep.maxBody))
	}
	ep.encode(t)
}

// describe fills the request for the handler.
func (ep *endpoint) describe(t *task) {
	m := &t.in
	t.path = m.AppendParts(t.path[:0], URIPath, '/')
	n := len(t.path)
	t.path = m.AppendParts(t.path, URIQuery, '&')
	t.req.Method, t.req.Type = m.Code, m.Type
	t.req.Path, t.req.Query = t.path[:n:n], t.path[n:]
	t.req.Format, t.req.Accept = m.Format(ContentFormat), m.Format(Accept)
	t.req.From = t.from.addr
	if t.from.conn != nil {
		t.req.Peer = t.from.conn.RemoteAddr()
	}
	t.resp.Code, t.resp.Format, t.resp.Body = 0, NoFormat, t.resp.Body[:0]
}

// run notes that a handler is at work.
func (ep *endpoint) run(t *task, now time.Duration) {
	ep.s.Counts.Requests.Add(1)
	t.began, t.slot, t.changes = now, len(ep.running), ep.changes
	t.from.busy++
	ep.running = append(ep.running, t)
}

// finish makes the answer in t.wire from the handler's response.
func (ep *endpoint) finish(t *task, now time.Duration) {
	ep.mu.Lock()
	defer ep.mu.Unlock()
	last := len(ep.running) - 1
	ep.running[last].slot = t.slot
	ep.running[t.slot] = ep.running[last]
	ep.running[last] = nil
	ep.running = ep.running[:last]
	t.from.busy--
	if t.upload != nil {
		ep.recycle(t.upload)
		t.upload = nil
	}
	if t.resp.Code == 0 {
		t.resp.Code = defaultCode(t.in.Code)
	}
	t.observer = ep.register(t)
	ep.respond(t, now)
	t.observer = nil
	if t.acked {
		ep.track(t, now)
	}
}

func defaultCode(method Code) Code {
	switch method {
	case GET, FETCH:
		return Content
	case DELETE:
		return Deleted
	}
	return Changed
}

// answer begins the answer to t in t.out: piggybacked on the acknowledgement,
// confirmable if the acknowledgement has gone, or non-confirmable like its request.
func (ep *endpoint) answer(t *task, code Code) {
	m := &t.out
	m.Clear()
	m.Code, m.Token = code, t.in.Token
	switch {
	case t.stream != nil: // neither type nor ID
	case t.notify != nil:
		ep.notification(t.notify, m)
	case t.in.Type == NonConfirmable:
		m.Type, m.ID = NonConfirmable, t.from.nextID()
	case t.acked:
		m.Type, m.ID = Confirmable, t.from.nextID()
	default:
		m.Type, m.ID = Acknowledgement, t.in.ID
	}
}

// encode writes the answer and remembers it for duplicates of the request.
func (ep *endpoint) encode(t *task) {
	if t.security != nil {
		if err := t.security.protectResponse(&t.out, t.bound, false); err != nil {
			t.wire = t.wire[:0] // Note: cannot happen, a response takes its request's number
			return
		}
	}
	if t.stream != nil {
		t.wire = t.out.AppendStream(t.wire[:0])
		return
	}
	t.wire = t.out.Append(t.wire[:0])
	if t.out.Type == Acknowledgement && t.memory.turn == t.turn {
		t.memory.reply = append(t.memory.reply[:0], t.wire...)
	}
}
