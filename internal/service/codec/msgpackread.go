package codec

import (
	"math"
	"slices"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service"
)

// decodeMsgPack reads a map. Of a field given twice the last one counts.
func decodeMsgPack(b []byte, s *shape, m *service.Message) error {
	s.reset(m)
	r := mpReader{reader{b: b}}
	var seen uint32
	left := r.length(0x80, 16, mpMap16-1, 1, "message is not a map")
	for next := 0; left > 0 && r.problem == ""; next++ {
		left--
		i := r.key(s, next)
		if i < 0 {
			r.skip(maxDepth)
			continue
		}
		seen |= 1 << i
		r.value(&s.fields[i], m)
	}
	return r.finish(MsgPack, s, seen)
}

// An mpReader reads the MessagePack specification of 2013 and later (with bin).
type mpReader struct{ reader }

func (r *mpReader) peek() byte {
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return mpUnused
}

// length reads a head with a length: the fixed form holds fixed lengths from
// base on; the long forms are format (8 bits of length), +1 (16), +2 (32), of
// which first is the first there is.
func (r *mpReader) length(base byte, fixed byte, format, first byte, problem string) uint64 {
	at := r.i
	c := r.peek()
	switch {
	case c-base < fixed:
		r.i++
		return uint64(c - base)
	case c-format < 3 && c-format >= first:
		r.i++
		return bigEndian(r.take(1 << (c - format)))
	}
	r.fail(at, problem)
	return 0
}

func (r *mpReader) array() (n uint64, size int) {
	n = r.length(0x90, 16, mpArray16-1, 1, "an array was expected")
	return n, int(min(n, uint64(len(r.b)-r.i))) // a claim is believed as far as there are bytes
}

func (r *mpReader) text() []byte {
	at := r.i
	b := r.take(r.length(0xa0, 32, mpStr8, 0, "a string was expected"))
	if !utf8.Valid(b) {
		r.fail(at, "string is not UTF-8")
	}
	return b
}

// key reads a key and finds its field. A key that is no string is unknown.
func (r *mpReader) key(s *shape, next int) int {
	if c := r.peek(); c-0xa0 < 32 || c-mpStr8 < 3 {
		return s.find(r.text(), next)
	}
	r.skip(maxDepth)
	return -1
}

func (r *mpReader) value(f *field, m *service.Message) {
	switch f.kind {
	case integers:
		n, size := r.array()
		m.Ints = slices.Grow(m.Ints[:0], size)
		for ; n > 0 && r.problem == ""; n-- {
			m.Ints = append(m.Ints, r.int32())
		}
	case texts:
		n, size := r.array()
		m.ResetStrings()
		m.Strings = slices.Grow(m.Strings, size)
		for ; n > 0 && r.problem == ""; n-- {
			start := len(m.Arena)
			m.Arena = append(m.Arena, r.text()...)
			m.EndString(start)
		}
	case decimals:
		n, size := r.array()
		m.Hundredths = slices.Grow(m.Hundredths[:0], size)
		for ; n > 0 && r.problem == ""; n-- {
			m.Hundredths = append(m.Hundredths, r.hundredths())
		}
	case text:
		p := f.bytes(m)
		*p = append((*p)[:0], r.text()...)
	case octets:
		p := f.bytes(m)
		*p = append((*p)[:0], r.take(r.length(0, 0, mpBin8, 0, "bytes were expected"))...)
	case integer:
		*f.integer(m) = r.int32()
	case long:
		*f.long(m) = r.int64()
	case decimal:
		*f.long(m) = r.hundredths()
	case boolean:
		c := r.peek()
		if c != mpTrue && c != mpFalse {
			r.fail(r.i, "a boolean was expected")
			return
		}
		r.i++
		*f.boolean(m) = c == mpTrue
	}
}

func (r *mpReader) int64() int64 {
	at := r.i
	c := r.peek()
	r.take(1)
	switch {
	case c < 0x80 || c >= 0xe0:
		return int64(int8(c))
	case c-mpUint8 < 4:
		v := bigEndian(r.take(1 << (c - mpUint8)))
		if v > math.MaxInt64 {
			r.fail(at, "integer is out of range")
		}
		return int64(v)
	case c-mpInt8 < 4:
		width := uint64(1) << (c - mpInt8)
		unused := 64 - 8*width
		return int64(bigEndian(r.take(width))<<unused) >> unused
	}
	r.fail(at, "an integer was expected")
	return 0
}

func (r *mpReader) int32() int32 {
	at := r.i
	return r.narrow(at, r.int64())
}

// hundredths reads a float of either width, or an integer: some encoders write
// 21.0 as 21.
func (r *mpReader) hundredths() int64 {
	at := r.i
	switch r.peek() {
	case mpFloat32:
		r.i++
		return r.round(at, float64(math.Float32frombits(uint32(bigEndian(r.take(4))))))
	case mpFloat64:
		r.i++
		return r.round(at, math.Float64frombits(bigEndian(r.take(8))))
	}
	return r.whole(at, r.int64())
}

// skip reads over a value, however it looks, to the given depth.
func (r *mpReader) skip(depth int) {
	if depth == 0 {
		r.fail(r.i, "value is nested too deep")
		return
	}
	c := r.peek()
	switch {
	case c < 0x80 || c >= 0xe0:
		r.i++
	case c-mpUint8 < 8: // of any 64 bits: what is unknown need not be in range
		r.take(1 + 1<<((c-mpUint8)%4))
	case c-0x80 < 16 || c-mpMap16 < 2:
		for n := r.length(0x80, 16, mpMap16-1, 1, ""); n > 0 && r.problem == ""; n-- {
			r.skip(depth - 1)
			r.skip(depth - 1)
		}
	case c-0x90 < 16 || c-mpArray16 < 2:
		for n := r.length(0x90, 16, mpArray16-1, 1, ""); n > 0 && r.problem == ""; n-- {
			r.skip(depth - 1)
		}
	case c-0xa0 < 32 || c-mpStr8 < 3:
		r.text()
	case c == mpNil || c == mpFalse || c == mpTrue:
		r.i++
	case c == mpFloat32:
		r.take(5)
	case c == mpFloat64:
		r.take(9)
	case c-mpBin8 < 3:
		r.take(r.length(0, 0, mpBin8, 0, ""))
	case c-mpExt8 < 3:
		n := r.length(0, 0, mpExt8, 0, "")
		r.take(n + 1)
	case c-mpFixExt1 < 5:
		r.take(2 + 1<<(c-mpFixExt1))
	default:
		r.fail(r.i, "unknown format, or the message is truncated")
	}
}
