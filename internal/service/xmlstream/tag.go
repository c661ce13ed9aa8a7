package xmlstream

import "bytes"

const (
	xmlSpace   = "http://www.w3.org/XML/1998/namespace"
	xmlnsSpace = "http://www.w3.org/2000/xmlns/"
)

var xmlSpaceBytes = []byte(xmlSpace)

// startTag reads a start tag: first everything in it, then its namespaces,
// which may be declared after they are used.
func (p *Parser) startTag() {
	at := p.i
	p.i++
	raw, colon := p.qname()
	p.attrs, p.values = p.attrs[:0], p.values[:0]
	outer := len(p.scopes)
	p.attributes(outer)
	if p.err != nil {
		return
	}
	if len(p.open) == 0 && p.root {
		p.fail(at, "a second root element")
		return
	}
	if len(p.open) == MaxDepth {
		p.fail(at, "elements are nested too deep")
		return
	}
	p.root = true
	p.name = p.resolve(raw, colon, at)
	p.resolveAttributes(at)
	p.open = append(p.open, element{raw, p.name, outer})
}

// qname reads a name with at most one colon in it.
func (p *Parser) qname() (raw []byte, colon int) {
	start := p.i
	colon = -1
	p.i = runName(p.b, start)
	if p.i > start && p.peek(0) == ':' {
		colon = p.i - start
		p.i++
		local := p.i
		p.i = runName(p.b, local)
		if p.i == local {
			p.fail(start, "a name lacks its part after the colon")
		}
	}
	if p.i == start {
		p.fail(start, "a name was expected")
	}
	return p.b[start:p.i], colon
}

func (p *Parser) attributes(outer int) {
	for count := 0; ; count++ {
		spaced := p.space()
		switch {
		case p.peek(0) == '>':
			p.i++
			return
		case p.peek(0) == '/' && p.peek(1) == '>':
			p.i += 2
			p.empty = true
			return
		case !spaced:
			p.fail(p.i, "a tag is truncated, or lacks a space")
			return
		case count == MaxAttributes:
			p.fail(p.i, "too many attributes")
			return
		}
		p.attribute(outer)
		if p.err != nil {
			return
		}
	}
}

func (p *Parser) attribute(outer int) {
	at := p.i
	raw, colon := p.qname()
	p.space()
	if p.peek(0) != '=' {
		p.fail(p.i, "an attribute has no value")
		return
	}
	p.i++
	p.space()
	switch {
	case string(raw) == "xmlns":
		p.declare(nil, outer, at)
	case colon >= 0 && string(raw[:colon]) == "xmlns":
		p.declare(raw[colon+1:], outer, at)
	default:
		var value []byte
		value, p.values = p.value(p.values)
		p.attrs = append(p.attrs, Attr{Value: value, raw: raw, colon: colon})
	}
}

// value reads a quoted value. It is a slice of the document, or of buffer if
// something had to be replaced.
func (p *Parser) value(buffer []byte) (value, grown []byte) {
	quote := p.peek(0)
	if quote != '"' && quote != '\'' {
		p.fail(p.i, "a value is not quoted")
		return nil, buffer
	}
	p.i++
	start, from := p.i, len(buffer)
	for p.i < len(p.b) && class[p.b[p.i]]&plainAttr != 0 {
		p.i++
	}
	if p.peek(0) == quote {
		p.i++
		return p.b[start : p.i-1], buffer
	}
	p.i = start
	for p.i < len(p.b) {
		c := p.b[p.i]
		switch {
		case c == quote:
			p.i++
			return buffer[from:len(buffer):len(buffer)], buffer
		case c == '&':
			buffer = p.reference(buffer)
		case c == '<':
			p.fail(p.i, "< in a value")
		case class[c]&spaceByte != 0:
			buffer = append(buffer, ' ')
			if c == '\r' && p.peek(1) == '\n' {
				p.i++
			}
			p.i++
		default:
			n := charSize(p.b[p.i:])
			if n == 0 {
				p.fail(p.i, "not a character of XML in UTF-8")
				return nil, buffer
			}
			buffer = append(buffer, p.b[p.i:p.i+n]...)
			p.i += n
		}
	}
	p.fail(p.i, "a value is truncated")
	return nil, buffer
}

// declare reads the value of a namespace declaration; the scopes from outer on
// are this element's.
func (p *Parser) declare(prefix []byte, outer, at int) {
	var space []byte
	space, p.spaces = p.value(p.spaces)
	for _, s := range p.scopes[outer:] {
		if bytes.Equal(s.prefix, prefix) {
			p.fail(at, "a namespace prefix is declared twice")
		}
	}
	isXML := string(prefix) == "xml"
	switch {
	case string(prefix) == "xmlns", string(space) == xmlnsSpace, isXML != (string(space) == xmlSpace):
		p.fail(at, "the prefixes xml and xmlns and their namespaces are reserved")
	case len(prefix) > 0 && len(space) == 0:
		p.fail(at, "a prefix cannot be undeclared")
	}
	p.scopes = append(p.scopes, scope{prefix, space})
}

// lookup finds the namespace a prefix stands for here; no prefix is the default
// namespace.
func (p *Parser) lookup(prefix []byte) (space []byte, ok bool) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if string(p.scopes[i].prefix) == string(prefix) {
			return p.scopes[i].space, true
		}
	}
	if string(prefix) == "xml" {
		return xmlSpaceBytes, true
	}
	return nil, len(prefix) == 0
}

func (p *Parser) resolve(raw []byte, colon, at int) Name {
	var prefix []byte
	local := raw
	if colon >= 0 {
		prefix, local = raw[:colon], raw[colon+1:]
	}
	space, ok := p.lookup(prefix)
	if !ok || string(prefix) == "xmlns" {
		p.fail(at, "namespace prefix "+string(prefix)+" is not declared")
	}
	return Name{space, local}
}

// resolveAttributes gives attributes their namespaces; one without prefix has
// none. No two may then have the same name: at most 64 are compared.
func (p *Parser) resolveAttributes(at int) {
	for i := range p.attrs {
		a := &p.attrs[i]
		a.Name = Name{Local: a.raw}
		if a.colon >= 0 {
			a.Name = p.resolve(a.raw, a.colon, at)
		}
		for _, b := range p.attrs[:i] {
			if string(a.Name.Local) == string(b.Name.Local) && string(a.Name.Space) == string(b.Name.Space) {
				p.fail(at, "attribute "+string(a.raw)+" appears twice")
				return
			}
		}
	}
}

func (p *Parser) endTag() {
	at := p.i
	if len(p.open) == 0 {
		p.fail(at, "an end tag without a start tag")
		return
	}
	want := p.open[len(p.open)-1].raw
	p.i += len("</")
	if p.has(string(want)) {
		p.i += len(want)
		p.space()
		if p.peek(0) == '>' {
			p.i++
			p.pop()
			return
		}
	}
	p.fail(at, "an end tag was expected for "+string(want))
}

// pop closes the innermost element and forgets its namespaces.
func (p *Parser) pop() {
	last := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	p.name = last.name
	p.scopes = p.scopes[:last.scopes]
}
