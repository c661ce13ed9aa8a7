package xmlstream

import "bytes"

// prolog reads the byte order mark and the XML declaration, if they are there.
func (p *Parser) prolog() {
	p.begun = true
	if p.has("\xEF\xBB\xBF") {
		p.i += 3
	}
	if !p.has("<?xml") || class[p.peek(len("<?xml"))]&spaceByte == 0 {
		return
	}
	at := p.i
	p.i += len("<?xml")
	if v := p.pseudo("version"); string(v) != "1.0" {
		p.fail(at, "the declaration is not of XML 1.0")
	}
	if e := p.pseudo("encoding"); e != nil && !bytes.EqualFold(e, []byte("utf-8")) {
		p.fail(at, "encoding is "+string(e)+"; only UTF-8 is supported")
	}
	if s := p.pseudo("standalone"); s != nil && string(s) != "yes" && string(s) != "no" {
		p.fail(at, "standalone is neither yes nor no")
	}
	p.space()
	if !p.has("?>") {
		p.fail(at, "the declaration is not closed")
		return
	}
	p.i += len("?>")
}

// pseudo reads one pseudo-attribute of the declaration; nil if another, or
// none, comes next.
func (p *Parser) pseudo(name string) []byte {
	start := p.i
	if !p.space() || !p.has(name) {
		p.i = start
		return nil
	}
	p.i += len(name)
	p.space()
	if p.peek(0) != '=' {
		p.fail(start, "the declaration is not well-formed")
		return nil
	}
	p.i++
	p.space()
	value, replaced := p.value(p.values[:0])
	if len(replaced) > 0 {
		p.fail(start, "the declaration is not well-formed")
	}
	return value
}

// instruction reads over a processing instruction.
func (p *Parser) instruction() {
	at := p.i
	p.i += len("<?")
	end := runName(p.b, p.i)
	target := p.b[p.i:end]
	if len(target) == 0 || bytes.EqualFold(target, []byte("xml")) {
		p.fail(at, "a processing instruction has no name, or a declaration comes too late")
		return
	}
	p.i = end
	if !p.has("?>") && class[p.peek(0)]&spaceByte == 0 {
		p.fail(at, "a processing instruction is truncated, or its name is invalid")
		return
	}
	p.until("?>", at)
}
