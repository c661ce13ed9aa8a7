package coap

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"time"
)

// history is how many of a peer's messages are remembered to know duplicates.
// A client that keeps to NSTART = 1 (RFC 7252, section 4.7) needs one.
const history = 16

// A peer is whom the endpoint has heard of lately.
type peer struct {
	addr netip.AddrPort
	conn net.Conn // nil: reached through the endpoint's socket
	at   time.Duration
	busy int    // handlers at work for it
	id   uint16 // of the message last begun with it

	ids    [history]uint16 // apart from the rest, to be searched quickly
	heard  [history]exchange
	oldest int // index to be overwritten next
	nHeard int

	transfers []*transfer
	observers []*observer
	links[peer]
}

// newPeer makes one whose message IDs begin anywhere: those of a peer of that address, forgotten, are not to come again
// soon (RFC 7252, section 4.4).
func newPeer(addr netip.AddrPort, conn net.Conn) *peer {
	return &peer{addr: addr, conn: conn, id: uint16(rand.Uint32())}
}

// nextID is a message ID for a message of the server's own. Each peer has its own: in one count for all, the IDs of a
// peer among some thousand observers would come again within seconds.
func (p *peer) nextID() uint16 {
	p.id++
	return p.id
}

// An exchange is the server's memory of one request.
type exchange struct {
	hash  uint64 // of the whole datagram
	at    time.Duration
	turn  uint32 // counts reuses of this place
	reply []byte // empty while the handler runs, and for non-confirmable requests
}

// peerOf finds or makes the peer at addr, and pushes out the one idle longest
// if there are too many. It returns nil if all are busy.
func (ep *endpoint) peerOf(addr netip.AddrPort, now time.Duration) *peer {
	p := ep.peers[addr]
	if p == nil {
		if len(ep.peers) >= ep.maxPeers && !ep.forgetOldest() {
			return nil
		}
		p = newPeer(addr, nil)
		ep.peers[addr] = p
		ep.known.push(p)
	}
	p.at = now
	ep.known.touch(p)
	return p
}

func (ep *endpoint) forgetOldest() bool {
	for p := ep.known.first; p != nil; p = p.next {
		if p.busy == 0 {
			ep.forget(p)
			return true
		}
	}
	return false
}

// forget drops all memory of a peer.
func (ep *endpoint) forget(p *peer) {
	for len(p.transfers) > 0 {
		ep.s.Counts.Expired.Add(1)
		ep.drop(p.transfers[0])
	}
	ep.cancel(p)
	for len(p.observers) > 0 {
		ep.unobserve(p.observers[0])
	}
	if p.conn == nil {
		delete(ep.peers, p.addr)
		ep.known.remove(p)
	}
}

// recall finds a message that was heard before.
func (p *peer) recall(id uint16, hash uint64, now time.Duration) *exchange {
	for i, v := range p.ids[:p.nHeard] {
		if e := &p.heard[i]; v == id && e.hash == hash && now-e.at < ExchangeLifetime {
			return e
		}
	}
	return nil
}

// remember makes room for a message not heard before.
func (p *peer) remember(id uint16, hash uint64, now time.Duration) *exchange {
	i := p.oldest
	p.oldest = (i + 1) % history
	p.nHeard = max(p.nHeard, i+1)
	p.ids[i] = id
	e := &p.heard[i]
	e.hash, e.at, e.reply = hash, now, e.reply[:0]
	e.turn++
	return e
}
