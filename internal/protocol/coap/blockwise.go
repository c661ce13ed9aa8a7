package coap

import (
	"bytes"
	"hash/maphash"
	"time"
)

// assemble takes the block options of a request apart. It says whether the
// request is whole and the handler is to run; else the answer is made.
func (ep *endpoint) assemble(t *task, now time.Duration) (whole bool) {
	m := &t.in
	t.block1, t.has1 = m.Block(Block1)
	t.block2, t.has2 = m.Block(Block2)
	if t.has1 && !ep.possible(t, t.block1) || t.has2 && !ep.possible(t, t.block2) {
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

// possible says whether a block may be asked for or sent so: several in one
// message over TCP only.
func (ep *endpoint) possible(t *task, b Block) bool {
	return b.Valid() || b.SZX == bert && b.Num <= MaxBlockNum && t.stream != nil && ep.szx == maxSZX
}

// agree is the size exponent of an answer to a block asked for or sent.
func (ep *endpoint) agree(asked uint8) uint8 {
	if asked == bert {
		return bert
	}
	return min(asked, ep.szx)
}

// fitting is the size exponent of a block of an answer to one asked for so: what the client takes in one message.
func (ep *endpoint) fitting(t *task, asked uint8) uint8 {
	szx := ep.agree(asked)
	if t.stream == nil || t.stream.room() >= 16<<min(szx, maxSZX) {
		return szx
	}
	return szxOf(t.stream.room())
}

// receiveBlock takes one block of a request's body: RFC 7959, sections 2.3 to 2.5.
func (ep *endpoint) receiveBlock(t *task, now time.Duration) (whole bool) {
	b, p := t.block1, t.in.Payload
	announced, _ := t.in.Uint(Size1)
	if !b.fits(len(p)) {
		ep.refuse(t, BadRequest)
		return false
	}
	key := ep.key(t, true)
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
		t.out.AddBlock(Block1, Block{Num: b.Num, More: true, SZX: ep.agree(b.SZX)})
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
	tr := t.from.find(ep.key(t, false))
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
	t.whole = t.stream != nil && !t.has2 && len(r.Body) <= t.stream.room()
	if t.whole || len(r.Body) <= 16<<min(ep.fitting(t, t.block2.SZX), maxSZX) {
		ep.slice(t, r.Code, r.Format, r.Body, nil)
		return
	}
	h := maphash.Bytes(ep.seed, r.Body)
	tag := [4]byte{byte(h), byte(h >> 8), byte(h >> 16), byte(h >> 24)}
	key := ep.key(t, false)
	if tr := t.from.find(key); tr != nil {
		ep.drop(tr)
	}
	if ep.slice(t, r.Code, r.Format, r.Body, tag[:]) {
		return
	}
	tr := ep.open(t.from, key, len(r.Body), now)
	if tr == nil { // no room: later blocks of a GET are made anew, others refused then
		r.Body = nil
		return
	}
	tr.body, r.Body = r.Body, tr.body
	tr.code, tr.format, tr.tag = r.Code, r.Format, tag
	ep.account(tr)
}

// slice answers with the block asked for and says whether it was the last.
func (ep *endpoint) slice(t *task, code Code, format Format, body []byte, tag []byte) (last bool) {
	szx := ep.fitting(t, t.block2.SZX)
	at, size := t.block2.Offset(), 16<<min(szx, maxSZX)
	if szx == bert {
		size = t.stream.room() / size * size
	}
	if t.whole {
		size = max(size, len(body))
	}
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
	ep.number(t, m, at)
	if v, ok := format.Number(); ok {
		m.AddUint(ContentFormat, uint32(v))
	}
	end := min(at+size, len(body))
	last = end == len(body)
	if at > 0 || !last {
		m.AddBytes(ETag, tag)
	}
	if t.has2 || at > 0 || !last {
		m.AddBlock(Block2, Block{Num: uint32(at >> (min(szx, maxSZX) + 4)), More: !last, SZX: szx})
	}
	if _, asked := t.in.Uint(Size2); asked && at == 0 {
		m.AddUint(Size2, uint32(len(body)))
	}
	if t.has1 {
		m.AddBlock(Block1, Block{Num: t.block1.Num, SZX: ep.agree(t.block1.SZX)})
	}
	m.Payload = body[at:end]
	ep.encode(t)
	return last
}
