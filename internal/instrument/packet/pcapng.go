package packet

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"time"
)

// Block types and options of pcapng, draft-ietf-opsawg-pcapng, section 4.
const (
	blockSection    = 0x0a0d0d0a
	blockInterface  = 1
	blockPacket     = 2 // obsolete
	blockSimple     = 3
	blockStatistics = 5
	blockEnhanced   = 6

	byteOrderMagic = 0x1a2b3c4d

	optComment    = 1
	optName       = 2  // of an interface
	optResolution = 9  // of its stamps
	optFilter     = 11 //
	optOffset     = 14 // of its stamps, in s
	optFlags      = 2  // of a packet
	optReceived   = 4  // of statistics
	optDropped    = 5
	optDroppedOS  = 7
)

// An ngInterface says how to read the packets of one interface.
type ngInterface struct {
	link       LinkType
	resolution byte // as in the file: 10^-n s, or 2^-n s with the top bit set
	offset     int64
}

// nextNG reads blocks until one is a packet.
//
//	type u32 | total length u32 | body | total length u32
func (x *Reader) nextNG(p *Packet) error {
	for {
		typ, body, err := x.block()
		if err != nil {
			return err
		}
		switch typ {
		case blockSection:
			x.base += len(x.ifaces)
			x.ifaces = nil
		case blockInterface:
			err = x.readInterface(body)
		case blockStatistics:
			err = x.readStatistics(body)
		case blockSimple:
			err = x.corrupt("a simple packet block has no timestamp")
		case blockEnhanced, blockPacket:
			return x.readEnhanced(typ, body, p)
		}
		if err != nil {
			return err
		}
	}
}

// block reads one block and checks that both its lengths agree, so that a
// damaged length is not taken for a shorter capture.
func (x *Reader) block() (typ uint32, body []byte, err error) {
	head, err := x.read(8, true)
	if err != nil {
		return 0, nil, err
	}
	if binary.LittleEndian.Uint32(head) == blockSection { // a palindrome: the same in both orders
		if err := x.readOrder(); err != nil {
			return 0, nil, err
		}
	}
	if x.order == nil {
		return 0, nil, x.corrupt("no section header")
	}
	typ, n := x.order.Uint32(head), x.order.Uint32(head[4:])
	if n < 12 || n%4 != 0 || n > maxBlock || typ == blockSection && n < 28 {
		return 0, nil, x.corrupt("a block of %d bytes", n)
	}
	body, err = x.read(int(n)-8, false)
	if err != nil {
		return 0, nil, err
	}
	body, tail := body[:n-12], body[n-12:]
	if x.order.Uint32(tail) != n {
		return 0, nil, x.corrupt("a block begins with length %d and ends with %d", n, x.order.Uint32(tail))
	}
	return typ, body, nil
}

func (x *Reader) readOrder() error {
	magic, err := x.r.Peek(4)
	switch {
	case err == io.EOF:
		return ErrTruncated
	case err != nil:
		return err
	case binary.LittleEndian.Uint32(magic) == byteOrderMagic:
		x.order = binary.LittleEndian
	case binary.BigEndian.Uint32(magic) == byteOrderMagic:
		x.order = binary.BigEndian
	default:
		return x.corrupt("byte order mark %x", magic)
	}
	return nil
}

// options calls f for each option: code u16 | length u16 | value, padded to 4.
func (x *Reader) options(b []byte, f func(code uint16, value []byte) error) error {
	for len(b) >= 4 {
		code, n := x.order.Uint16(b), int(x.order.Uint16(b[2:]))
		if code == 0 {
			return nil
		}
		if 4+n > len(b) {
			return x.corrupt("option %d of %d bytes does not fit its block", code, n)
		}
		if err := f(code, b[4:4+n]); err != nil {
			return err
		}
		b = b[min(4+(n+3)&^3, len(b)):]
	}
	return nil
}

func (x *Reader) readInterface(b []byte) error {
	if len(b) < 8 {
		return x.corrupt("an interface block of %d bytes", len(b))
	}
	i := ngInterface{link: LinkType(x.order.Uint16(b)), resolution: 6}
	err := x.options(b[8:], func(code uint16, v []byte) error {
		switch {
		case code == optResolution && len(v) == 1:
			i.resolution = v[0]
		case code == optOffset && len(v) == 8:
			i.offset = int64(x.order.Uint64(v))
		case code == optResolution || code == optOffset:
			return x.corrupt("time option %d of %d bytes", code, len(v))
		}
		return nil
	})
	x.ifaces = append(x.ifaces, i)
	return err
}

