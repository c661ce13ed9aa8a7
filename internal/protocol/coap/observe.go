package coap

import (
	"slices"
	"time"
)

// An observer is a client that is notified of every change of a resource (RFC 7641).
type observer struct {
	peer    *peer
	token   []byte
	path    string
	request []byte // the registration, to be answered anew with each change
	at      int    // in endpoint.observers; below 0: it is struck out
	number  uint32 // of the last notification, 24 bits
	id      uint16 // message ID of it
	unacked bool   // it waits for its acknowledgement
	telling bool   // a notification is being made
	behind  bool   // what it was told last, or is being told, may be an earlier state
}

const (
	maxObserving = 16 // of one peer
	// Among non-confirmable notifications one in so many is confirmable, to find
	// observers that are gone (RFC 7641, section 4.5).
	confirmEvery = 16
)

// register notes or strikes out the observer that a request names, and says
// whether the answer is a notification. Subtle: the handler has made the answer already, and
// the resource may have changed since.
func (ep *endpoint) register(t *task) *observer {
	v, asked := t.in.Uint(Observe)
	if !asked || t.in.Code != GET || t.security != nil || t.stream != nil {
		return nil // Note: not under OSCORE and not over TCP: then it is a plain GET
	}
	var o *observer
	for _, x := range t.from.observers {
		if string(x.token) == string(t.in.Token) {
			o = x // registered again: section 4.1
		}
	}
	if v != 0 || t.resp.Code.Class() != 2 || ep.s.Observable == nil || !ep.s.Observable(t.req.Path) {
		if o != nil {
			ep.unobserve(o)
		}
		return nil
	}
	most := ep.s.MaxObservers
	set(&most, 1024)
	most = min(most, ep.maxPeers/2) // so that observers cannot keep strangers out
	if o == nil && (len(ep.observers) >= most || len(t.from.observers) >= maxObserving) {
		return nil
	}
	if o == nil {
		o = &observer{peer: t.from, token: slices.Clone(t.in.Token), at: len(ep.observers)}
		ep.observers = append(ep.observers, o)
		o.peer.observers = append(o.peer.observers, o)
		o.peer.busy++ // not forgotten as long as it observes
	}
	o.path, o.request = string(t.req.Path), t.in.Append(nil)
	ep.owe(o, o.behind || o.telling || t.changes != ep.changes)
	return o
}

// unobserve strikes out an observer, and what it has not acknowledged: it wants
// no more notifications, and must not keep its peer's place.
func (ep *endpoint) unobserve(o *observer) {
	if at := slices.IndexFunc(ep.pending, func(w *pending) bool { return w.observer == o }); at >= 0 {
		ep.unwait(at)
	}
	ep.owe(o, false)
	o.peer.busy--
	o.peer.observers = slices.DeleteFunc(o.peer.observers, func(x *observer) bool { return x == o })
	last := len(ep.observers) - 1
	ep.observers[last].at = o.at
	ep.observers[o.at] = ep.observers[last]
	ep.observers[last] = nil
	ep.observers = ep.observers[:last]
	o.at = -1
}

// lost strikes out an observer that is gone or wants no more.
func (ep *endpoint) lost(o *observer) {
	if o.at >= 0 {
		ep.unobserve(o)
	}
}

// Changed tells all observers of the resource at path, segments joined by
// slashes, of its new state: the handler is asked for it once for each, as by
// the request that registered it, and may be at work elsewhere at that time. Who has not
// acknowledged the last notification is told when it has (RFC 7641, section 4.5.1).
func (s *Server) Changed(path string) {
	s.mu.Lock()
	all := slices.Clone(s.endpoints)
	s.mu.Unlock()
	for _, ep := range all {
		ep.mu.Lock()
		ep.changes++
		var told []*observer
		for _, o := range ep.observers {
			if o.path == path {
				if ep.owe(o, o.unacked); !o.behind {
					told = append(told, o)
				}
			}
		}
		ep.mu.Unlock()
		for _, o := range told {
			ep.notify(o)
		}
	}
}

