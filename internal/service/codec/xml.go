package codec

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"sync"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

func appendXML(dst []byte, s *shape, m *service.Message) []byte {
	dst = append(dst, s.open...)
	for i := range s.fields {
		f := &s.fields[i]
		switch f.kind {
		case integers:
			for _, v := range m.Ints {
				dst = append(dst, f.open...)
				dst = strconv.AppendInt(dst, int64(v), 10)
				dst = append(dst, f.close...)
			}
			continue
		case texts:
			for _, t := range m.Strings {
				dst = append(dst, f.open...)
				dst = xmlstream.AppendText(dst, t)
				dst = append(dst, f.close...)
			}
			continue
		case decimals:
			for _, k := range m.Hundredths {
				dst = append(dst, f.open...)
				dst = service.AppendHundredths(dst, k)
				dst = append(dst, f.close...)
			}
			continue
		}
		dst = append(dst, f.open...)
		switch f.kind {
		case text:
			dst = xmlstream.AppendText(dst, *f.bytes(m))
		case octets:
			dst = base64.StdEncoding.AppendEncode(dst, *f.bytes(m))
		case integer:
			dst = strconv.AppendInt(dst, int64(*f.integer(m)), 10)
		case long:
			dst = strconv.AppendInt(dst, *f.long(m), 10)
		case decimal:
			dst = service.AppendHundredths(dst, *f.long(m))
		case boolean:
			dst = strconv.AppendBool(dst, *f.boolean(m))
		}
		dst = append(dst, f.close...)
	}
	return append(dst, s.close...)
}

// parsers keeps parsers for their buffers; they keep no document.
var parsers = sync.Pool{New: func() any { return new(xmlstream.Parser) }}

func decodeXML(b []byte, s *shape, m *service.Message) error {
	r := newXMLReader(b)
	r.root(s, m)
	return r.close(XML)
}

// An xmlReader reads messages off a parser. Its first problem, or the parser's,
// sticks.
type xmlReader struct {
	p       *xmlstream.Parser
	problem string
	at      int
	broken  error // the parser's, or a fault
}

func newXMLReader(b []byte) xmlReader {
	p := parsers.Get().(*xmlstream.Parser)
	p.Reset(b)
	return xmlReader{p: p}
}

// close reads what follows the root, gives the parser back, and tells what was
// wrong.
func (r *xmlReader) close(enc Encoding) error {
	r.next()
	r.p.Reset(nil)
	parsers.Put(r.p)
	if malformed, ok := r.broken.(*xmlstream.Error); ok {
		return &Error{enc, malformed.Offset, malformed.Problem}
	}
	if r.broken == nil && r.problem != "" {
		return &Error{enc, r.at, r.problem}
	}
	return r.broken
}

func (r *xmlReader) ok() bool { return r.broken == nil && r.problem == "" }

func (r *xmlReader) fail(problem string) {
	if r.ok() {
		r.problem, r.at = problem, r.p.Offset()
	}
}

// next reads the next event that is not white space between elements; EOF once
// anything went wrong.
func (r *xmlReader) next() xmlstream.Kind {
	for r.ok() {
		kind, err := r.p.Next()
		if err != nil {
			r.broken = err
		}
		if kind != xmlstream.Text {
			return kind
		}
		if len(trimSpace(r.p.Text())) > 0 {
			r.fail("text between elements")
		}
	}
	return xmlstream.EOF
}

func (r *xmlReader) root(s *shape, m *service.Message) {
	if r.next() == xmlstream.Start {
		r.message(s, m)
	}
}

