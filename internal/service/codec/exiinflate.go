package codec

import (
	"compress/flate"
	"io"

	"edgegauge.example/edgegauge/internal/service"
)

// exiMostUnpacked bounds what is unpacked where the caller asks for no limit, in bytes.
const exiMostUnpacked = 1 << 30

// decodeEXICompressed reads a message whose channels, unpacked, have no more
// bytes than limit and a few: they are never longer than its XML.
func decodeEXICompressed(enc Encoding, b []byte, s *shape, m *service.Message, envelope bool, limit int) error {
	c := exiChannelPool.Get().(*exiChannels)
	defer exiChannelPool.Put(c)
	r := exiInflater{exiReader: exiReader{room: limit}, c: c, packed: b, left: min(limit, exiMostUnpacked) + 64}
	s.reset(m)
	var fault *Fault
	if len(b) == 0 || b[0] != exiHeader {
		r.fail("header is not 80: a different version of EXI, or with a cookie or options")
	} else {
		r.packed = b[1:]
		fault = r.document(s, m, envelope)
	}
	c.source.Reset(nil)
	if len(r.packed) > 0 && r.problem == "" {
		r.fail("unexpected data after the message")
	}
	if r.problem != "" {
		r.at = len(b) - len(r.packed)
	}
	if err := r.close(enc); err != nil || fault == nil {
		return err
	}
	return fault
}

// An exiInflater reads the structure of a block and then, as an exiReader, its
// values.
type exiInflater struct {
	exiReader
	c         *exiChannels
	packed    []byte // not unpacked yet
	left      int    // bytes that may still be unpacked
	structure []byte // of this block, and what follows it in its stream
	table     *valueTable
}

// stream unpacks the next stream.
func (r *exiInflater) stream(dst []byte) []byte {
	r.c.source.Reset(r.packed)
	if err := r.c.inflate.(flate.Resetter).Reset(&r.c.source, nil); err != nil {
		r.fail(err.Error())
		return dst
	}
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.c.inflate.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if r.left -= n; r.left < 0 {
			r.tooLarge()
			return dst
		}
		switch {
		case err == io.EOF:
			r.packed = r.packed[len(r.packed)-r.c.source.Len():]
			return dst
		case err != nil:
			r.fail("message is truncated or not deflated")
			return dst
		}
	}
}

// code reads an event code, or part of a name, below limit.
func (r *exiInflater) code(limit byte) byte {
	if len(r.structure) == 0 || r.structure[0] >= limit {
		r.fail("event code is out of range or truncated")
		return 0
	}
	v := r.structure[0]
	r.structure = r.structure[1:]
	return v
}

func (r *exiInflater) block() {
	r.c.unpack = r.stream(r.c.unpack[:0])
	r.structure = r.c.unpack
}

// open makes the values of a block of n readable; its structure has been read.
func (r *exiInflater) open(n int) {
	if r.problem != "" {
		return
	}
	if n <= exiShared {
		r.b, r.i, r.bit = r.structure, 0, 0
		r.structure = nil
		return
	}
	if len(r.structure) > 0 {
		r.fail("unexpected data after the structure")
		return
	}
	r.c.more = r.stream(r.c.more[:0])
	if r.problem == "" {
		r.b, r.i, r.bit = r.c.more, 0, 0
	}
}

// shut sees that all values were read.
func (r *exiInflater) shut() {
	if r.problem == "" && r.i < len(r.b) {
		r.fail("unexpected data after the values")
	}
	r.b, r.i = nil, 0
}

func (r *exiInflater) document(s *shape, m *service.Message, envelope bool) *Fault {
	r.block()
	if envelope {
		if r.code(1<<exiRootBits) != exiEnvelope {
			r.fail("root is not Envelope")
		}
		child := uint64(r.code(1 << exiRootBits))
		if child == exiFault && r.problem == "" {
			return r.fault()
		}
		if child != s.exiChild {
			r.fail("Body does not hold " + s.name)
		}
	} else if uint64(r.code(1<<exiRootBits)) != s.exiRoot {
		r.fail("root is not " + s.name)
	}
	if s.lists {
		r.list(s.fields[0].kind, m)
		return nil
	}
	for i := range s.fields {
		if exiReplaceable(s.fields[i].kind) == 1 && r.code(2) == 1 {
			r.fail("xsi:type is not supported")
		}
	}
	r.open(len(s.fields))
	r.single(s, m)
	r.shut()
	return nil
}

func (r *exiInflater) single(s *shape, m *service.Message) {
	var before []byte
	for i := range s.fields {
		f := &s.fields[i]
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
			r.sign()
			*f.integer(m) = r.int32()
		case long:
			r.sign()
			*f.long(m) = r.integer()
		case decimal:
			r.sign()
			*f.long(m) = r.hundredths()
		case boolean:
			r.sign()
			*f.boolean(m) = r.take(1) == 1
		}
	}
}

// sign moves to the last bit of the byte that holds one bit.
func (r *exiInflater) sign() {
	if r.take(7) != 0 {
		r.fail("a bit is neither 0 nor 1")
	}
}

// list reads the values of the one repeated field, block after block.
func (r *exiInflater) list(k kind, m *service.Message) {
	r.table = valueTables.Get().(*valueTable)
	defer valueTables.Put(r.table)
	r.table.entries = r.table.entries[:0]
	for {
		n, last := 0, false
		for n < exiBlock && r.problem == "" {
			if last = r.code(2) == 1; last {
				break
			}
			if r.code(2) == 1 {
				r.fail("xsi:type is not supported")
			}
			n++
		}
		r.open(n)
		for range n {
			if r.problem != "" {
				return
			}
			r.item(k, m)
		}
		r.shut()
		if last || r.problem != "" {
			return
		}
		r.block()
	}
}

func (r *exiInflater) item(k kind, m *service.Message) {
	switch k {
	case integers:
		r.sign()
		m.Ints = append(m.Ints, r.int32())
	case decimals:
		r.sign()
		m.Hundredths = append(m.Hundredths, r.hundredths())
	case texts:
		n := r.unsigned()
		if n >= 2 {
			r.newString(r.table, m, n-2)
			return
		}
		id := uint64(0)
		for shift, bits := uint(0), placeBits(len(r.table.entries)); bits > 0; bits -= min(bits, 8) {
			id |= r.take(8) << shift
			shift += 8
		}
		r.again(r.table, m, id)
	}
}

// fault reads the rest of a fault's structure and its values.
func (r *exiInflater) fault() *Fault {
	if r.code(2) == 1 {
		r.fail("xsi:type is not supported")
	}
	attributes := 0
	for ; r.problem == "" && r.code(2) == 0; attributes++ {
		if r.code(8) != exiNamespaceXML || r.code(0x80) != 0 || attributes == 1<<exiXMLNameBits {
			r.fail("attribute is not one of XML's")
		}
		r.code(1 << exiXMLNameBits)
	}
	r.open(attributes + 2)
	var all [][]byte
	next := func() []byte { return r.value(&all, 8) }
	code := next()
	for range attributes {
		next()
	}
	reason := next()
	r.shut()
	return &Fault{faultCode(code), string(trimSpace(reason))}
}
