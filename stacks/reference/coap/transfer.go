package coap

import (
	"bytes"
	"hash/maphash"
	"slices"
	"time"
)

// A transfer is a body of which only a part has crossed: a request's that is
// coming in, or a response's that is being fetched.
type transfer struct {
	peer   *peer
	key    uint64 // which request: see key
	body   []byte
	room   int // cap(body) as counted in endpoint.held
	at     time.Duration
	served bool // the last block has been fetched

	code       Code // of a response, as the next two
	format     Format
	tag        [4]byte
	prev, next *transfer
}

const (
	maxPerPeer = 8
	// stale is the idleness after which another body may take a transfer's
	// place: a live client has sent or repeated its next block by then (ACK_TIMEOUT × ACK_RANDOM_FACTOR).
	stale = 3 * time.Second
	// maxKept is the largest buffer kept for reuse, in bytes.
	maxKept = 1 << 20
)

// assemble takes the block options of a request apart. It says whether the
// request is whole and the handler is to run; else the answer is made.
func (ep *endpoint) assemble(t *task, now time.Duration) (whole bool) {
	m := &t.in
	t.block1, t.has1 = m.Block(Block1)
	t.block2, t.has2 = m.Block(Block2)
	if t.has1 && !t.block1.Valid() || t.has2 && !t.block2.Valid() {
		ep.refuse(t, BadRequest)
		return false
	}
	if len(m.Payload) > ep.maxBody {
		ep.refuse(t, RequestEntityTooLarge)
		return false
	}
	t.req.Body = m.Payload
	if t.has1 {
		return ep.receiveBlock(t, now)
	}
	if t.has2 && t.block2.Num > 0 {
		return ep.fetchBlock(t, now)
	}
	return true
}

// receiveBlock takes one block of a request's body: RFC 7959, sections 2.3 to 2.5.
func (ep *endpoint) receiveBlock(t *task, now time.Duration) (whole bool) {
	b, p := t.block1, t.in.Payload
	announced, _ := t.in.Uint(Size1)
	if len(p) > b.Size() || b.More && len(p) != b.Size() {
		ep.refuse(t, BadRequest)
		return false
	}
	key := ep.key(&t.in, true)
	tr := t.from.find(key)
	if int64(announced) > int64(ep.maxBody) || b.Offset()+len(p) > ep.maxBody {
		if tr != nil {
			ep.drop(tr)
		}
		ep.refuse(t, RequestEntityTooLarge)
		return false
	}
	if b.Num == 0 {
		if tr != nil {
			ep.drop(tr) // the client begins anew
		}
		if !b.More {
			return true
		}
		tr = ep.open(t.from, key, len(p), now)
		if tr == nil {
			ep.refuse(t, ServiceUnavailable)
			return false
		}
	}
	return ep.appendBlock(t, tr, now)
}

func (ep *endpoint) appendBlock(t *task, tr *transfer, now time.Duration) (whole bool) {
	b, p := t.block1, t.in.Payload
	switch at := b.Offset(); {
	case tr == nil || at > len(tr.body):
		ep.refuse(t, RequestEntityIncomplete)
		return false
	case at < len(tr.body) && !(b.More && at+len(p) <= len(tr.body) && bytes.Equal(p, tr.body[at:at+len(p)])):
		ep.refuse(t, RequestEntityIncomplete)
		return false
	case at == len(tr.body):
		if !ep.reserve(len(p), tr, now) {
			ep.drop(tr)
			ep.refuse(t, ServiceUnavailable)
			return false
		}
		tr.body = append(tr.body, p...)
	} // else the answer to this block was lost
	tr.at = now
	ep.transfers.touch(tr)
	ep.account(tr)
	if b.More {
		ep.answer(t, Continue)
		t.out.AddBlock(Block1, Block{Num: b.Num, More: true, SZX: min(b.SZX, ep.szx)})
		ep.encode(t)
		return false
	}
	ep.detach(tr)
	t.upload, t.req.Body = tr, tr.body
	return true
}

// fetchBlock answers a request for a later block from the response kept, if it
// still is. GET may be asked anew; what may have an effect may not.
func (ep *endpoint) fetchBlock(t *task, now time.Duration) (whole bool) {
	tr := t.from.find(ep.key(&t.in, false))
	if tr == nil {
		if t.in.Code == GET || t.in.Code == FETCH {
			return true
		}
		ep.refuse(t, RequestEntityIncomplete)
		return false
	}
	tr.at = now
	ep.transfers.touch(tr)
	tr.served = ep.slice(t, tr.code, tr.format, tr.body, tr.tag[:]) || tr.served
	return false
}

// respond answers with the handler's response, and keeps what does not fit.
func (ep *endpoint) respond(t *task, now time.Duration) {
	r := &t.resp
	if !t.has2 || t.has1 {
		t.block2.Num = 0
	}
	if !t.has2 {
		t.block2.SZX = ep.szx
	}
	if len(r.Body) <= min(t.block2.Size(), 16<<ep.szx) {
		ep.slice(t, r.Code, r.Format, r.Body, nil)
		return
	}
	h := maphash.Bytes(ep.seed, r.Body)
	tag := [4]byte{byte(h), byte(h >> 8), byte(h >> 16), byte(h >> 24)}
	key := ep.key(&t.in, false)
	if tr := t.from.find(key); tr != nil {
		ep.drop(tr)
	}
	if ep.slice(t, r.Code, r.Format, r.Body, tag[:]) {
		return
	}
	tr := ep.open(t.from, key, len(r.Body), now)
	if tr == nil { // no room: later blocks of a GET are made anew, others refused then
		return
	}
	tr.body, r.Body = r.Body, tr.body
	tr.code, tr.format, tr.tag = r.Code, r.Format, tag
	ep.account(tr)
}

