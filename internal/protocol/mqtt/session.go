package mqtt

import (
	"errors"
	"fmt"
	"slices"
)

// Params are what a session keeps to. The zero value of a field means off.
type Params struct {
	Version  Version
	ClientID string
	QoS      byte     // of the subscriptions
	Filters  []string // subscribed to on every new session
	// Resume: the session outlives its connection, so that what QoS 1 and 2
	// promise holds over a new one (section 4.4).
	Resume    bool
	MaxPacket int // B of a packet behind its head that are taken; 0: any
}

// resumeFor is how long a broker keeps a session without a connection.
const resumeFor = 300 // s

var (
	// ErrSessionLost: the broker has forgotten the session, so nobody can say
	// whether what was under way has arrived.
	ErrSessionLost = errors.New("mqtt: the broker has lost the session")
	errUnordered   = errors.New("mqtt: a packet before CONNACK, or an unexpected acknowledgement")
)

// A Session is one end of a connection to a broker, and what outlives it. It
// does no I/O and is for one goroutine at a time: give it bytes by Space, Took
// and Step, send what Next returns.
type Session struct {
	p         Params
	limits    Limits
	phase     phase
	in        []byte // received; in[at:n] not yet read
	at, n     int
	out, idle []byte
	lastID    uint16
	asked     uint16      // SUBSCRIBE's identifier
	listens   bool        // the broker has taken the subscriptions of this session
	under     []*outgoing // in the order of Publish
	held      []*held     // QoS 2, not yet released
	spareOut  []*outgoing
	packet    Packet
	resent    int
	unheard   bool // see Unheard
}

type phase byte

const (
	closed phase = iota
	connecting
	subscribing
	ready
)

// An outgoing message is under way until its handshake is complete.
type outgoing struct {
	id    uint16
	qos   byte
	state byte
	frame []byte
}

// States of an outgoing message.
const (
	queued    = iota
	published // PUBLISH is sent
	pubreced  // PUBREL is sent
)

// A held message was received with QoS 2 and is delivered by its PUBREL
// (section 4.3.3, method A).
type held struct {
	id uint16
	m  Message
}

// NewSession makes one without a connection.
func NewSession(p Params) *Session {
	return &Session{p: p, limits: unlimited, in: make([]byte, 4096)}
}

// unlimited is what a broker takes that says nothing else.
var unlimited = Limits{Receive: 65535, QoS: 2}

// Connected says that the next bytes go over a new connection.
func (s *Session) Connected() {
	s.at, s.n, s.out, s.phase = 0, 0, s.out[:0], connecting
	s.limits = unlimited
	h := Hello{ClientID: s.p.ClientID, Clean: !s.p.Resume, Packet: uint32(s.p.MaxPacket)}
	if s.p.Resume {
		h.Expiry = resumeFor
	} else { // what is only queued has not begun
		s.under = slices.DeleteFunc(s.under, func(o *outgoing) bool { return o.state != queued })
		s.held = s.held[:0]
	}
	s.out = AppendConnect(s.out, s.p.Version, &h)
}

// Resent is how many packets of a handshake have been sent again since the
// session began: PUBLISH with DUP and PUBREL (section 4.4).
func (s *Session) Resent() int { return s.resent }

// Unheard says whether the broker has said that nobody has subscribed to what was published last.
func (s *Session) Unheard() bool { return s.unheard }

// Ready says whether the broker has let us in and taken the subscriptions.
func (s *Session) Ready() bool { return s.phase == ready }

// Settled says whether no handshake of either side is under way.
func (s *Session) Settled() bool { return s.phase == ready && len(s.under)+len(s.held) == 0 }

// Acknowledged says whether the broker has acknowledged, to the end, all that was published.
func (s *Session) Acknowledged() bool { return s.phase == ready && len(s.under) == 0 }

// Publish sends m, once the session is ready and the broker takes more. m is
// the caller's again.
func (s *Session) Publish(m *Message) error {
	o := &outgoing{}
	if n := len(s.spareOut); n > 0 {
		o, s.spareOut = s.spareOut[n-1], s.spareOut[:n-1]
	}
	o.qos, o.state, o.id = m.QoS, queued, 0
	if m.QoS > 0 {
		o.id = s.freeID()
	}
	var err error
	if o.frame, err = AppendPublish(o.frame[:0], s.p.Version, o.id, m); err != nil {
		return err
	}
	if err := s.limits.takes(o); err != nil {
		return err
	}
	s.unheard = false
	s.under = append(s.under, o)
	s.flush()
	return nil
}

// takes says why a broker does not take a message: MQTT 5.0, sections 3.2.2.3.4 and 3.2.2.3.6.
func (l *Limits) takes(o *outgoing) error {
	if l.Packet > 0 && uint64(len(o.frame)) > uint64(l.Packet) {
		return fmt.Errorf("%w: %d bytes, but the broker accepts %d", ErrTooLarge, len(o.frame), l.Packet)
	}
	if o.qos > l.QoS {
		return fmt.Errorf("mqtt: QoS %d, but the broker supports %d", o.qos, l.QoS)
	}
	return nil
}

// Silence is for how long the broker lets a client say nothing, in s; 0: for ever.
func (s *Session) Silence() uint16 { return s.limits.Silence }

// Ping has the broker know that the client is still there.
func (s *Session) Ping() { s.out = AppendBare(s.out, Pingreq) }

// Forget drops what is queued or under way, as after a request that failed.
func (s *Session) Forget() { s.under, s.held = s.under[:0], s.held[:0] }

// Goodbye ends the connection in peace: a DISCONNECT.
func (s *Session) Goodbye() { s.out = AppendBare(s.out, Disconnect) }

func (s *Session) freeID() uint16 {
	for {
		if s.lastID++; s.lastID != 0 && s.find(s.lastID) == nil && (s.phase != subscribing || s.lastID != s.asked) {
			return s.lastID
		}
	}
}

func (s *Session) find(id uint16) *outgoing {
	for _, o := range s.under {
		if o.id == id && o.qos > 0 {
			return o
		}
	}
	return nil
}

// flush frames what is queued, as far as the broker takes it.
func (s *Session) flush() {
	if s.phase != ready {
		return
	}
	way := 0
	for _, o := range s.under {
		way += when(o.state != queued, 1)
	}
	rest := s.under[:0]
	for _, o := range s.under {
		switch {
		case o.state != queued:
		case o.qos == 0:
			s.out = append(s.out, o.frame...)
			s.spareOut = append(s.spareOut, o)
			continue
		case way < int(s.limits.Receive):
			way++
			o.state = published
			s.out = append(s.out, o.frame...)
		}
		rest = append(rest, o)
	}
	s.under = rest
}

// done ends a handshake of ours.
func (s *Session) done(o *outgoing) {
	for i, u := range s.under {
		if u == o {
			s.under = append(s.under[:i], s.under[i+1:]...)
		}
	}
	s.spareOut = append(s.spareOut, o)
	s.flush()
}

// Next is the next bytes to send, nil if there are none. They are valid until
// the call after it.
func (s *Session) Next() []byte {
	if len(s.out) == 0 {
		return nil
	}
	b := s.out
	s.out, s.idle = s.idle[:0], b
	return b
}

// Space is where to receive; it grows with what comes, not with what is announced.
func (s *Session) Space() []byte {
	if s.at > 0 {
		s.n = copy(s.in, s.in[s.at:s.n])
		s.at = 0
	}
	if s.n == len(s.in) {
		s.in = append(s.in, make([]byte, len(s.in))...)
	}
	return s.in[s.n:]
}

// Took takes n bytes received into Space.
func (s *Session) Took(n int) { s.n += n }
