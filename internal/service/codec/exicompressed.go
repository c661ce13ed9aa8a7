package codec

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"sync"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service"
)

// EXI with compression (section 9): events and values are pulled apart, and all
// is in whole bytes, so that DEFLATE finds what repeats.
//
//	+----------+---------------------------------------+
//	| 10000000 | DEFLATE of structure and values       |  up to 100 values
//	+----------+--------------------+------------------+
//	| 10000000 | DEFLATE: structure | DEFLATE: values  |  more; again for each 1,000,000
//	+----------+--------------------+------------------+
//
// Values stand in a channel for each element, in the order in which elements
// come first; small channels share a stream. Here all values of a message with
// more than seven are of one element, so that two channels are enough.
const (
	exiBlock  = 1_000_000 // values of a block: the default
	exiShared = 100       // values of a block that shares one stream
)

// exiChannels are the memory of one message under way.
type exiChannels struct {
	structure, values []byte
	count             int // values of the block
	compressed        sink
	deflate           *flate.Writer

	source  bytes.Reader
	inflate io.ReadCloser
	unpack  []byte
	more    []byte
}

type sink struct{ b []byte }

func (s *sink) Write(b []byte) (int, error) {
	s.b = append(s.b, b...)
	return len(b), nil
}

var exiChannelPool = sync.Pool{New: func() any {
	c := new(exiChannels)
	c.deflate, _ = flate.NewWriter(&c.compressed, flate.DefaultCompression) // no level is wrong
	c.inflate = flate.NewReader(&c.source)
	return c
}}

func appendEXICompressed(dst []byte, s *shape, m *service.Message, envelope bool) []byte {
	c := exiChannelPool.Get().(*exiChannels)
	defer exiChannelPool.Put(c)
	c.begin(dst)
	if envelope {
		c.structure = append(c.structure, exiEnvelope, byte(s.exiChild))
	} else {
		c.structure = append(c.structure, byte(s.exiRoot))
	}
	c.message(s, m)
	return c.end()
}

func appendEXIFaultCompressed(dst []byte, f *Fault) []byte {
	c := exiChannelPool.Get().(*exiChannels)
	defer exiChannelPool.Put(c)
	c.begin(dst)
	c.structure = append(c.structure, exiEnvelope, exiFault, 0, 0, exiNamespaceXML, 0, exiXMLLang, 1)
	c.literal([]byte("soap:" + string(f.Code)))
	c.literal([]byte("en"))
	if f.Reason == "en" {
		c.values = append(c.values, 1, 1)
	} else {
		c.literal([]byte(f.Reason))
	}
	return c.end()
}

func (c *exiChannels) begin(dst []byte) {
	c.compressed.b = append(dst, exiHeader)
	c.structure, c.values, c.count = c.structure[:0], c.values[:0], 0
}

func (c *exiChannels) end() []byte {
	c.block()
	b := c.compressed.b
	c.compressed.b = nil
	return b
}

// block writes what there is.
func (c *exiChannels) block() {
	if c.count <= exiShared {
		c.structure = append(c.structure, c.values...)
		c.stream(c.structure)
	} else {
		c.stream(c.structure)
		c.stream(c.values)
	}
	c.structure, c.values, c.count = c.structure[:0], c.values[:0], 0
}

// stream appends b, deflated. A sink takes everything, so there is no error.
func (c *exiChannels) stream(b []byte) {
	c.deflate.Reset(&c.compressed)
	_, _ = c.deflate.Write(b)
	_ = c.deflate.Close()
}

// counted counts a value written, and ends the block that it fills.
func (c *exiChannels) counted() {
	if c.count++; c.count == exiBlock {
		c.block()
	}
}

func (c *exiChannels) message(s *shape, m *service.Message) {
	var before []byte
	for i := range s.fields {
		f := &s.fields[i]
		if f.kind.repeated() {
			c.repeated(f.kind, m)
			c.structure = append(c.structure, 1)
			continue
		}
		if exiReplaceable(f.kind) == 1 {
			c.structure = append(c.structure, 0)
		}
		switch f.kind {
		case text:
			v := *f.bytes(m)
			if len(v) > 0 && string(v) == string(before) {
				c.values = append(c.values, 1)
				break
			}
			c.literal(v)
			if len(before) == 0 {
				before = v
			}
		case octets:
			v := *f.bytes(m)
			c.values = append(binary.AppendUvarint(c.values, uint64(len(v))), v...)
		case integer:
			c.integer(int64(*f.integer(m)))
		case long:
			c.integer(*f.long(m))
		case decimal:
			c.decimal(*f.long(m))
		case boolean:
			c.values = append(c.values, 0)
			if *f.boolean(m) {
				c.values[len(c.values)-1] = 1
			}
		}
		c.counted()
	}
}

func (c *exiChannels) repeated(k kind, m *service.Message) {
	switch k {
	case integers:
		for _, v := range m.Ints {
			c.structure = append(c.structure, 0, 0)
			c.integer(int64(v))
			c.counted()
		}
	case decimals:
		for _, v := range m.Hundredths {
			c.structure = append(c.structure, 0, 0)
			c.decimal(v)
			c.counted()
		}
	case texts:
		t := valueTables.Get().(*valueTable)
		defer valueTables.Put(t)
		t.reset(len(m.Strings))
		for i, v := range m.Strings {
			c.structure = append(c.structure, 0, 0)
			n := len(t.entries)
			if id, ok := 0, false; len(v) == 0 {
				c.values = append(c.values, 2)
			} else if id, ok = t.add(m.Strings, i); ok {
				c.values = append(c.values, 0)
				for bits := placeBits(n); bits > 0; bits -= min(bits, 8) { // the least significant byte first
					c.values = append(c.values, byte(id))
					id >>= 8
				}
			} else {
				c.literal(v)
			}
			c.counted()
		}
	}
}

// integer, decimal and literal are those of a bitWriter in whole bytes. An
// Unsigned Integer is a varint as Go's are.
func (c *exiChannels) integer(v int64) {
	c.values = binary.AppendUvarint(append(c.values, byte(uint64(v)>>63)), uint64(v^v>>63))
}

func (c *exiChannels) decimal(k int64) {
	u := uint64(k)
	if k < 0 {
		u = -u
	}
	c.values = binary.AppendUvarint(append(c.values, byte(uint64(k)>>63)), u/100)
	c.values = append(c.values, reversed[u%100])
}

func (c *exiChannels) literal(v []byte) {
	w := bitWriter{dst: binary.AppendUvarint(c.values, uint64(utf8.RuneCount(v))+2)}
	w.characters(v)
	c.values = w.flush()
}
