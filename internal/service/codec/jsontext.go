package codec

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

func (r *jsonReader) octets(dst []byte) []byte {
	start := r.i
	if r.peek() != '"' {
		r.fail(start, "a string was expected")
		return dst
	}
	end := start + 1
	for end < len(r.b) && jsonPlain[r.b[end]] {
		end++
	}
	if end < len(r.b) && r.b[end] == '"' {
		r.i = end + 1
		return r.base64(dst, r.b[start+1:end], start)
	}
	return r.base64(dst, r.text(nil), start) // rare: an escaped slash
}

func (r *jsonReader) base64(dst, src []byte, at int) []byte {
	out, ok := appendBase64(dst, src)
	if !ok {
		r.fail(at, "string is not base64")
	}
	return out
}

// text appends the string at r, unescaped.
func (r *jsonReader) text(dst []byte) []byte {
	r.expect('"', "a string was expected")
	for {
		run, escaped, done := r.piece()
		dst = append(dst, run...)
		if done {
			return dst
		}
		dst = utf8.AppendRune(dst, escaped)
	}
}

// piece reads what stands for itself, and then the closing quote or one escape.
func (r *jsonReader) piece() (run []byte, escaped rune, done bool) {
	start := r.i
	for r.i < len(r.b) && jsonPlain[r.b[r.i]] {
		r.i++
	}
	run = r.b[start:r.i]
	if !utf8.Valid(run) {
		r.fail(start, "string is not UTF-8")
	}
	switch r.peek() {
	case '"':
		r.i++
		return run, 0, true
	case '\\':
		escaped = r.escape()
		return run, escaped, r.problem != ""
	}
	r.fail(start, "string is truncated or has a control character")
	return run, 0, true
}

// escape reads the escape sequence at r.
func (r *jsonReader) escape() rune {
	at := r.i
	r.i++
	c := r.peek()
	r.i++
	switch c {
	case '"', '\\', '/':
		return rune(c)
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		return r.unicode(at)
	}
	r.fail(at, "unknown escape")
	return 0
}

// unicode reads the four digits after \u, and the second half of a surrogate
// pair; half a pair alone is no character.
func (r *jsonReader) unicode(at int) rune {
	first := r.hex4(at)
	if first&0xF800 != 0xD800 {
		return first
	}
	if first >= 0xDC00 || len(r.b)-r.i < 2 || r.b[r.i] != '\\' || r.b[r.i+1] != 'u' {
		r.fail(at, "half a surrogate pair")
		return 0
	}
	r.i += 2
	second := r.hex4(at)
	if second&0xFC00 != 0xDC00 {
		r.fail(at, "half a surrogate pair")
	}
	return 0x10000 + (first-0xD800)<<10 + (second - 0xDC00)
}

func (r *jsonReader) hex4(at int) (v rune) {
	if len(r.b)-r.i < 4 {
		r.fail(at, "unknown escape")
		return 0
	}
	for _, c := range r.b[r.i : r.i+4] {
		d := unhex(c)
		if d < 0 {
			r.fail(at, "unknown escape")
			return 0
		}
		v = v<<4 | d
	}
	r.i += 4
	return v
}

func unhex(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20) - 'a' + 10
	}
	return -1
}

func (r *jsonReader) skipText() {
	r.expect('"', "a string was expected")
	for done := false; !done; {
		_, _, done = r.piece()
	}
}

// appendBase64 appends what src encodes, by the alphabet of RFC 4648, section
// 4, padded.
func appendBase64(dst, src []byte) ([]byte, bool) {
	if len(src)%4 != 0 || bytes.IndexByte(src, '\n') >= 0 || bytes.IndexByte(src, '\r') >= 0 {
		return dst, false // the standard decoder would drop line breaks
	}
	out, err := base64.StdEncoding.Strict().AppendDecode(dst, src)
	return out, err == nil
}
