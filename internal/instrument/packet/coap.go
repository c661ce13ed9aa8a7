package packet

import (
	"encoding/binary"
	"encoding/hex"
	"time"
)

// CoAP message types, RFC 7252, section 3.
const (
	con = iota
	non
	ack
	rst
)

// A coapMessage is a CoAP header and what of its options matters here.
//
//	ver 2 | type 2 | token length 4 | code 8 | message id 16 | token | options | 0xff | payload
type coapMessage struct {
	how     uint8 // con, non, ack, rst
	code    uint8 // class in the upper three bits
	id      uint16
	token   [8]byte
	tokens  int // bytes of token
	observe bool
}

func (m *coapMessage) request() bool  { return m.code>>5 == 0 && m.code != 0 && m.how <= non }
func (m *coapMessage) response() bool { return m.code>>5 >= 2 && m.code>>5 <= 5 && m.how != rst }

// parseCoAP reads a message of wire bytes, of which b was captured. It wants
// the whole of it well-formed, so that other payloads are not taken for CoAP.
func parseCoAP(b []byte, wire int) (m coapMessage, ok bool) {
	if len(b) < 4 || b[0]>>6 != 1 {
		return m, false
	}
	m = coapMessage{how: b[0] >> 4 & 3, code: b[1], id: binary.BigEndian.Uint16(b[2:]), tokens: int(b[0] & 15)}
	if m.code == 0 {
		return m, wire == 4 && m.tokens == 0
	}
	if m.tokens > 8 || len(b) < 4+m.tokens || !m.request() && !m.response() {
		return m, false
	}
	copy(m.token[:], b[4:4+m.tokens])
	return m, m.options(b[4+m.tokens:], len(b) < wire)
}

// options walks the options, RFC 7252, section 3.1; a cut message is taken on trust.
func (m *coapMessage) options(b []byte, isCut bool) bool {
	number := 0
	for len(b) > 0 {
		if b[0] == 0xff {
			return len(b) > 1 || isCut
		}
		head, off := b[0], 1
		delta, n := extended(head>>4, b, &off), extended(head&15, b, &off)
		if delta < 0 || n < 0 || off+n > len(b) {
			return isCut
		}
		if number += delta; number > 0xffff {
			return false
		}
		m.observe = m.observe || number == 6 // RFC 7641, section 2
		b = b[off+n:]
	}
	return true
}

// extended reads an option's delta or length; -1 is not well-formed.
func extended(nibble byte, b []byte, off *int) int {
	switch {
	case nibble < 13:
		return int(nibble)
	case nibble == 13 && *off+1 <= len(b):
		*off++
		return int(b[*off-1]) + 13
	case nibble == 14 && *off+2 <= len(b):
		*off += 2
		return int(binary.BigEndian.Uint16(b[*off-2:])) + 269
	}
	return -1
}

// A messageKey finds an exchange by message id, a tokenKey by token; way says
// whether the flow's client sent it.
type messageKey struct {
	way bool
	id  uint16
}

type tokenKey struct {
	way    bool
	token  [8]byte
	tokens int
}

// addCoAP matches a message to its exchange: a request begins one, unless it
// repeats the message id and token of a recent one; an ACK or RST belongs to
// the message id it names, a separate response to the token's latest exchange
// (RFC 7252, sections 4.2 to 5.3.2). So each block of a block-wise transfer is
// an exchange of its own.
func (a *Analyzer) addCoAP(f *flow, p *Packet, s *segment) {
	m, ok := parseCoAP(s.data, s.payload)
	if !ok {
		f.doubt = "a datagram between these ports is not CoAP"
		return
	}
	way := s.src == f.client
	own, peer := messageKey{way, m.id}, messageKey{!way, m.id}
	switch {
	case m.request():
		a.coapRequest(f, p, s, &m, own)
	case m.code == 0 && m.how <= non:
		a.c.Pings++
		delete(f.requests, own) // what names its message id from now on answers the ping
		delete(f.answers, own)
	case m.code == 0:
		e := f.requests[peer]
		if e == nil || f.answers[peer] != nil && f.answers[peer].index > e.index {
			e = f.answers[peer]
		}
		if e == nil {
			a.c.Pings++ // the answer to a ping
			return
		}
		e.take(p, s)
		e.Reset = e.Reset || m.how == rst && f.requests[peer] == e
		e.acked = e.acked || m.how == ack && f.answers[peer] == e
	case m.how == ack:
		a.coapResponse(f.requests[peer], f, p, s, &m, own)
	default:
		a.coapResponse(f.tokens[tokenKey{!way, m.token, m.tokens}], f, p, s, &m, own)
	}
}

// recent is how many exchanges of a flow may lie between a message and its
// repetition; message ids come round after 65,536.
const recent = 1 << 14

// outlived says whether a request with the message id of an exchange may be a new one: EXCHANGE_LIFETIME or
// NON_LIFETIME is over (RFC 7252, section 4.8.2), and nobody waits for an answer with longer timeouts.
func (e *UDPCall) outlived(now time.Duration, how uint8) bool {
	age := now - e.Start
	return how == non && age > 145*time.Second || e.answered && age > 247*time.Second
}

func (a *Analyzer) coapRequest(f *flow, p *Packet, s *segment, m *coapMessage, own messageKey) {
	tok := tokenKey{own.way, m.token, m.tokens}
	e := f.requests[own]
	if e != nil && e.tokenKey == tok && f.count-e.index < recent && !e.outlived(p.At, m.how) {
		e.Retransmissions++
		e.take(p, s)
		return
	}
	e = a.newUDPCall(f, p, s, "coap")
	e.MessageID, e.Token, e.tokenKey, e.observe = m.id, hex.EncodeToString(m.token[:m.tokens]), tok, m.observe
	e.take(p, s)
	f.requests[own], f.tokens[tok] = e, e
}

func (a *Analyzer) coapResponse(e *UDPCall, f *flow, p *Packet, s *segment, m *coapMessage, own messageKey) {
	switch {
	case e == nil || e.tokenKey.token != m.token || e.tokenKey.tokens != m.tokens:
		a.c.Unmatched++
		return
	case e.answered && e.responseID == m.id && e.responseHow == m.how:
		e.Retransmissions++
	case e.answered:
		a.c.Notifications++
		if !e.observe {
			e.refuse("it was answered twice")
		}
		return
	default:
		e.answered, e.lastData = true, p.At
		e.Separate, e.responseID, e.responseHow = m.how != ack, m.id, m.how
		if m.how == con {
			f.answers[own] = e
		}
	}
	e.take(p, s)
}
