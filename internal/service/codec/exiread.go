package codec

import (
	"errors"

	"edgegauge.example/edgegauge/internal/service"
)

// ErrTooLarge is what a message is whose values, unpacked, are more than a
// decoder was to take.
var ErrTooLarge = errors.New("the values of the message are too long together")

// An exiReader reads messages off bits.
type exiReader struct {
	bitReader
	room  int // bytes of text that may still be made
	large bool
}

func decodeEXI(b []byte, s *shape, m *service.Message, limit int) error {
	r := exiReader{bitReader: bitReader{b: b}, room: limit}
	r.header()
	if root := r.take(exiRootBits); root != s.exiRoot {
		r.fail("root is not " + s.name)
	}
	r.message(s, m)
	return r.close(EXISchema)
}

func (r *exiReader) header() {
	if r.take(8) != exiHeader {
		r.fail("header is not 80: a different version of EXI, or with a cookie or options")
	}
}

// close tells what was wrong. The bits to the last byte's end may be any.
func (r *exiReader) close(enc Encoding) error {
	if r.left() >= 8 {
		r.fail("unexpected data after the message")
	}
	switch {
	case r.large:
		return ErrTooLarge
	case r.problem != "":
		return &Error{enc, r.at, r.problem}
	}
	return nil
}

func (r *exiReader) message(s *shape, m *service.Message) {
	s.reset(m)
	var before []byte
	for i := range s.fields {
		if r.problem != "" {
			return
		}
		f := &s.fields[i]
		switch f.kind {
		case integers:
			for r.another() {
				m.Ints = append(m.Ints, r.int32())
			}
			continue
		case decimals:
			for r.another() {
				m.Hundredths = append(m.Hundredths, r.hundredths())
			}
			continue
		case texts:
			r.texts(m)
			continue
		}
		r.typed(f.kind)
		switch f.kind {
		case text:
			p := f.bytes(m)
			*p = r.text((*p)[:0], before)
			if len(before) == 0 {
				before = *p
			}
		case octets:
			p := f.bytes(m)
			*p = r.bitReader.octets((*p)[:0], r.unsigned())
		case integer:
			*f.integer(m) = r.int32()
		case long:
			*f.long(m) = r.integer()
		case decimal:
			*f.long(m) = r.hundredths()
		case boolean:
			*f.boolean(m) = r.take(1) == 1
		}
	}
}

// another says that another value of a repeated field comes, whose type could
// be replaced.
func (r *exiReader) another() bool {
	w := r.window()
	if w>>62 == 0 && r.left() >= 2 {
		r.advance(2)
		return true
	}
	if r.take(1) == 0 && r.problem == "" {
		r.typed(integers)
	}
	return false
}

// typed reads whether xsi:type replaces a type that can be.
func (r *exiReader) typed(k kind) {
	if exiReplaceable(k) == 1 && r.take(1) == 1 {
		r.fail("xsi:type is not supported")
	}
}

func (r *exiReader) int32() int32 {
	v, ok := inInt32(r.integer())
	if !ok {
		r.fail("integer is out of the range of int32")
	}
	return v
}

func (r *exiReader) hundredths() int64 {
	negative := r.take(1) == 1
	whole := r.unsigned()
	k := r.reversedFraction()
	if whole > service.MaxHundredths/100 || k > service.MaxHundredths-int64(whole)*100 {
		r.fail("decimal is out of range")
		return 0
	}
	k += int64(whole) * 100
	if negative {
		return -k
	}
	return k
}

// text appends the string of an element of which there is one, given the only
// string before it.
func (r *exiReader) text(dst, before []byte) []byte {
	switch n := r.unsigned(); {
	case n >= 2:
		return r.literal(dst, n-2)
	case n == 1 && len(before) > 0:
		dst = append(dst, before...)
		r.made(len(dst))
	default:
		r.fail("string is not in the table")
	}
	return dst
}

func (r *exiReader) literal(dst []byte, n uint64) []byte {
	if n > uint64(max(r.room, 0)) && n <= r.left()/8 {
		r.tooLarge()
		return dst
	}
	start := len(dst)
	dst = r.characters(dst, n)
	r.made(len(dst) - start)
	return dst
}

// made counts bytes of text. A string in the table is said in a few bits, so
// that a short message could ask for very many bytes.
func (r *exiReader) made(n int) {
	if r.room -= n; r.room < 0 {
		r.tooLarge()
	}
}

func (r *exiReader) tooLarge() {
	if r.problem == "" {
		r.large = true
		r.fail("the values are too long")
	}
}

// texts reads the strings of a repeated element. Only one element of a message
// is a string then, so that the two tables, of it and of all, are the same.
func (r *exiReader) texts(m *service.Message) {
	t := valueTables.Get().(*valueTable)
	defer valueTables.Put(t)
	t.entries = t.entries[:0]
	for r.another() {
		if n := r.unsigned(); n >= 2 {
			r.newString(t, m, n-2)
		} else {
			r.again(t, m, r.take(placeBits(len(t.entries))))
		}
	}
}

// again is a string that came before, at that place in the table.
func (r *exiReader) again(t *valueTable, m *service.Message, id uint64) {
	if id >= uint64(len(t.entries)) {
		r.fail("string is not in the table")
		return
	}
	v := m.Strings[t.entries[id].at]
	r.made(len(v))
	m.Strings = append(m.Strings, v)
}

// newString reads a string of n characters; none is no entry of the table.
func (r *exiReader) newString(t *valueTable, m *service.Message, n uint64) {
	start := len(m.Arena)
	m.Arena = r.literal(m.Arena, n)
	if n > 0 {
		t.entries = append(t.entries, valueEntry{at: uint32(len(m.Strings))})
	}
	m.EndString(start)
}
