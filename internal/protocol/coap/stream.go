package coap

import (
	"encoding/binary"
	"errors"
)

// Over TCP a message has no type and no ID; its length comes first (RFC 8323, section 3.2):
//
//	|  Len  |  TKL  | extended length, 0, 1, 2 or 4 bytes | Code | Token | Options … |11111111| Payload …
//
// Len counts the options, the marker and the payload.

// Signals of RFC 8323, section 5, and their options.
const (
	CSM     Code = 7<<5 | 1
	Ping    Code = 7<<5 | 2
	Pong    Code = 7<<5 | 3
	Release Code = 7<<5 | 4
	Abort   Code = 7<<5 | 5

	maxMessageSize OptionNumber = 2 // of a CSM
	blockWise      OptionNumber = 4 // likewise: blocks are understood, and with a limit above baseMessageSize BERT, too
	badCSMOption   OptionNumber = 2 // of an Abort
)

const (
	baseMessageSize = 1152 // B, what a peer takes that has not said otherwise (section 5.3.1)
	// overhead is room for header, token and options of a message sent whole.
	overhead = 128
)

// ErrStream means that what comes is no message of RFC 8323, or too large for
// what was announced. The connection is of no use any more.
var ErrStream = errors.New("malformed or too large message on the stream")

// AppendStream writes the message as it goes over TCP.
func (m *Message) AppendStream(dst []byte) []byte {
	if len(m.Token) > 8 {
		panic("coap: token of more than 8 bytes")
	}
	n := 0
	prev := OptionNumber(0)
	for i := range m.Options {
		o := &m.Options[i]
		n += 1 + extendedSize(int(o.Number-prev)) + extendedSize(len(o.Value)) + len(o.Value)
		prev = o.Number
	}
	if len(m.Payload) > 0 {
		n += 1 + len(m.Payload)
	}
	switch {
	case n < 13:
		dst = append(dst, byte(n)<<4|byte(len(m.Token)))
	case n < 269:
		dst = append(dst, 13<<4|byte(len(m.Token)), byte(n-13))
	case n < 65805:
		dst = append(dst, 14<<4|byte(len(m.Token)), byte((n-269)>>8), byte(n-269))
	default:
		dst = binary.BigEndian.AppendUint32(append(dst, 15<<4|byte(len(m.Token))), uint32(n-65805))
	}
	return m.appendContent(append(append(dst, byte(m.Code)), m.Token...))
}

func extendedSize(v int) int {
	switch nibble(v) {
	case 13:
		return 1
	case 14:
		return 2
	}
	return 0
}

// streamSize is how long the message is that b begins with; 0: more of it is
// needed to know. It reads nothing beyond the first 5 bytes.
func streamSize(b []byte) (int64, error) {
	if len(b) < 1 {
		return 0, nil
	}
	more := map[byte]int{13: 1, 14: 2, 15: 4}[b[0]>>4]
	if b[0]&15 > 8 {
		return 0, ErrStream
	}
	if len(b) < 1+more {
		return 0, nil
	}
	n := int64(b[0] >> 4)
	switch more {
	case 1:
		n = 13 + int64(b[1])
	case 2:
		n = 269 + int64(binary.BigEndian.Uint16(b[1:]))
	case 4:
		n = 65805 + int64(binary.BigEndian.Uint32(b[1:]))
	}
	return 2 + int64(more) + int64(b[0]&15) + n, nil
}

// DecodeStream reads the message that b begins with, and says how long it is;
// 0 means that b does not hold all of it. One of more than limit bytes is an error at
// once. Token, option values and payload alias b.
func (m *Message) DecodeStream(b []byte, limit int) (int, error) {
	m.Clear()
	size, err := streamSize(b)
	switch {
	case err != nil:
		return 0, err
	case size > int64(limit):
		return 0, ErrStream
	case size == 0 || size > int64(len(b)):
		return 0, nil
	}
	n := int(size)
	token := int(b[0] & 15)
	at := 1 + map[byte]int{13: 1, 14: 2, 15: 4}[b[0]>>4]
	m.Code = Code(b[at])
	if c := m.Code.Class(); c == 1 || c == 3 || c == 6 {
		return 0, ErrStream
	}
	m.Token = b[at+1 : at+1+token : at+1+token]
	if err := m.decodeOptions(b[at+1+token : n : n]); err != nil {
		return 0, ErrStream
	}
	return n, nil
}

// A signaler keeps what one end of a connection has said and heard about it.
type signaler struct {
	limit int    // B of a message taken, announced in the CSM
	most  int    // B of a message that the peer takes
	out   []byte // signals to send
	gone  bool   // Release or Abort was heard
	m     Message

	aborted bool // it was Abort
}

// greet begins a connection: the CSM is everybody's first message.
func (s *signaler) greet(limit int) {
	s.limit, s.most, s.gone, s.aborted = limit, baseMessageSize, false, false
	s.m.Clear()
	s.m.Code = CSM
	s.m.AddUint(maxMessageSize, uint32(limit))
	s.m.Add(blockWise, nil)
	s.out = s.m.AppendStream(s.out[:0])
}

// room is the largest body, in B, that goes to the peer in one message.
func (s *signaler) room() int { return max(s.most-overhead, 16) }

// heard takes a signal; an error is why the connection must end. Unknown critical
// options and codes are answered by Abort (section 5.2).
func (s *signaler) heard(m *Message) error {
	for _, o := range m.Options {
		if o.Number.Critical() {
			s.abort(o.Number)
			return ErrStream
		}
	}
	switch m.Code {
	case CSM:
		if v, ok := m.Uint(maxMessageSize); ok {
			s.most = int(min(v, 1<<30))
		}
	case Ping:
		s.m.Clear()
		s.m.Code, s.m.Token = Pong, m.Token
		s.out = s.m.AppendStream(s.out)
	case Release, Abort:
		s.gone, s.aborted = true, m.Code == Abort
	case Pong:
	default:
		s.abort(0)
		return ErrStream
	}
	return nil
}

func (s *signaler) abort(bad OptionNumber) {
	s.m.Clear()
	s.m.Code = Abort
	if bad != 0 {
		s.m.AddUint(badCSMOption, uint32(bad))
	}
	s.out = s.m.AppendStream(s.out)
}
