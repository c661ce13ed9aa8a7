package dpws

// A ring remembers the last few texts, so that what is repeated is answered
// once. It holds ringSize of them, whatever comes.
type ring struct {
	known map[string]struct{}
	order [ringSize]string
	next  int
}

const ringSize = 512

// add says whether the text is new.
func (r *ring) add(text []byte) bool {
	if _, known := r.known[string(text)]; known {
		return false
	}
	if r.known == nil {
		r.known = make(map[string]struct{}, ringSize)
	}
	delete(r.known, r.order[r.next])
	r.order[r.next] = string(text)
	r.known[r.order[r.next]] = struct{}{}
	r.next = (r.next + 1) % ringSize
	return true
}

// An Answerer turns datagrams into the answers a device gives.
type Answerer struct {
	Target Target
	Counts *Counts

	writer writer
	seen   ring
	m      message
}

// NewAnswerer answers for t. instance must grow with every start of the device
// (WS-Discovery 1.1, section 7); seconds since 1970 do.
func NewAnswerer(t Target, instance uint64, counts *Counts) *Answerer {
	return &Answerer{Target: t, Counts: counts, writer: writer{namer: NewNamer(), instance: instance}}
}

// Answer returns what a datagram deserves, nil for nothing, and whether the
// answer has to wait for a random time first, as the answer to a Probe has.
func (a *Answerer) Answer(datagram []byte) (answer []byte, wait bool) {
	switch {
	case len(datagram) > MaxUDPEnvelope:
		a.Counts.Oversized.Add(1)
		return nil, false
	case a.m.decode(datagram) != nil:
		a.Counts.Malformed.Add(1)
		return nil, false
	case !a.seen.add(a.m.header.MessageID):
		a.Counts.Duplicate.Add(1)
		return nil, false
	}
	switch string(a.m.header.Action) {
	case actionProbe:
		if a.m.wanted.Matches(&a.Target) {
			return a.writer.match(actionProbeMatches, a.m.header.MessageID, &a.Target), true
		}
	case actionResolve:
		if len(a.m.targets) == 1 && a.m.targets[0].EPR == a.Target.EPR {
			return a.writer.match(actionResolveMatches, a.m.header.MessageID, &a.Target), false
		}
	case actionHello, actionBye:
		return nil, false // other devices' affairs
	}
	a.Counts.Unmatched.Add(1)
	return nil, false
}
