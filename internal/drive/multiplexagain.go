package drive

import "slices"

// What a server does not take up goes again.

// wasReset ends a request, or sends it again if the server did not take it up: until its
// settings are known, more streams may be open than it takes. One is refused once.
func (m *multiplexer) wasReset(l *lane, err error) {
	if err != errRefused || l.again {
		m.end(l, err)
		return
	}
	s := m.of(l)
	delete(m.flight, s.id)
	s.id = 0
	if err := m.again(l); err != nil {
		m.settle(l, err)
		return
	}
	m.waiting.insert(l)
}

// untaken: what the server did not take up goes again, before what has not yet
// gone at all (RFC 9113, section 6.8), and in its own order: one that was refused
// before has a stream behind those of later requests. What goes again to one that takes nothing at all up fails.
func (m *multiplexer) untaken(last, code uint32) {
	for _, id := range m.after(last) {
		l := m.flight[id]
		if last == 0 && l.again {
			m.end(l, untaken(code))
			continue
		}
		delete(m.flight, id)
		if err := m.again(l); err != nil {
			m.settle(l, err)
			continue
		}
		m.waiting.insert(l)
	}
}

// after are the streams in flight behind one, in the order in which they were opened.
func (m *multiplexer) after(last uint32) []uint32 {
	var ids []uint32
	for id := range m.flight {
		if id > last {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