// message reads the element just started, its end tag included. The schema is
// a sequence: each field has its place, and there are no others.
func (r *xmlReader) message(s *shape, m *service.Message) {
	s.reset(m)
	if !r.p.Name().Is(Namespace, s.name) {
		r.fail("element is " + describe(r.p.Name()) + ", want " + s.name + " in " + Namespace)
		return
	}
	r.attributes()
	i := 0
	for r.next() == xmlstream.Start {
		if i == len(s.fields) || !r.p.Name().Is(Namespace, s.fields[i].name) {
			r.fail("element " + describe(r.p.Name()) + " is unknown or out of place")
			return
		}
		f := &s.fields[i]
		r.attributes()
		content, err := r.p.Content()
		if err != nil {
			r.broken = err
			return
		}
		r.value(f, content, m)
		if !f.kind.repeated() {
			i++
		}
	}
	if i < len(s.fields) && !s.fields[i].kind.repeated() {
		r.fail("element " + s.fields[i].name + " is missing")
	}
}

func describe(n xmlstream.Name) string {
	return string(n.Local) + " in " + strconv.Quote(string(n.Space))
}

// attributes lets pass what a schema lets pass on any element: attributes of
// other namespaces, such as xsi:type, but not xsi:nil.
func (r *xmlReader) attributes() {
	const instance = "http://www.w3.org/2001/XMLSchema-instance"
	for _, a := range r.p.Attrs() {
		if len(a.Name.Space) == 0 || string(a.Name.Space) == Namespace {
			r.fail("attribute " + string(a.Name.Local) + " is unknown")
		}
		if a.Name.Is(instance, "nil") && isTrue(a.Value) {
			r.fail("element is nil")
		}
	}
}

func (r *xmlReader) value(f *field, content []byte, m *service.Message) {
	switch f.kind {
	case integers:
		m.Ints = append(m.Ints, r.int32(content))
	case texts:
		start := len(m.Arena)
		m.Arena = append(m.Arena, content...)
		m.EndString(start)
	case decimals:
		m.Hundredths = append(m.Hundredths, r.hundredths(content))
	case text:
		p := f.bytes(m)
		*p = append((*p)[:0], content...)
	case octets:
		p := f.bytes(m)
		*p = r.octets((*p)[:0], content)
	case integer:
		*f.integer(m) = r.int32(content)
	case long:
		*f.long(m) = r.int64(content)
	case decimal:
		*f.long(m) = r.hundredths(content)
	case boolean:
		content = trimSpace(content)
		*f.boolean(m) = isTrue(content)
		if !isTrue(content) && string(content) != "false" && string(content) != "0" {
			r.fail("a boolean was expected")
		}
	}
}

func isTrue(b []byte) bool { return string(b) == "true" || string(b) == "1" }

// number reads the lexical form of xs:decimal; xs:int and xs:long are those
// without a point.
func (r *xmlReader) number(content []byte, point bool) numeral {
	n, ok := plainNumeral(trimSpace(content), point)
	if !ok {
		r.fail("a number was expected")
	}
	return n
}

func (r *xmlReader) int64(content []byte) int64 {
	v, _, ok := r.number(content, false).scaled(0)
	if !ok {
		r.fail("integer is out of range")
	}
	return v
}

func (r *xmlReader) int32(content []byte) int32 {
	v, ok := inInt32(r.int64(content))
	if !ok {
		r.fail("integer is out of the range of int32")
	}
	return v
}

func (r *xmlReader) hundredths(content []byte) int64 {
	k, ok := r.number(content, true).hundredths()
	if !ok {
		r.fail("decimal is out of range")
	}
	return k
}

// octets reads base64, which may be broken by white space (XML Schema, part 2,
// section 3.2.16).
func (r *xmlReader) octets(dst, content []byte) []byte {
	if bytes.ContainsAny(content, " \t\r\n") {
		space := func(r rune) bool { return r < 0x80 && isSpace(byte(r)) } // Unicode has more of it than XML
		content = bytes.Join(bytes.FieldsFunc(content, space), nil)
	}
	out, ok := appendBase64(dst, content)
	if !ok {
		r.fail("text is not base64")
	}
	return out
}

// trimSpace trims XML's white space.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
