package coap

import (
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

	code   Code // of a response, as the next two
	format Format
	tag    [4]byte
	links[transfer]
}

const (
	maxPerPeer = 8
	// stale is the idleness after which another body may take a transfer's
	// place: a live client has sent or repeated its next block by then (ACK_TIMEOUT × ACK_RANDOM_FACTOR).
	stale = 3 * time.Second
	// maxKept is the largest buffer kept for reuse, in bytes.
	maxKept = 1 << 20
)

// key tells requests apart that a peer may have in parts at the same time. A
// request for a later block of a response need not repeat what describes the
// request's body (RFC 7959, section 3.3).
func (ep *endpoint) key(t *task, upload bool) uint64 {
	var h maphash.Hash
	h.SetSeed(ep.seed)
	m := &t.in
	if t.security != nil {
		h.Write(t.security.keys.IDContext)
	}
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
