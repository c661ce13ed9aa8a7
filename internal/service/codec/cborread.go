package codec

import (
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service"
)

// decodeCBOR reads a map, of definite length or not. A field given twice is
// refused: such a map is not valid (RFC 8949, section 5.6).
func decodeCBOR(b []byte, s *shape, m *service.Message) error {
	s.reset(m)
	r := cborReader{reader{b: b}}
	var seen uint32
	h := r.head()
	if h.major != cborMap {
		r.fail(0, "message is not a map")
	}
	items := r.items(h)
	for next := 0; items.more(&r); next++ {
		i := r.key(s, next)
		if i < 0 {
			r.skip(maxDepth)
			continue
		}
		if seen&(1<<i) != 0 {
			r.fail(r.i, "field "+s.fields[i].name+" appears twice")
		}
		seen |= 1 << i
		r.value(&s.fields[i], m)
	}
	return r.finish(CBOR, s, seen)
}

// A cborReader reads RFC 8949.
type cborReader struct{ reader }

// A cborHead is the head of a data item.
type cborHead struct {
	major    byte
	info     byte   // the lower five bits
	v        uint64 // the argument
	at       int
	infinite bool // of indefinite length; the break is major 7 and infinite
}

func (r *cborReader) head() (h cborHead) {
	h.at = r.i
	b := r.take(1)
	if b == nil {
		return h
	}
	h.major, h.info = b[0]>>5, b[0]&31
	switch h.info {
	case 24:
		h.v = bigEndian(r.take(1))
	case 25:
		h.v = bigEndian(r.take(2))
	case 26:
		h.v = bigEndian(r.take(4))
	case 27:
		h.v = bigEndian(r.take(8))
	case 28, 29, 30:
		r.fail(h.at, "reserved additional information")
	case 31:
		h.infinite = true
		if h.major < cborBytes || h.major == cborTag {
			r.fail(h.at, "this item cannot be of indefinite length")
		}
	default:
		h.v = uint64(h.info)
	}
	if h.major == cborSimple && h.info == 24 && h.v < 32 {
		r.fail(h.at, "simple value is encoded too long")
	}
	return h
}

// cborItems counts the items of an array or map, or looks for the break.
type cborItems struct {
	left     uint64
	infinite bool
}

func (r *cborReader) items(h cborHead) cborItems { return cborItems{h.v, h.infinite} }

func (c *cborItems) more(r *cborReader) bool {
	switch {
	case r.problem != "":
		return false
	case !c.infinite:
		c.left--
		return c.left != math.MaxUint64
	case r.i < len(r.b) && r.b[r.i] == cborBreak:
		r.i++
		return false
	}
	return true
}

// key reads a key and finds its field. A key that is not text is unknown.
func (r *cborReader) key(s *shape, next int) int {
	if r.i < len(r.b) && r.b[r.i]>>5 == cborText {
		var buffer [32]byte
		return s.find(r.text(buffer[:0], cborText), next)
	}
	r.skip(maxDepth)
	return -1
}

func (r *cborReader) value(f *field, m *service.Message) {
	switch f.kind {
	case integers:
		items, size := r.array()
		m.Ints = slices.Grow(m.Ints, size)
		for items.more(r) {
			m.Ints = append(m.Ints, r.int32())
		}
	case texts:
		items, size := r.array()
		m.Strings = slices.Grow(m.Strings, size)
		for items.more(r) {
			start := len(m.Arena)
			m.Arena = r.text(m.Arena, cborText)
			m.EndString(start)
		}
	case decimals:
		items, size := r.array()
		m.Hundredths = slices.Grow(m.Hundredths, size)
		for items.more(r) {
			m.Hundredths = append(m.Hundredths, r.hundredths())
		}
	case text:
		p := f.bytes(m)
		*p = r.text(*p, cborText)
	case octets:
		p := f.bytes(m)
		*p = r.text(*p, cborBytes)
	case integer:
		*f.integer(m) = r.int32()
	case long:
		*f.long(m) = r.int64()
	case decimal:
		*f.long(m) = r.hundredths()
	case boolean:
		h := r.head()
		*f.boolean(m) = h.info == cborTrue&31
		if h.major != cborSimple || h.info != cborTrue&31 && h.info != cborFalse&31 {
			r.fail(h.at, "a boolean was expected")
		}
	}
}

