package coap

import "time"

// pending is a separate response that its peer has not acknowledged.
type pending struct {
	peer     *peer
	id       uint16
	datagram []byte
	due      time.Duration
	timeout  time.Duration
	retries  int
	observer *observer // whose notification it is; nil: a response
}

// maxPending bounds the separate responses under way. Beyond it a response is
// sent once.
const maxPending = 1024

// track keeps a separate response to be sent again until it is acknowledged.
func (ep *endpoint) track(t *task, now time.Duration) {
	ep.s.Counts.Separate.Add(1)
	if len(ep.pending) >= maxPending {
		return
	}
	// RFC 7252, section 4.8: between ACK_TIMEOUT and 1.5 times that.
	timeout := ackTimeout + time.Duration(t.memory.hash%1024)*ackTimeout/2048
	ep.pending = append(ep.pending, &pending{
		peer: t.from, id: t.out.ID, datagram: append([]byte(nil), t.wire...), due: now + timeout, timeout: timeout,
	})
	t.from.busy++
}

// settle ends the wait for an acknowledgement or reset, if there is one.
func (ep *endpoint) settle(p *peer, id uint16, reset bool) bool {
	for i, w := range ep.pending {
		if w.peer == p && w.id == id {
			ep.unwait(i)
			if w.observer != nil && !reset {
				w.observer.unacked = false // what it has missed it is told by tick
			}
			return !reset || ep.rejected(p, id) || w.observer == nil
		}
	}
	return reset && ep.rejected(p, id)
}

func (ep *endpoint) unwait(i int) {
	ep.pending[i].peer.busy--
	last := len(ep.pending) - 1
	ep.pending[i] = ep.pending[last]
	ep.pending[last] = nil
	ep.pending = ep.pending[:last]
}

// cancel ends all waiting for a peer.
func (ep *endpoint) cancel(p *peer) {
	for i := len(ep.pending) - 1; i >= 0; i-- {
		if ep.pending[i].peer == p {
			ep.unwait(i)
		}
	}
}

// tick does what is due: acknowledge requests whose handler takes long, send
// separate responses again, forget what is idle.
func (ep *endpoint) tick(now time.Duration) {
	for _, o := range ep.chores(now) {
		ep.notify(o)
	}
}

// chores does what needs no handler, and says whom to notify.
func (ep *endpoint) chores(now time.Duration) []*observer {
	ep.mu.Lock()
	defer ep.mu.Unlock()
	for _, t := range ep.running {
		if t.stream == nil && t.in.Type == Confirmable && !t.acked && now-t.began >= ep.ackDelay {
			ep.acknowledge(t)
		}
	}
	for i := len(ep.pending) - 1; i >= 0; i-- {
		if now >= ep.pending[i].due {
			ep.again(i, now)
		}
	}
	for tr := ep.transfers.first; tr != nil && now-tr.at >= ExchangeLifetime; tr = ep.transfers.first {
		ep.s.Counts.Expired.Add(1)
		ep.drop(tr)
	}
	for p := ep.known.first; p != nil && now-p.at >= ExchangeLifetime; p = ep.known.first {
		if p.busy == 0 {
			ep.forget(p)
			continue
		}
		p.at = now // such as an observer: looked at again when that time has passed once more
		ep.known.touch(p)
	}
	return ep.late()
}

func (ep *endpoint) acknowledge(t *task) {
	t.acked = true
	var b [4]byte
	ack := appendEmpty(b[:0], Acknowledgement, t.in.ID)
	if t.memory.turn == t.turn {
		t.memory.reply = append(t.memory.reply[:0], ack...)
	}
	ep.send(t.from, ack)
}

func (ep *endpoint) again(i int, now time.Duration) {
	w := ep.pending[i]
	if w.retries >= maxRetransmit {
		ep.unwait(i)
		if w.observer != nil {
			ep.lost(w.observer)
		}
		return
	}
	w.retries++
	w.timeout *= 2
	w.due = now + w.timeout
	ep.s.Counts.Retransmissions.Add(1)
	ep.send(w.peer, w.datagram)
}