// slice answers with the block asked for and says whether it was the last.
func (ep *endpoint) slice(t *task, code Code, format Format, body []byte, tag []byte) (last bool) {
	szx := min(t.block2.SZX, ep.szx)
	at, size := t.block2.Offset(), 16<<szx
	if at > 0 && at >= len(body) {
		if code.Class() == 2 {
			code = BadRequest
			ep.s.Counts.Refused.Add(1)
		}
		ep.answer(t, code)
		ep.encode(t)
		return true
	}
	ep.answer(t, code)
	m := &t.out
	if v, ok := format.Number(); ok {
		m.AddUint(ContentFormat, uint32(v))
	}
	end := min(at+size, len(body))
	last = end == len(body)
	if at > 0 || !last {
		m.AddBytes(ETag, tag)
	}
	if t.has2 || at > 0 || !last {
		m.AddBlock(Block2, Block{Num: uint32(at >> (szx + 4)), More: !last, SZX: szx})
	}
	if _, asked := t.in.Uint(Size2); asked && at == 0 {
		m.AddUint(Size2, uint32(len(body)))
	}
	if t.has1 {
		m.AddBlock(Block1, Block{Num: t.block1.Num, SZX: min(t.block1.SZX, ep.szx)})
	}
	m.Payload = body[at:end]
	ep.encode(t)
	return last
}

// key tells requests apart that a peer may have in parts at the same time. A
// request for a later block of a response need not repeat what describes the
// request's body (RFC 7959, section 3.3).
func (ep *endpoint) key(m *Message, upload bool) uint64 {
	var h maphash.Hash
	h.SetSeed(ep.seed)
	h.WriteByte(byte(m.Code))
	if upload {
		h.WriteByte(1)
	}
	for _, o := range m.Options {
		switch o.Number {
		case URIHost, URIPort, URIPath, URIQuery, Accept:
		case ContentFormat, RequestTag:
			if !upload {
				continue
			}
		default:
			continue
		}
		h.WriteByte(byte(o.Number))
		h.WriteByte(byte(o.Number >> 8))
		h.WriteByte(byte(len(o.Value)))
		h.Write(o.Value)
	}
	return h.Sum64()
}

func (p *peer) find(key uint64) *transfer {
	for _, tr := range p.transfers {
		if tr.key == key {
			return tr
		}
	}
	return nil
}

// open makes a transfer for a body of at least n bytes, or returns nil if there is no room.
func (ep *endpoint) open(p *peer, key uint64, n int, now time.Duration) *transfer {
	if len(p.transfers) >= maxPerPeer {
		ep.s.Counts.Expired.Add(1)
		ep.drop(slices.MinFunc(p.transfers, func(a, b *transfer) int { return int(a.at - b.at) }))
	}
	if !ep.reserve(n, nil, now) {
		return nil
	}
	var tr *transfer
	if i := len(ep.free) - 1; i >= 0 {
		tr, ep.free = ep.free[i], ep.free[:i]
	} else {
		tr = new(transfer)
	}
	*tr = transfer{peer: p, key: key, body: tr.body[:0], at: now}
	p.transfers = append(p.transfers, tr)
	ep.transfers.push(tr)
	ep.account(tr)
	return tr
}

// reserve makes room for n bytes more, in a new transfer if tr is nil, by
// dropping what is finished or stale. It says whether there is room.
func (ep *endpoint) reserve(n int, tr *transfer, now time.Duration) bool {
	full := func() bool {
		return ep.held+n > ep.maxHeld || tr == nil && ep.transfers.n >= ep.maxTransfers
	}
	if !full() {
		return true
	}
	for old := ep.transfers.first; old != nil && full(); {
		next := old.next
		if old != tr && (old.served || now-old.at >= stale) {
			ep.s.Counts.Expired.Add(1)
			ep.drop(old)
		}
		old = next
	}
	return !full()
}

// account counts the room of a transfer's body.
func (ep *endpoint) account(tr *transfer) {
	ep.held += cap(tr.body) - tr.room
	tr.room = cap(tr.body)
}

// detach takes a transfer out of the books; its body stays.
func (ep *endpoint) detach(tr *transfer) {
	p := tr.peer
	p.transfers = slices.DeleteFunc(p.transfers, func(o *transfer) bool { return o == tr })
	ep.transfers.remove(tr)
	ep.held -= tr.room
	tr.room, tr.peer = 0, nil
}

func (ep *endpoint) drop(tr *transfer) {
	ep.detach(tr)
	ep.recycle(tr)
}

// recycle keeps a few buffers for the next transfers.
func (ep *endpoint) recycle(tr *transfer) {
	if len(ep.free) < 4 && cap(tr.body) <= maxKept {
		ep.free = append(ep.free, tr)
	}
}

// A transferList is ordered by the last use, first the longest ago.
type transferList struct {
	first, last *transfer
	n           int
}

func (l *transferList) push(tr *transfer) {
	tr.prev, tr.next = l.last, nil
	if l.last == nil {
		l.first = tr
	} else {
		l.last.next = tr
	}
	l.last = tr
	l.n++
}

func (l *transferList) remove(tr *transfer) {
	if tr.prev == nil {
		l.first = tr.next
	} else {
		tr.prev.next = tr.next
	}
	if tr.next == nil {
		l.last = tr.prev
	} else {
		tr.next.prev = tr.prev
	}
	tr.prev, tr.next = nil, nil
	l.n--
}

func (l *transferList) touch(tr *transfer) {
	if l.last != tr {
		l.remove(tr)
		l.push(tr)
	}
}
