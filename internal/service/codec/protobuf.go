package codec

import (
	"encoding/binary"
	"math"
	"slices"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service"
)

// The wire types of protobuf.
const (
	varint     = 0
	fixed64    = 1
	delimited  = 2
	startGroup = 3
	endGroup   = 4
	fixed32    = 5
)

func wireType(k kind) byte {
	switch k {
	case integer, long, boolean:
		return varint
	case decimal:
		return fixed64
	}
	return delimited
}

func appendProtobuf(dst []byte, s *shape, m *service.Message) []byte {
	for i := range s.fields {
		f := &s.fields[i]
		switch f.kind {
		case integers:
			dst = appendPackedInts(dst, f.tag, m.Ints)
		case decimals:
			dst = appendPackedDoubles(dst, f.tag, m.Hundredths)
		case texts:
			for _, t := range m.Strings {
				dst = appendDelimited(append(dst, f.tag), t)
			}
		case text, octets:
			dst = appendDelimited(append(dst, f.tag), *f.bytes(m))
		case integer:
			dst = binary.AppendUvarint(append(dst, f.tag), uint64(*f.integer(m)))
		case long:
			dst = binary.AppendUvarint(append(dst, f.tag), uint64(*f.long(m)))
		case decimal:
			dst = appendDouble(append(dst, f.tag), *f.long(m))
		case boolean:
			dst = append(dst, f.tag, 0)
			if *f.boolean(m) {
				dst[len(dst)-1] = 1
			}
		}
	}
	return dst
}

func appendDelimited(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

func appendDouble(dst []byte, k int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(k)/100))
}

func appendPackedInts(dst []byte, tag byte, ints []int32) []byte {
	if len(ints) == 0 {
		return dst
	}
	size := 0
	for _, v := range ints {
		size += varintSize(uint64(v))
	}
	dst = slices.Grow(binary.AppendUvarint(append(dst, tag), uint64(size)), size)
	for _, v := range ints {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	return dst
}

func appendPackedDoubles(dst []byte, tag byte, ks []int64) []byte {
	if len(ks) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(ks))*8)
	dst = slices.Grow(dst, len(ks)*8)
	for _, k := range ks {
		dst = appendDouble(dst, k)
	}
	return dst
}

func varintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

// protobufReader reads the wire format. Its first problem sticks, and ends the
// input: every read after it gives zeros.
type protobufReader struct {
	b       []byte
	i       int
	problem string
	at      int
}

func decodeProtobuf(b []byte, s *shape, m *service.Message) error {
	s.resetLists(m)
	r := protobufReader{b: b}
	seen, next := uint32(0), 0
	for r.i < len(r.b) {
		// A sender that keeps the order has field next here, or the repeated one before it again.
		if next < len(s.fields) && r.b[r.i] == s.fields[next].tag {
			r.i++
			r.value(&s.fields[next], m)
			seen |= 1 << next
			if s.fields[next].kind != texts {
				next++
			}
			continue
		}
		number, wire := r.key()
		if number <= uint64(len(s.fields)) && r.problem == "" && r.field(&s.fields[number-1], wire, m) {
			seen |= 1 << (number - 1)
			next = int(number)
			continue
		}
		r.skip(number, wire, maxDepth)
	}
	if r.problem != "" {
		return &Error{Protobuf, r.at, r.problem}
	}
	s.zero(m, s.required&^seen)
	return nil
}

func (r *protobufReader) fail(at int, problem string) {
	if r.problem == "" {
		r.problem, r.at = problem, at
	}
	r.b = r.b[:r.i]
}

// field reads a value of f, packed or not. It returns false if the wire type is
// not one of f's: such a field is unknown, as protobuf has it.
func (r *protobufReader) field(f *field, wire byte, m *service.Message) bool {
	switch {
	case wire == f.tag&7:
		r.value(f, m)
	case f.kind == integers && wire == varint:
		m.Ints = append(m.Ints, r.int32())
	case f.kind == decimals && wire == fixed64:
		m.Hundredths = append(m.Hundredths, r.double())
	default:
		return false
	}
	return true
}

