package codec

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service"
)

// appendLines writes each value on a line of its own, line feed included.
func appendLines(dst []byte, s *shape, m *service.Message) []byte {
	for i := range s.fields {
		f := &s.fields[i]
		switch f.kind {
		case integers:
			for _, v := range m.Ints {
				dst = append(strconv.AppendInt(dst, int64(v), 10), '\n')
			}
			continue
		case texts:
			for _, t := range m.Strings {
				dst = append(appendLine(dst, t), '\n')
			}
			continue
		case decimals:
			for _, k := range m.Hundredths {
				dst = append(service.AppendHundredths(dst, k), '\n')
			}
			continue
		case text:
			dst = appendLine(dst, *f.bytes(m))
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
		dst = append(dst, '\n')
	}
	return dst
}

// appendLine escapes the two characters that a line cannot hold as they are.
func appendLine(dst, text []byte) []byte {
	for {
		i := bytes.IndexAny(text, "\\\n")
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(append(dst, text[:i]...), '\\', text[i])
		if text[i] == '\n' {
			dst[len(dst)-1] = 'n'
		}
		text = text[i+1:]
	}
}

func decodeLines(b []byte, s *shape, m *service.Message) error {
	s.reset(m)
	r := lineReader{reader{b: b}}
	for i := range s.fields {
		f := &s.fields[i]
		if !f.kind.repeated() {
			r.value(f, m)
			continue
		}
		for r.i < len(r.b) { // a repeated field is the only one of its message
			r.value(f, m)
		}
	}
	return r.finish(Text, s, s.required)
}

// A lineReader reads values off lines.
type lineReader struct{ reader }

// line reads up to the next line feed, which it drops.
func (r *lineReader) line() []byte {
	n := bytes.IndexByte(r.b[r.i:], '\n')
	if n < 0 {
		r.fail(r.i, "line is truncated or missing")
		return nil
	}
	line := r.b[r.i : r.i+n]
	r.i += n + 1
	return line
}

func (r *lineReader) value(f *field, m *service.Message) {
	at := r.i
	line := r.line()
	switch f.kind {
	case integers:
		m.Ints = append(m.Ints, r.narrow(at, r.int64(at, line)))
	case texts:
		start := len(m.Arena)
		m.Arena = r.text(at, m.Arena, line)
		m.EndString(start)
	case decimals:
		m.Hundredths = append(m.Hundredths, r.hundredths(at, line))
	case text:
		p := f.bytes(m)
		*p = r.text(at, *p, line)
	case octets:
		p := f.bytes(m)
		var ok bool
		if *p, ok = appendBase64(*p, line); !ok {
			r.fail(at, "line is not base64")
		}
	case integer:
		*f.integer(m) = r.narrow(at, r.int64(at, line))
	case long:
		*f.long(m) = r.int64(at, line)
	case decimal:
		*f.long(m) = r.hundredths(at, line)
	case boolean:
		*f.boolean(m) = string(line) == "true"
		if string(line) != "true" && string(line) != "false" {
			r.fail(at, "a boolean was expected")
		}
	}
}

func (r *lineReader) int64(at int, line []byte) int64 {
	n, ok := plainNumeral(line, false)
	v, _, inRange := n.scaled(0)
	if !ok || !inRange {
		r.fail(at, "an integer was expected")
	}
	return v
}

func (r *lineReader) hundredths(at int, line []byte) int64 {
	n, ok := plainNumeral(line, true)
	k, inRange := n.hundredths()
	if !ok || !inRange {
		r.fail(at, "a decimal was expected")
	}
	return k
}

func (r *lineReader) text(at int, dst, line []byte) []byte {
	if !utf8.Valid(line) {
		r.fail(at, "line is not UTF-8")
	}
	for {
		i := bytes.IndexByte(line, '\\')
		if i < 0 {
			return append(dst, line...)
		}
		dst = append(dst, line[:i]...)
		switch {
		case i+1 < len(line) && line[i+1] == '\\':
			dst = append(dst, '\\')
		case i+1 < len(line) && line[i+1] == 'n':
			dst = append(dst, '\n')
		default:
			r.fail(at, "unknown escape")
			return dst
		}
		line = line[i+2:]
	}
}
