package mqtt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrMalformed: not a packet that a broker sends, or not a right one.
var ErrMalformed = errors.New("malformed packet")

// ErrTooLong: a packet longer than the limit given.
var ErrTooLong = errors.New("mqtt: a packet that exceeds the limit")

func malformed(k Kind, what string) error {
	return fmt.Errorf("mqtt: %w: %v: %s", ErrMalformed, k, what)
}

// Decode reads the packet at the beginning of b, of at most limit bytes behind
// its head; 0 is no limit. It returns its length, 0 if b does not hold it whole.
func (p *Packet) Decode(v Version, b []byte, limit int) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	p.Kind = Kind(b[0] >> 4)
	n, size, err := varint(b[1:])
	switch {
	case err != nil:
		return 0, malformed(p.Kind, "length")
	case size == 0:
		return 0, nil
	case limit > 0 && n > limit:
		return 0, fmt.Errorf("%w of %d bytes: %v", ErrTooLong, limit, p.Kind)
	case len(b)-1-size < n:
		return 0, nil
	}
	whole := 1 + size + n
	return whole, p.body(v, b[0]&15, b[1+size:whole])
}

func (p *Packet) body(v Version, flags byte, b []byte) error {
	p.ID, p.Reason, p.Reasons, p.SessionPresent = 0, 0, nil, false
	r := reader{b: b, kind: p.Kind}
	if p.Kind == Publish {
		return p.publish(v, flags, &r)
	}
	if want := byte(when(p.Kind == Pubrel, 2)); flags != want {
		return malformed(p.Kind, "flags")
	}
	switch p.Kind {
	case Connack:
		p.connack(v, &r)
	case Puback, Pubrec, Pubrel, Pubcomp:
		p.ID = r.id()
		if v == V5 && len(r.b) > 0 {
			p.Reason = r.byte()
			r.optionalProperties(nil)
		}
	case Suback:
		p.ID = r.id()
		if v == V5 {
			r.properties(nil)
		}
		if p.Reasons, r.b = r.b, nil; len(p.Reasons) == 0 {
			r.fail("no reason code")
		}
	case Pingresp:
	case Disconnect:
		if v != V5 {
			r.fail("brokers do not send it in 3.1.1")
		}
		if len(r.b) > 0 {
			p.Reason = r.byte()
			r.optionalProperties(nil)
		}
	default:
		return malformed(p.Kind, "unexpected from a broker")
	}
	return r.end()
}

func (p *Packet) connack(v Version, r *reader) {
	flags := r.byte()
	if flags > 1 {
		r.fail("acknowledge flags")
	}
	p.SessionPresent, p.Reason = flags == 1, r.byte()
	if p.SessionPresent && p.Reason != 0 {
		r.fail("a refusal with a session")
	}
	p.Limits = unlimited
	old := p.Reason > 0 && p.Reason < 0x80 && len(r.b) == 0 // a broker that speaks 3.1.1 only refuses in its own way
	if v == V5 && !old {
		r.properties(p)
	}
}

// publish: section 3.3.
func (p *Packet) publish(v Version, flags byte, r *reader) error {
	p.Message = Message{QoS: flags >> 1 & 3, Dup: flags&8 != 0, Retain: flags&1 != 0}
	switch {
	case p.QoS == 3:
		r.fail("QoS 3")
	case p.QoS == 0 && p.Dup:
		r.fail("a duplicate of QoS 0")
	}
	if p.Topic = r.text(); bytes.ContainsAny(p.Topic, "+#") || v == V311 && len(p.Topic) == 0 {
		r.fail("topic")
	}
	if p.QoS > 0 {
		p.ID = r.id()
	}
	if v == V5 {
		if r.properties(p); len(p.Topic) == 0 { // no alias was allowed
			r.fail("no topic")
		}
	}
	p.Payload, r.b = r.b, nil
	return r.end()
}

// varint reads a number of up to four digits; size 0: more digits are to come.
func varint(b []byte) (n, size int, err error) {
	for i := range min(len(b), 4) {
		n |= int(b[i]&127) << (7 * i)
		if b[i] < 128 {
			if i > 0 && b[i] == 0 {
				return 0, 0, ErrMalformed // section 1.5.5: the fewest digits
			}
			return n, i + 1, nil
		}
	}
	if len(b) >= 4 {
		return 0, 0, ErrMalformed
	}
	return 0, 0, nil
}

// A reader takes fields off the front of a body; its first error stays.
type reader struct {
	b    []byte
	kind Kind
	err  error
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = malformed(r.kind, what)
	}
	r.b = nil
}

func (r *reader) end() error {
	if len(r.b) > 0 {
		r.fail("bytes after its end")
	}
	return r.err
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.fail("shorter than its length")
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) id() uint16 {
	n := r.uint16()
	if n == 0 {
		r.fail("packet identifier 0")
	}
	return n
}

func (r *reader) binary() []byte { return r.take(int(r.uint16())) }

// text is a UTF-8 string: section 1.5.4.
func (r *reader) text() []byte {
	s := r.binary()
	if !utf8.Valid(s) || bytes.IndexByte(s, 0) >= 0 {
		r.fail("text that is not UTF-8, or has a NUL")
	}
	return s
}