// value reads a value of f in the wire type that the canonical form has.
func (r *protobufReader) value(f *field, m *service.Message) {
	switch f.kind {
	case integers:
		r.packedInts(m)
	case decimals:
		r.packedDoubles(m)
	case texts:
		start := len(m.Arena)
		m.Arena = append(m.Arena, r.text()...)
		m.EndString(start)
	case text:
		p := f.bytes(m)
		*p = append((*p)[:0], r.text()...)
	case octets:
		p := f.bytes(m)
		*p = append((*p)[:0], r.delimited()...)
	case integer:
		*f.integer(m) = r.int32()
	case long:
		*f.long(m) = int64(r.varint())
	case decimal:
		*f.long(m) = r.double()
	case boolean:
		*f.boolean(m) = r.varint() != 0
	}
}

func (r *protobufReader) key() (number uint64, wire byte) {
	start := r.i
	key := r.varint()
	if key>>3 == 0 || key>>3 > 1<<29-1 {
		r.fail(start, "field number is out of range")
	}
	return key >> 3, byte(key & 7)
}

func (r *protobufReader) varint() uint64 {
	if r.i < len(r.b) && r.b[r.i] < 0x80 {
		r.i++
		return uint64(r.b[r.i-1])
	}
	return r.longVarint()
}

func (r *protobufReader) longVarint() uint64 {
	v, n := binary.Uvarint(r.b[r.i:])
	if n <= 0 {
		r.fail(r.i, "varint is truncated or too long")
		return 0
	}
	r.i += n
	return v
}

func (r *protobufReader) int32() int32 {
	start := r.i
	v, ok := inInt32(int64(r.varint()))
	if !ok {
		r.fail(start, "number is out of the range of int32")
	}
	return v
}

func (r *protobufReader) fixed(n int) []byte {
	if len(r.b)-r.i < n {
		r.fail(r.i, "message is truncated")
		return nil
	}
	r.i += n
	return r.b[r.i-n : r.i]
}

func (r *protobufReader) double() int64 {
	start := r.i
	b := r.fixed(8)
	if b == nil {
		return 0
	}
	k, ok := toHundredths(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	if !ok {
		r.fail(start, "decimal is out of range")
	}
	return k
}

func (r *protobufReader) delimited() []byte {
	start := r.i
	n := r.varint()
	if n > uint64(len(r.b)-r.i) {
		r.fail(start, "length exceeds the message")
		return nil
	}
	return r.fixed(int(n))
}

func (r *protobufReader) text() []byte {
	b := r.delimited()
	if !utf8.Valid(b) {
		r.fail(r.i-len(b), "text is not UTF-8")
	}
	return b
}

func (r *protobufReader) packedInts(m *service.Message) {
	p := r.packed()
	count := 0 // of last bytes of varints: the exact number of values
	for _, c := range p.b[p.i:] {
		if c < 0x80 {
			count++
		}
	}
	m.Ints = slices.Grow(m.Ints, count)
	for p.i < len(p.b) {
		m.Ints = append(m.Ints, p.int32())
	}
	r.adopt(&p)
}

func (r *protobufReader) packedDoubles(m *service.Message) {
	p := r.packed()
	m.Hundredths = slices.Grow(m.Hundredths, (len(p.b)-p.i)/8)
	for p.i < len(p.b) {
		m.Hundredths = append(m.Hundredths, p.double())
	}
	r.adopt(&p)
}

// packed returns a reader that ends where the delimited field at r ends.
func (r *protobufReader) packed() protobufReader {
	b := r.delimited()
	return protobufReader{b: r.b[:r.i], i: r.i - len(b)}
}

// adopt takes over what went wrong in a packed field.
func (r *protobufReader) adopt(p *protobufReader) {
	if p.problem != "" {
		r.fail(p.at, p.problem)
	}
}

// skip reads over an unknown field, groups within groups to the given depth.
func (r *protobufReader) skip(number uint64, wire byte, depth int) {
	switch wire {
	case varint:
		r.varint()
	case fixed64:
		r.fixed(8)
	case delimited:
		r.delimited()
	case fixed32:
		r.fixed(4)
	case startGroup:
		r.skipGroup(number, depth)
	default:
		r.fail(r.i, "wire type is not one of 0, 1, 2, 3, 5")
	}
}

func (r *protobufReader) skipGroup(number uint64, depth int) {
	if depth == 0 {
		r.fail(r.i, "groups are nested too deep")
	}
	for r.problem == "" {
		if r.i == len(r.b) {
			r.fail(r.i, "group is truncated")
			return
		}
		inner, wire := r.key()
		if wire == endGroup {
			if inner != number {
				r.fail(r.i, "group is closed by a different number")
			}
			return
		}
		r.skip(inner, wire, depth-1)
	}
}
