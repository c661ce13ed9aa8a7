package codec

import (
	"math/bits"

	"edgegauge.example/edgegauge/internal/service"
)

// A kind is the type of a field.
type kind uint8

const (
	integers kind = iota // Message.Ints
	texts                // Message.Strings
	decimals             // Message.Hundredths
	text                 // UTF-8
	octets               // bytes
	integer              // int32
	long                 // int64
	decimal              // hundredths
	boolean
)

// repeated says that a field has any number of values, none included.
func (k kind) repeated() bool { return k <= decimals }

// A field is one field of a message. Of the accessors it has the one its kind
// needs; a repeated field needs none, there is one list of each kind.
type field struct {
	name    string
	kind    kind
	bytes   func(*service.Message) *[]byte // text, octets
	integer func(*service.Message) *int32
	long    func(*service.Message) *int64 // long, decimal
	boolean func(*service.Message) *bool

	// What the encodings write before (and XML after) the value.
	open, close   string // <name>, </name>
	key           string // "name":
	cbor, msgpack string // head and name
	tag           byte   // protobuf: number<<3 | wire type
}

// A shape is a message as a list of fields, in the order of the contract.
// The protobuf number of a field is its place, from 1.
type shape struct {
	name        string // of the XML root
	fields      []field
	open, close string // root tags with the namespace
	lists       bool   // some field is repeated
	required    uint32 // bit i: field i must be there, where absence can be seen

	exiRoot, exiChild uint64 // its place among the schema's roots, among what a Body may hold
}

// shapes are requests and responses by the service's place in service.Names.
var shapes = buildShapes()

func shapeOf(name service.Name, response bool) *shape {
	i := 0
	switch name {
	case service.Sort:
	case service.Concat:
		i = 2
	case service.Sum:
		i = 4
	case service.Echo:
		i = 6
	case service.Temperature:
		i = 8
	case service.Monitor:
		i = 10
	case service.IO:
		i = 12
	case service.Memory:
		i = 14
	default:
		panic("codec: no service " + string(name))
	}
	if response {
		i++
	}
	return &shapes[i]
}

func buildShapes() []shape {
	type m = service.Message
	n := field{name: "n", kind: integers}
	body := field{name: "text", kind: text, bytes: func(m *m) *[]byte { return &m.Text }}
	data := field{name: "data", kind: octets, bytes: func(m *m) *[]byte { return &m.Data }}
	digest := field{name: "digest", kind: octets, bytes: func(m *m) *[]byte { return &m.Digest }}
	all := []shape{
		newShape("sort", n),
		newShape("sortResponse", n),
		newShape("concat", field{name: "s", kind: texts}),
		newShape("concatResponse", body),
		newShape("sum", field{name: "x", kind: decimals}),
		newShape("sumResponse", field{name: "total", kind: decimal, long: func(m *m) *int64 { return &m.Total }}),
		newShape("echo", body),
		newShape("echoResponse", body),
		newShape("temperature"),
		newShape("temperatureResponse",
			field{name: "celsius", kind: decimal, long: func(m *m) *int64 { return &m.Celsius }},
			field{name: "time", kind: long, long: func(m *m) *int64 { return &m.Time }}),
		newShape("monitor",
			field{name: "id", kind: text, bytes: func(m *m) *[]byte { return &m.Record.ID }},
			field{name: "status", kind: integer, integer: func(m *m) *int32 { return &m.Record.Status }},
			field{name: "sequence", kind: integer, integer: func(m *m) *int32 { return &m.Record.Sequence }},
			field{name: "temperature", kind: decimal, long: func(m *m) *int64 { return &m.Record.Temperature }},
			field{name: "pressure", kind: decimal, long: func(m *m) *int64 { return &m.Record.Pressure }},
			field{name: "running", kind: boolean, boolean: func(m *m) *bool { return &m.Record.Running }},
			field{name: "message", kind: text, bytes: func(m *m) *[]byte { return &m.Record.Message }}),
		newShape("monitorResponse",
			field{name: "accepted", kind: boolean, boolean: func(m *m) *bool { return &m.Accepted }},
			field{name: "sequence", kind: integer, integer: func(m *m) *int32 { return &m.Sequence }}),
		newShape("io", data),
		newShape("ioResponse", digest),
		newShape("memory", data),
		newShape("memoryResponse", digest),
	}
	exiRoots(all)
	return all
}

func newShape(name string, fields ...field) shape {
	s := shape{
		name: name, fields: fields, required: 1<<len(fields) - 1,
		open: "<" + name + ` xmlns="` + Namespace + `">`, close: "</" + name + ">",
	}
	for i := range fields {
		f := &fields[i]
		f.open, f.close = "<"+f.name+">", "</"+f.name+">"
		f.key = `"` + f.name + `":`
		f.cbor = string(appendCBORHead(nil, cborText, uint64(len(f.name)))) + f.name
		f.msgpack = string(appendMsgPackText(nil, f.name))
		f.tag = byte(i+1)<<3 | wireType(f.kind)
		s.lists = s.lists || f.kind.repeated()
	}
	return s
}

// reset empties the lists of a message about to be decoded, and zeroes the
// rest: a message need not have every field.
func (s *shape) reset(m *service.Message) {
	s.resetLists(m)
	s.zero(m, s.required)
}

// resetLists empties the lists, to which a decoder appends.
func (s *shape) resetLists(m *service.Message) {
	if !s.lists {
		return
	}
	for i := range s.fields {
		switch s.fields[i].kind {
		case integers:
			m.Ints = m.Ints[:0]
		case texts:
			m.ResetStrings()
		case decimals:
			m.Hundredths = m.Hundredths[:0]
		}
	}
}

// zero gives the fields that which names (bit i: field i) their zero values,
// lists aside.
func (s *shape) zero(m *service.Message, which uint32) {
	for ; which != 0; which &= which - 1 {
		f := &s.fields[bits.TrailingZeros32(which)]
		switch f.kind {
		case text, octets:
			b := f.bytes(m)
			*b = (*b)[:0]
		case integer:
			*f.integer(m) = 0
		case long, decimal:
			*f.long(m) = 0
		case boolean:
			*f.boolean(m) = false
		}
	}
}

// find returns the place of the field of that name, or -1. It looks first where
// the field is if the sender keeps the order.
func (s *shape) find(name []byte, next int) int {
	if next < len(s.fields) && string(name) == s.fields[next].name {
		return next
	}
	for i := range s.fields {
		if string(name) == s.fields[i].name {
			return i
		}
	}
	return -1
}

// missing names the first required field not in seen, or "".
func (s *shape) missing(seen uint32) string {
	for i := range s.fields {
		if s.required&^seen&(1<<i) != 0 {
			return s.fields[i].name
		}
	}
	return ""
}
