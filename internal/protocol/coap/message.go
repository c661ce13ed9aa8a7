package coap

import (
	"encoding/binary"
	"errors"
)

// A Message is one message:
//
//	 0                   1                   2                   3
//	|Ver| T |  TKL  |      Code     |          Message ID           |
//	| Token, TKL bytes, 0 to 8 …
//	| Options: (delta:4, length:4, extended delta, extended length, value) …
//	|1 1 1 1 1 1 1 1| Payload, at least one byte …
//
// RFC 7252, section 3. Reuse one Message for many: it keeps its slices' room.
type Message struct {
	Type    Type
	Code    Code
	ID      uint16
	Token   []byte // 0 to 8 bytes
	Options []Option
	Payload []byte

	scratch []byte // values of options added here
}

// What Decode finds wrong. A receiver ignores the first two and rejects the
// rest (RFC 7252, sections 3 and 4.2).
var (
	ErrShort       = errors.New("datagram ends within the header")
	ErrVersion     = errors.New("version is not 1")
	ErrTokenLength = errors.New("token length is above 8, or above what the datagram holds")
	ErrOption      = errors.New("option is longer than the datagram, numbered above 65535, or uses reserved value 15")
	ErrOptions     = errors.New("there are more than 1024 options")
	ErrNoPayload   = errors.New("nothing follows the payload marker")
	ErrNotEmpty    = errors.New("empty message carries a token, options or payload")
	ErrCode        = errors.New("code is of a reserved class, or does not fit the type")
)

// mostOptions bounds what a message of many bytes makes its receiver keep: an option takes one byte of it, and 32 here.
const mostOptions = 1024

// Clear makes m an empty message and keeps its room.
func (m *Message) Clear() {
	*m = Message{Options: m.Options[:0], scratch: m.scratch[:0]}
}

// Decode reads a datagram. Token, option values and payload alias b. After any
// error but ErrShort and ErrVersion, Type, Code and ID are set, so that the
// receiver can reject the message.
func (m *Message) Decode(b []byte) error {
	m.Clear()
	if len(b) < 4 {
		return ErrShort
	}
	if b[0]>>6 != 1 {
		return ErrVersion
	}
	m.Type, m.Code, m.ID = Type(b[0]>>4&3), Code(b[1]), binary.BigEndian.Uint16(b[2:])
	token := int(b[0] & 15)
	if m.Code == Empty && len(b) > 4 || m.Code == Empty && token != 0 {
		return ErrNotEmpty
	}
	if token > 8 || 4+token > len(b) {
		return ErrTokenLength
	}
	if !codeFits(m.Type, m.Code) {
		return ErrCode
	}
	m.Token = b[4 : 4+token : 4+token]
	return m.decodeOptions(b[4+token:])
}

// codeFits is table 1 of RFC 7252, section 4.3, and the reserved classes of
// section 3. A non-confirmable message may be Empty only to be ignored.
func codeFits(t Type, c Code) bool {
	if c.Class() == 1 || c.Class() > 5 || c.Class() == 3 {
		return false
	}
	switch t {
	case Acknowledgement:
		return !c.request()
	case Reset:
		return c == Empty
	}
	return true
}

func (m *Message) decodeOptions(b []byte) error {
	number := 0
	for len(b) > 0 {
		if b[0] == 0xff {
			if len(b) == 1 {
				return ErrNoPayload
			}
			m.Payload = b[1:]
			return nil
		}
		delta, length := int(b[0]>>4), int(b[0]&15)
		b = b[1:]
		var ok bool
		if delta, b, ok = extended(delta, b); !ok {
			return ErrOption
		}
		if length, b, ok = extended(length, b); !ok || length > len(b) {
			return ErrOption
		}
		if number += delta; number > 0xffff {
			return ErrOption
		}
		if len(m.Options) == mostOptions {
			return ErrOptions
		}
		m.Options = append(m.Options, Option{OptionNumber(number), b[:length:length]})
		b = b[length:]
	}
	return nil
}

// extended reads what follows a nibble: RFC 7252, section 3.1.
func extended(nibble int, b []byte) (int, []byte, bool) {
	switch {
	case nibble < 13:
		return nibble, b, true
	case nibble == 13 && len(b) >= 1:
		return int(b[0]) + 13, b[1:], true
	case nibble == 14 && len(b) >= 2:
		return int(binary.BigEndian.Uint16(b)) + 269, b[2:], true
	}
	return 0, nil, false
}

// Append writes the message behind dst. Options must be in ascending order, as
// Add leaves them, and the token at most 8 bytes long; else it panics.
func (m *Message) Append(dst []byte) []byte {
	if len(m.Token) > 8 {
		panic("coap: token of more than 8 bytes")
	}
	dst = append(dst, 1<<6|byte(m.Type&3)<<4|byte(len(m.Token)), byte(m.Code), byte(m.ID>>8), byte(m.ID))
	return m.appendContent(append(dst, m.Token...))
}

// appendContent appends options and payload.
func (m *Message) appendContent(dst []byte) []byte {
	prev := OptionNumber(0)
	for i := range m.Options {
		o := &m.Options[i]
		if o.Number < prev {
			panic("coap: options out of order")
		}
		dst = appendOption(dst, int(o.Number-prev), o.Value)
		prev = o.Number
	}
	if len(m.Payload) > 0 {
		dst = append(append(dst, 0xff), m.Payload...)
	}
	return dst
}

func appendOption(dst []byte, delta int, value []byte) []byte {
	d, l := nibble(delta), nibble(len(value))
	dst = append(dst, d<<4|l)
	dst = appendExtended(dst, d, delta)
	dst = appendExtended(dst, l, len(value))
	return append(dst, value...)
}

func nibble(v int) byte {
	switch {
	case v < 13:
		return byte(v)
	case v < 269:
		return 13
	}
	return 14
}

func appendExtended(dst []byte, nibble byte, v int) []byte {
	switch nibble {
	case 13:
		return append(dst, byte(v-13))
	case 14:
		return append(dst, byte((v-269)>>8), byte(v-269))
	}
	return dst
}

// appendEmpty writes an empty message: an acknowledgement, a reset, a ping.
func appendEmpty(dst []byte, t Type, id uint16) []byte {
	return append(dst, 1<<6|byte(t)<<4, 0, byte(id>>8), byte(id))
}