// notify sends the present state. Of one observer two may not be made at once: the one with the later number could have
// the earlier state, and the observer would keep that (RFC 7641, section 1.3).
func (ep *endpoint) notify(o *observer) {
	ep.mu.Lock()
	if o.at < 0 || o.telling || o.unacked {
		ep.owe(o, o.at >= 0)
		ep.mu.Unlock()
		return
	}
	o.telling = true
	request := o.request
	ep.mu.Unlock()
	t := &task{from: o.peer, notify: o}
	if t.in.Decode(request) != nil {
		return // cannot be: it was once
	}
	t.in.Sift()
	t.block2, t.has2 = t.in.Block(Block2)
	ep.describe(t)
	ep.handler(&t.req, &t.resp)
	now := ep.now()
	ep.mu.Lock()
	defer ep.mu.Unlock()
	if o.telling = false; o.at < 0 {
		return
	}
	if t.resp.Code == 0 {
		t.resp.Code = Content
	}
	ep.respond(t, now)
	o.id = t.out.ID
	ep.s.Counts.Notifications.Add(1)
	if t.out.Type == Confirmable && len(ep.pending) < maxPending {
		o.unacked = true
		ep.pending = append(ep.pending, &pending{peer: o.peer, id: o.id, datagram: slices.Clone(t.wire),
			due: now + ackTimeout, timeout: ackTimeout, observer: o})
		o.peer.busy++
	}
	ep.send(o.peer, t.wire)
	if t.resp.Code.Class() != 2 {
		if o.unacked {
			ep.pending[len(ep.pending)-1].observer = nil // it is still to arrive
		}
		ep.lost(o) // an error ends the observation (section 4.2)
	}
}

// notification begins one in m.
func (ep *endpoint) notification(o *observer, m *Message) {
	m.Type, m.ID = ep.s.Notifications, o.peer.nextID()
	if (o.number+1)%confirmEvery == 0 {
		m.Type = Confirmable
	}
}

// number puts the next number into a notification's first block.
func (ep *endpoint) number(t *task, m *Message, at int) {
	o := t.notify
	if o == nil {
		o = t.observer
	}
	if o == nil || at > 0 || m.Code.Class() != 2 {
		return
	}
	o.number = (o.number + 1) & (1<<24 - 1)
	m.AddUint(Observe, o.number)
}

// rejected strikes out the observer that answered a notification with a reset.
func (ep *endpoint) rejected(p *peer, id uint16) bool {
	for _, o := range p.observers {
		if o.id == id && o.number > 0 {
			ep.unobserve(o)
			return true
		}
	}
	return false
}

// owe notes whether an observer is behind.
func (ep *endpoint) owe(o *observer, behind bool) {
	if o.behind == behind {
		return
	}
	if o.behind = behind; behind {
		ep.owed++
	} else {
		ep.owed--
	}
}

// late are the observers to be told what they have missed. Mostly there is none, and then no more is looked at.
func (ep *endpoint) late() (late []*observer) {
	if ep.owed == 0 {
		return nil
	}
	for _, o := range ep.observers {
		if o.behind && !o.unacked && !o.telling {
			ep.owe(o, false)
			late = append(late, o)
		}
	}
	return late
}

// enlist and delist let Changed find the endpoint.
func (ep *endpoint) enlist() {
	ep.s.mu.Lock()
	defer ep.s.mu.Unlock()
	ep.s.endpoints = append(ep.s.endpoints, ep)
}

func (ep *endpoint) delist() {
	ep.s.mu.Lock()
	defer ep.s.mu.Unlock()
	ep.s.endpoints = slices.DeleteFunc(ep.s.endpoints, func(o *endpoint) bool { return o == ep })
}

// fresher says whether notification b, heard at tb, is newer than a, heard at
// ta (RFC 7641, section 3.4).
func fresher(a, b uint32, ta, tb time.Duration) bool {
	return a < b && b-a < 1<<23 || a > b && a-b > 1<<23 || tb > ta+128*time.Second
}
