package codec

import (
	"math/bits"
	"slices"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service"
)

// EXI, Efficient XML Interchange 1.0 (W3C Recommendation, second edition),
// informed by services.xsd or envelope12.xsd, strict, bit-packed, options out of
// band:
//
//	+----------+-----------+-------------------------------------------+------+
//	| 10000000 | root: 5   | fields                                    | zero |
//	+----------+-----------+-------------------------------------------+------+
//	 header     5 bits      each field: [SE or EE: 1] [CH: 1] value      to a byte
//
// The grammars are not derived from the schema but follow from what a shape
// knows, since the schema holds nothing but sequences of typed elements:
//
//   - The root is one of the schema's elements in the order of their names, with
//     one code more for any other (section 8.5.1).
//   - A field that stands once costs no bit. A repeated one has a bit before
//     each value, 0, and a 1 at its end (section 8.5.4.1.8).
//   - A type that others of XML Schema are derived from, as short is from int,
//     could be replaced by xsi:type: a bit before the value, 0, says it is not
//     (section 8.5.4.4.2). Of ours, boolean and base64Binary have none.
//   - Ends of elements and of the document cost nothing.
//
// In an envelope the root is Envelope, 0, and then the Body's child is one of 17
// in the order of the schema, the messages' and Fault. An interpreter of schemas
// would be some thousand lines that nothing here needs; the oracle in
// stacks/exificient holds the table to what one makes of the schema.
const (
	exiHeader   = 0x80 // no cookie, no options, final version 1 (section 5)
	exiRootBits = 5    // 16 messages and any other; 17 with Envelope
	exiEnvelope = 0    // capitals come first
	exiFault    = 16   // after the messages
)

// exiReplaceable says that the type of a field could be replaced by xsi:type.
func exiReplaceable(k kind) uint {
	if k == boolean || k == octets {
		return 0
	}
	return 1
}

// exiRoots gives each shape its place among the roots.
func exiRoots(shapes []shape) {
	var names []string
	for i := range shapes {
		names = append(names, shapes[i].name)
	}
	slices.Sort(names)
	for i := range shapes {
		at, _ := slices.BinarySearch(names, shapes[i].name)
		shapes[i].exiRoot, shapes[i].exiChild = uint64(at), uint64(i)
	}
}

func appendEXI(dst []byte, s *shape, m *service.Message) []byte {
	w := bitWriter{dst: append(dst, exiHeader)}
	w.put(s.exiRoot, exiRootBits)
	w.message(s, m)
	return w.flush()
}

func (w *bitWriter) message(s *shape, m *service.Message) {
	var before []byte // the value put into the table, if any: no message has two texts but monitor
	for i := range s.fields {
		f := &s.fields[i]
		switch f.kind {
		case integers:
			for _, v := range m.Ints {
				w.put(uint64(uint32(v))>>31, 3) // SE, CH, sign
				w.unsigned(uint64(uint32(v ^ v>>31)))
			}
			w.put(1, 1)
			continue
		case decimals:
			for _, k := range m.Hundredths {
				w.put(0, 2)
				w.decimal(k)
			}
			w.put(1, 1)
			continue
		case texts:
			w.texts(m.Strings)
			w.put(1, 1)
			continue
		}
		w.put(0, exiReplaceable(f.kind))
		switch f.kind {
		case text:
			v := *f.bytes(m)
			before = w.text(v, before)
		case octets:
			v := *f.bytes(m)
			w.unsigned(uint64(len(v)))
			w.octets(v)
		case integer:
			w.integer(int64(*f.integer(m)))
		case long:
			w.integer(*f.long(m))
		case decimal:
			w.decimal(*f.long(m))
		case boolean:
			v := uint64(0)
			if *f.boolean(m) {
				v = 1
			}
			w.put(v, 1)
		}
	}
}

// text appends a string of an element of which there is one, given the only
// string before it, and returns what the table holds then. A string that is in
// the table is a 1 and its place among the strings of all elements, which takes
// no bit if there is one; one that is not, its length plus 2 and its characters
// (section 7.3.3).
func (w *bitWriter) text(v, before []byte) []byte {
	if len(v) > 0 && string(v) == string(before) {
		w.unsigned(1)
		return before
	}
	w.literal(v)
	if len(before) > 0 {
		return before
	}
	return v
}

func (w *bitWriter) literal(v []byte) {
	w.unsigned(uint64(utf8.RuneCount(v)) + 2)
	w.characters(v)
}

// texts appends the strings of a repeated element. One that came before is a 0
// and its place among the strings of its element.
func (w *bitWriter) texts(all [][]byte) {
	t := valueTables.Get().(*valueTable)
	defer valueTables.Put(t)
	t.reset(len(all))
	for i, v := range all {
		w.put(0, 2)
		if len(v) == 0 { // never in the table
			w.unsigned(2)
			continue
		}
		n := len(t.entries)
		if id, ok := t.add(all, i); ok {
			w.unsigned(0)
			w.put(uint64(id), placeBits(n))
			continue
		}
		w.literal(v)
	}
}

// placeBits is the width of a place among n (section 7.1.9).
func placeBits(n int) uint { return uint(bits.Len(uint(max(n, 1) - 1))) }