func (x *Reader) readStatistics(b []byte) error {
	if len(b) < 12 {
		return x.corrupt("a statistics block of %d bytes", len(b))
	}
	id := int64(x.order.Uint32(b)) + int64(x.base)
	if id >= int64(x.base+len(x.ifaces)) {
		return x.corrupt("statistics of interface %d, which is not described", id)
	}
	var lost uint64
	err := x.options(b[12:], func(code uint16, v []byte) error {
		if (code == optDropped || code == optDroppedOS) && len(v) == 8 {
			lost += x.order.Uint64(v)
		}
		return nil
	})
	for int64(len(x.lost)) <= id {
		x.lost = append(x.lost, 0)
	}
	x.lost[id] = lost // Subtle: counts are totals, a later block replaces
	x.Dropped = 0
	for _, n := range x.lost {
		x.Dropped += n
	}
	return err
}

//	interface u32 | stamp high u32 | stamp low u32 | captured u32 | on the wire u32 | data | options
//
// The obsolete packet block has u16 | drops u16 in place of the first.
func (x *Reader) readEnhanced(typ uint32, b []byte, p *Packet) error {
	if len(b) < 20 {
		return x.corrupt("a packet block of %d bytes", len(b))
	}
	id := x.order.Uint32(b)
	if typ == blockPacket {
		id = uint32(x.order.Uint16(b))
	}
	if int64(id) >= int64(len(x.ifaces)) {
		return x.corrupt("a packet of interface %d, which is not described", id)
	}
	have, wire := x.order.Uint32(b[12:]), x.order.Uint32(b[16:])
	if int64(have) > int64(len(b)-20) || have > wire || wire > math.MaxInt32 {
		return x.corrupt("a packet of %d bytes on the wire, %d captured, in a block of %d", wire, have, len(b))
	}
	i := x.ifaces[id]
	at, ok := i.stamp(uint64(x.order.Uint32(b[4:]))<<32 | uint64(x.order.Uint32(b[8:])))
	if !ok {
		return x.corrupt("a timestamp beyond the year 2262")
	}
	*p = Packet{At: at, Data: b[20 : 20+have], Length: int(wire), Link: i.link, Interface: x.base + int(id),
		Tick: i.tick()}
	return x.options(b[min(20+(int(have)+3)&^3, len(b)):], func(code uint16, v []byte) error {
		if typ == blockEnhanced && code == optFlags && len(v) == 4 {
			p.Way = Way(x.order.Uint32(v) & 3 % 3)
		}
		return nil
	})
}

// tick is the distance of two stamps; 0: a nanosecond or less.
func (i ngInterface) tick() time.Duration {
	n := int(i.resolution & 0x7f)
	d := time.Duration(1e9 / math.Pow10(n))
	if i.resolution&0x80 != 0 {
		d = time.Second >> n
	}
	if d <= 1 {
		return 0
	}
	return d
}

// stamp converts a count of resolution steps to a time since 1970. What is
// finer than a nanosecond is cut off.
func (i ngInterface) stamp(t uint64) (time.Duration, bool) {
	var sec, ns uint64
	if n := uint(i.resolution & 0x7f); i.resolution&0x80 != 0 {
		if n > 63 {
			return 0, false
		}
		sec = t >> n
		hi, lo := bits.Mul64(t&(1<<n-1), 1e9)
		ns = hi<<(64-n) | lo>>n // Subtle: n of 0 shifts hi, which is 0, by 64: 0
	} else {
		if n > 19 {
			return 0, false
		}
		unit := uint64(1)
		for range n {
			unit *= 10
		}
		sec = t / unit
		hi, lo := bits.Mul64(t%unit, 1e9)
		ns, _ = bits.Div64(hi, lo, unit)
	}
	const last = math.MaxInt64/1_000_000_000 - 1
	if sec > last || i.offset > last || i.offset < -last || int64(sec)+i.offset > last || int64(sec)+i.offset < 0 {
		return 0, false
	}
	return time.Duration(int64(sec)+i.offset)*time.Second + time.Duration(ns), true
}