// array reads the head of an array, and how many items are worth room before
// they are seen: a claim is believed only as far as there are bytes behind it.
func (r *cborReader) array() (items cborItems, size int) {
	h := r.head()
	if h.major != cborArray {
		r.fail(h.at, "an array was expected")
	}
	return r.items(h), int(min(h.v, uint64(len(r.b)-r.i)))
}

// text appends a text or byte string, in one piece or in chunks.
func (r *cborReader) text(dst []byte, major byte) []byte {
	h := r.head()
	if h.major != major {
		r.fail(h.at, "a string of another kind was expected")
		return dst
	}
	if !h.infinite {
		return append(dst, r.chunk(h)...)
	}
	for chunks := r.items(h); chunks.more(r); {
		dst = append(dst, r.chunk(r.chunkHead(h))...)
	}
	return dst
}

// chunkHead reads the head of a chunk of the string h, which must be of its
// kind and definite (section 3.2.3).
func (r *cborReader) chunkHead(h cborHead) cborHead {
	c := r.head()
	if c.major != h.major || c.infinite {
		r.fail(c.at, "chunk of another kind")
	}
	return c
}

// chunk reads the bytes after the head h. Each chunk of a text must be UTF-8 by
// itself.
func (r *cborReader) chunk(h cborHead) []byte {
	b := r.take(h.v)
	if h.major == cborText && !utf8.Valid(b) {
		r.fail(h.at, "text is not UTF-8")
	}
	return b
}

func (r *cborReader) int64() int64 {
	h := r.head()
	if h.major > cborNegative {
		r.fail(h.at, "an integer was expected")
		return 0
	}
	if h.v > math.MaxInt64 {
		r.fail(h.at, "integer is out of range")
	}
	if h.major == cborNegative {
		return ^int64(h.v)
	}
	return int64(h.v)
}

func (r *cborReader) int32() int32 {
	at := r.i
	return r.narrow(at, r.int64())
}

// hundredths reads a float of any width, or an integer: some encoders write
// 21.0 as 21.
func (r *cborReader) hundredths() int64 {
	at := r.i
	if at < len(r.b) && r.b[at]>>5 <= cborNegative {
		return r.whole(at, r.int64())
	}
	h := r.head()
	switch {
	case h.major == cborSimple && h.info == 25:
		return r.round(at, halfFloat(uint16(h.v)))
	case h.major == cborSimple && h.info == 26:
		return r.round(at, float64(math.Float32frombits(uint32(h.v))))
	case h.major == cborSimple && h.info == 27:
		return r.round(at, math.Float64frombits(h.v))
	}
	r.fail(at, "a number was expected")
	return 0
}

// halfFloat is IEEE 754 binary16: sign, 5 bits of exponent, 10 of fraction.
func halfFloat(h uint16) float64 {
	exp, fraction := int(h>>10&31), float64(h&0x3ff)
	var x float64
	switch exp {
	case 0:
		x = math.Ldexp(fraction, -24)
	case 31:
		return math.NaN() // or infinite: out of range both
	default:
		x = math.Ldexp(fraction+1024, exp-25)
	}
	if h&0x8000 != 0 {
		return -x
	}
	return x
}

// skip reads over an item, however it looks, to the given depth.
func (r *cborReader) skip(depth int) {
	if depth == 0 {
		r.fail(r.i, "item is nested too deep")
		return
	}
	at := r.i
	h := r.head()
	switch h.major {
	case cborBytes, cborText:
		r.skipString(h)
	case cborArray, cborMap:
		for items := r.items(h); items.more(r); {
			if h.major == cborMap {
				r.skip(depth - 1)
			}
			r.skip(depth - 1)
		}
	case cborTag:
		r.skip(depth - 1)
	case cborSimple:
		if h.infinite {
			r.fail(at, "a break instead of an item")
		}
	}
}

func (r *cborReader) skipString(h cborHead) {
	if !h.infinite {
		r.chunk(h)
		return
	}
	for chunks := r.items(h); chunks.more(r); {
		r.chunk(r.chunkHead(h))
	}
}

// bigEndian is the number in b; nil is 0.
func bigEndian(b []byte) (v uint64) {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	return 0
}
