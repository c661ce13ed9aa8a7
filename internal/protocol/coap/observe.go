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
	number  uint32 // of the last notification, 24 bits
	id      uint16 // message ID of it
	unacked bool   // it waits for its acknowledgement
	behind  bool   // and the resource has changed meanwhile
}

const (
	maxObserving = 16 // of one peer
	// Among non-confirmable notifications one in so many is confirmable, to find
	// observers that are gone (RFC 7641, section 4.5).
	confirmEvery = 16
)

// register notes or strikes out the observer that a request names, and says
// whether the answer is a notification.
func (ep *endpoint) register(t *task) *observer {
	v, asked := t.in.Uint(Observe)
	if !asked || t.in.Code != GET || t.security != nil || t.stream != nil {
		return nil // Note: not under OSCORE and not over TCP: then it is a plain GET
	}
	i := slices.IndexFunc(ep.observers, func(o *observer) bool {
		return o.peer == t.from &&
			string(o.token) == string(t.in.Token)
	})
	if v != 0 || t.resp.Code.Class() != 2 || ep.s.Observable == nil || !ep.s.Observable(t.req.Path) {
		if i >= 0 {
			ep.unobserve(i)
		}
		return nil
	}
	if i >= 0 {
		return ep.observers[i] // registered again
	}
	mine := 0
	for _, o := range ep.observers {
		if o.peer == t.from {
			mine++
		}
	}
	most := ep.s.MaxObservers
	set(&most, 1024)
	most = min(most, ep.maxPeers/2) // so that observers cannot keep strangers out
	if len(ep.observers) >= most || mine >= maxObserving {
		return nil
	}
	o := &observer{peer: t.from, token: slices.Clone(t.in.Token), path: string(t.req.Path), request: t.in.Append(nil)}
	ep.observers = append(ep.observers, o)
	o.peer.busy++ // not forgotten as long as it observes
	return o
}

// unobserve strikes out observer i, and what it has not acknowledged: it wants
// no more notifications, and must not keep its peer's place.
func (ep *endpoint) unobserve(i int) {
	o := ep.observers[i]
	if at := slices.IndexFunc(ep.pending, func(w *pending) bool { return w.observer == o }); at >= 0 {
		ep.unwait(at)
	}
	o.peer.busy--
	ep.observers = slices.Delete(ep.observers, i, i+1)
}

// lost strikes out an observer that is gone or wants no more.
func (ep *endpoint) lost(o *observer) {
	if i := slices.Index(ep.observers, o); i >= 0 {
		ep.unobserve(i)
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
		var told []*observer
		for _, o := range ep.observers {
			if o.path == path {
				if o.behind = o.unacked; !o.behind {
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

// notify sends the present state.
func (ep *endpoint) notify(o *observer) {
	t := &task{from: o.peer, notify: o}
	if t.in.Decode(o.request) != nil {
		return // cannot be: it was once
	}
	t.in.Sift()
	t.block2, t.has2 = t.in.Block(Block2)
	ep.describe(t)
	ep.handler(&t.req, &t.resp)
	now := ep.now()
	ep.mu.Lock()
	defer ep.mu.Unlock()
	if !slices.Contains(ep.observers, o) {
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
	for i, o := range ep.observers {
		if o.peer == p && o.id == id && o.number > 0 {
			ep.unobserve(i)
			return true
		}
	}
	return false
}

// late are the observers to be told what they have missed.
func (ep *endpoint) late() (late []*observer) {
	for _, o := range ep.observers {
		if o.behind && !o.unacked {
			o.behind = false
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
