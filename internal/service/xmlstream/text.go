package xmlstream

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// characters reads character data up to the next markup into text.
func (p *Parser) characters() {
	start := p.i
	p.i = runText(p.b, start)
	if p.i == len(p.b) || p.b[p.i] == '<' {
		p.text = p.b[start:p.i]
		return
	}
	p.i = start
	p.buffer = p.buffer[:0]
	p.replace()
	p.text = p.buffer
}

// replace appends character data up to the next markup to buffer, references
// and line ends replaced.
func (p *Parser) replace() {
	for p.i < len(p.b) {
		end := runText(p.b, p.i)
		p.buffer = append(p.buffer, p.b[p.i:end]...)
		p.i = end
		switch p.peek(0) {
		case '<':
			return
		case '&':
			p.buffer = p.reference(p.buffer)
		case '\r':
			p.buffer = append(p.buffer, '\n')
			p.i++
			if p.peek(0) == '\n' {
				p.i++
			}
		case ']':
			p.fail(p.i, "]]> in a text")
		default:
			if p.i < len(p.b) {
				p.fail(p.i, "not a character of XML in UTF-8")
			}
		}
	}
}

// reference appends what the reference at p stands for. There are no entities
// but the five of XML itself, for there is no document type to declare others.
func (p *Parser) reference(dst []byte) []byte {
	at := p.i
	end := bytes.IndexByte(p.b[at:min(at+16, len(p.b))], ';')
	if end < 0 {
		p.fail(at, "& is not followed by a reference")
		return dst
	}
	name := p.b[at+1 : at+end]
	p.i = at + end + 1
	switch string(name) {
	case "amp":
		return append(dst, '&')
	case "lt":
		return append(dst, '<')
	case "gt":
		return append(dst, '>')
	case "quot":
		return append(dst, '"')
	case "apos":
		return append(dst, '\'')
	}
	r, ok := character(name)
	if !ok {
		p.fail(at, "unknown reference: &"+strconv.Quote(string(name))+";")
		return dst
	}
	return utf8.AppendRune(dst, r)
}

// character reads the number of a character reference, #10 or #xA.
func character(name []byte) (r rune, ok bool) {
	if len(name) < 2 || name[0] != '#' {
		return 0, false
	}
	digits, base := name[1:], rune(10)
	if digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	for _, c := range digits {
		d := digit(c)
		if d >= base || r > 0x10FFFF {
			return 0, false
		}
		r = r*base + d
	}
	return r, len(digits) > 0 && isChar(r)
}

func digit(c byte) rune {
	switch {
	case c-'0' <= 9:
		return rune(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20) - 'a' + 10
	}
	return 99
}

// declared reads what begins with <! and says whether it is a text.
func (p *Parser) declared() bool {
	p.buffer = p.buffer[:0]
	comment := p.has("<!--")
	p.section()
	p.text = p.buffer
	return !comment
}

// section appends a CDATA section to buffer, or reads over a comment.
func (p *Parser) section() {
	at := p.i
	switch {
	case p.has("<!--"):
		p.i += len("<!--")
		p.until("--", at)
		if p.peek(0) != '>' {
			p.fail(at, "-- in a comment")
			return
		}
		p.i++
	case p.has("<![CDATA[") && len(p.open) > 0:
		p.i += len("<![CDATA[")
		p.newlines(p.until("]]>", at))
	case p.has("<!DOCTYPE"):
		p.fail(at, "document types are not supported")
	default:
		p.fail(at, "unexpected markup")
	}
}

// until reads up to and including the mark, which must be there.
func (p *Parser) until(mark string, at int) []byte {
	n := bytes.Index(p.b[p.i:], []byte(mark))
	if n < 0 {
		p.fail(at, "document is truncated: "+mark+" is missing")
		return nil
	}
	body := p.b[p.i : p.i+n]
	if bad := runChars(body, 0); bad < n {
		p.fail(p.i+bad, "not a character of XML in UTF-8")
		return nil
	}
	p.i += n + len(mark)
	return body
}

// newlines appends b to buffer with its line ends as \n.
func (p *Parser) newlines(b []byte) {
	for {
		n := bytes.IndexByte(b, '\r')
		if n < 0 {
			p.buffer = append(p.buffer, b...)
			return
		}
		p.buffer = append(append(p.buffer, b[:n]...), '\n')
		b = b[n+1:]
		if len(b) > 0 && b[0] == '\n' {
			b = b[1:]
		}
	}
}
