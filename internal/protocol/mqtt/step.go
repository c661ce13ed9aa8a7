package mqtt

import (
	"bytes"
	"fmt"
	"slices"
)

// A Refusal is a broker's word that it does not do what was asked.
type Refusal struct {
	Kind   Kind
	Reason byte // MQTT 5.0, section 2.4; 3.1.1: the return code of CONNACK
}

// Error says which packet refused, and with which reason.
func (r *Refusal) Error() string {
	if r.Kind == Suback && r.Reason < 3 {
		return fmt.Sprintf("mqtt: the broker grants the subscription QoS %d only", r.Reason)
	}
	text := fmt.Sprintf("mqtt: the broker refused with %v, reason 0x%02x", r.Kind, r.Reason)
	if name := reasonNames[r.Reason]; name != "" {
		text += " (" + name + ")"
	}
	return text
}

// Ends says whether the broker ended the connection for reasons of its own, as by a restart: a session may go on over
// another one.
func (r *Refusal) Ends() bool {
	return r.Kind == Disconnect && slices.Contains([]byte{0, 0x88, 0x89, 0x8b, 0x8d, 0x98, 0xa0}, r.Reason)
}

// NoLogin says whether the broker wants to know who asks.
func (r *Refusal) NoLogin() bool {
	return r.Kind == Connack && slices.Contains([]byte{4, 5, 0x86, 0x87}, r.Reason)
}

// OtherVersion says whether the broker does not speak this version of MQTT.
func (r *Refusal) OtherVersion() bool {
	return r.Kind == Connack && (r.Reason == 1 || r.Reason == 0x84)
}

// noSubscribers is the reason of an acknowledgement to a message that nobody gets.
const noSubscribers = 0x10

// reasonNames: MQTT 5.0, section 2.4, from 0x80, and 3.1.1, section 3.2.2.3, below.
var reasonNames = [256]string{
	1: "unacceptable protocol version", 2: "identifier rejected", 3: "server unavailable",
	4: "bad user name or password", 5: "not authorized",
	0x80: "unspecified error", 0x81: "malformed packet", 0x82: "protocol error", 0x83: "implementation specific error",
	0x84: "unsupported protocol version", 0x85: "client identifier not valid", 0x86: "bad user name or password",
	0x87: "not authorized", 0x88: "server unavailable", 0x89: "server busy", 0x8a: "banned",
	0x8b: "server shutting down", 0x8c: "bad authentication method", 0x8d: "keep alive timeout",
	0x8e: "session taken over", 0x8f: "topic filter invalid", 0x90: "topic name invalid",
	0x91: "packet identifier in use", 0x92: "packet identifier not found", 0x93: "receive maximum exceeded",
	0x94: "topic alias invalid", 0x95: "packet too large", 0x96: "message rate too high", 0x97: "quota exceeded",
	0x98: "administrative action", 0x99: "payload format invalid", 0x9a: "retain not supported",
	0x9b: "QoS not supported", 0x9c: "use another server", 0x9d: "server moved",
	0x9e: "shared subscriptions not supported", 0x9f: "connection rate exceeded", 0xa0: "maximum connect time",
	0xa1: "subscription identifiers not supported", 0xa2: "wildcard subscriptions not supported",
}

// Step reads one packet of what was received and does what it asks for. m is
// the message that it delivers, valid until the next Step or Space; more is
// false if no whole packet is left. After an error the connection is of no use.
func (s *Session) Step() (m *Message, more bool, err error) {
	size, err := s.packet.Decode(s.p.Version, s.in[s.at:s.n], s.p.MaxPacket)
	if err != nil || size == 0 {
		return nil, false, err
	}
	s.at += size
	m, err = s.took(&s.packet)
	return m, true, err
}

func (s *Session) took(p *Packet) (*Message, error) {
	if (s.phase == connecting) != (p.Kind == Connack) {
		return nil, errUnordered
	}
	switch p.Kind {
	case Connack:
		return nil, s.welcome(p)
	case Suback:
		return nil, s.subscribed(p)
	case Publish:
		return s.message(p), nil
	case Puback, Pubrec, Pubcomp:
		return nil, s.acknowledged(p)
	case Pubrel:
		return s.release(p.ID), nil
	case Disconnect:
		return nil, &Refusal{Disconnect, p.Reason}
	}
	return nil, nil
}

// welcome: section 4.4 says what of an old session is sent again.
func (s *Session) welcome(p *Packet) error {
	if p.Reason != 0 {
		return &Refusal{Connack, p.Reason}
	}
	s.limits = p.Limits
	for _, o := range s.under { // nobody knew before what this broker takes
		if o.state != queued && !p.SessionPresent {
			return ErrSessionLost
		}
		if err := s.limits.takes(o); err != nil && o.state != pubreced {
			return err
		}
	}
	if !p.SessionPresent {
		s.held, s.listens = s.held[:0], false
	}
	if len(s.p.Filters) > 0 && !s.listens { // also where the connection broke between CONNECT and SUBACK
		s.phase, s.asked = subscribing, s.freeID()
		s.out = AppendSubscribe(s.out, s.p.Version, s.asked, s.p.QoS, s.p.Filters...)
		return nil
	}
	s.phase = ready
	for _, o := range s.under {
		switch o.state {
		case published:
			s.resent++
			o.frame[0] |= 8 // DUP
			s.out = append(s.out, o.frame...)
		case pubreced:
			s.resent++
			s.out = AppendAck(s.out, Pubrel, o.id, 0)
		}
	}
	s.flush()
	return nil
}

func (s *Session) subscribed(p *Packet) error {
	if s.phase != subscribing || p.ID != s.asked || len(p.Reasons) != len(s.p.Filters) {
		return errUnordered
	}
	for _, r := range p.Reasons {
		if r != s.p.QoS { // also one that is less than was asked for
			return &Refusal{Suback, r}
		}
	}
	s.phase, s.listens = ready, true
	s.flush()
	return nil
}

// message delivers a PUBLISH, or holds it back until its PUBREL.
func (s *Session) message(p *Packet) *Message {
	switch p.QoS {
	case 1:
		s.out = AppendAck(s.out, Puback, p.ID, 0)
		p.Message.ID = p.ID
	case 2:
		s.out = AppendAck(s.out, Pubrec, p.ID, 0)
		for _, h := range s.held {
			if h.id == p.ID {
				return nil // again
			}
		}
		h := &held{id: p.ID}
		h.keep(&p.Message)
		s.held = append(s.held, h)
		return nil
	}
	return &p.Message
}

// keep copies m: what it was received into is used again.
func (h *held) keep(m *Message) {
	h.m = *m
	for _, field := range []*[]byte{&h.m.Topic, &h.m.ResponseTopic, &h.m.Correlation, &h.m.ContentType, &h.m.Failure,
		&h.m.Payload} {
		*field = bytes.Clone(*field)
	}
}

// release delivers a held message; a PUBREL repeated finds none.
func (s *Session) release(id uint16) *Message {
	for i, h := range s.held {
		if h.id == id {
			s.out = AppendAck(s.out, Pubcomp, id, 0)
			s.held = append(s.held[:i], s.held[i+1:]...)
			return &h.m
		}
	}
	s.out = AppendAck(s.out, Pubcomp, id, s.unknown())
	return nil
}

// unknown is the reason "packet identifier not found" (section 3.7.2.1).
func (s *Session) unknown() byte { return byte(when(s.p.Version == V5, 0x92)) }

// acknowledged goes on with a handshake of ours. What is unknown was complete
// before the broker heard of it.
func (s *Session) acknowledged(p *Packet) error {
	o := s.find(p.ID)
	s.unheard = s.unheard || o != nil && p.Reason == noSubscribers
	switch {
	case o == nil:
		if p.Kind == Pubrec {
			s.out = AppendAck(s.out, Pubrel, p.ID, s.unknown())
		}
	case o.state == queued || (p.Kind == Puback) != (o.qos == 1) || p.Kind == Pubcomp && o.state != pubreced:
		return errUnordered
	case p.Reason >= 0x80 && !(p.Kind == Pubcomp && p.Reason == 0x92): // that a repeated PUBREL is answered with
		s.done(o)
		return &Refusal{p.Kind, p.Reason}
	case p.Kind == Pubrec:
		o.state = pubreced
		s.out = AppendAck(s.out, Pubrel, o.id, 0)
	default:
		s.done(o)
	}
	return nil
}
