package dpws

import (
	"bytes"
	"errors"
	"strings"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// A reader walks a document's elements. Its first error sticks.
type reader struct {
	p   *xmlstream.Parser
	err error
}

func (r *reader) next() xmlstream.Kind {
	if r.err != nil {
		return xmlstream.EOF
	}
	kind, err := r.p.Next()
	r.err = err
	return kind
}

// each calls f for every child of the element just started, and ends behind
// it. f may read the child or leave it.
func (r *reader) each(f func(xmlstream.Name)) {
	outer := r.p.Depth()
	for r.err == nil {
		switch r.next() {
		case xmlstream.Start:
			inner := r.p.Depth()
			f(r.p.Name())
			for r.err == nil && r.p.Depth() >= inner {
				r.next()
			}
		case xmlstream.End:
			if r.p.Depth() < outer {
				return
			}
		}
	}
}

// text is the trimmed content of the element just started.
func (r *reader) text() string {
	if r.err != nil {
		return ""
	}
	b, err := r.p.Content()
	r.err = err
	b = trim(b)
	if len(b) > maxURI {
		r.fail(errURI)
		return ""
	}
	return string(b)
}

// list is the content as words, at most maxList of them.
func (r *reader) list() []string {
	if r.err != nil {
		return nil
	}
	b, err := r.p.Content()
	r.err = err
	words := strings.Fields(string(b))
	if len(words) > maxList || len(b) > maxList*maxURI {
		r.fail(errList)
		return nil
	}
	return words
}

func (r *reader) names() []QName {
	if r.err != nil {
		return nil
	}
	names, err := r.p.Names()
	r.err = err
	if len(names) > maxList {
		r.fail(errList)
		return nil
	}
	out := make([]QName, len(names))
	for i, n := range names {
		if len(n.Local) == 0 || bytes.IndexByte(n.Local, ':') >= 0 {
			r.fail(errName)
			return nil
		}
		out[i] = QName{string(n.Space), string(n.Local)}
	}
	return out
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func trim(b []byte) []byte { return bytes.Trim(b, " \t\r\n") }

var (
	errList     = errors.New("a list has more than 64 entries")
	errName     = errors.New("a type is no qualified name")
	errEnvelope = errors.New("not a SOAP 1.2 envelope with a header and a body")
	errMust     = errors.New("a mustUnderstand header is not understood")
)

// open reads an envelope into h and calls body at the first element of its
// Body, if there is one; then it reads to the end of the document.
func open(b []byte, h *Header, body func(*reader, xmlstream.Name)) error {
	h.Reset()
	r := &reader{p: new(xmlstream.Parser)}
	r.p.Reset(b)
	if r.next() != xmlstream.Start || !r.p.Name().Is(soapSpace, "Envelope") {
		r.fail(errEnvelope)
		return r.err
	}
	head, bodies := false, 0
	r.each(func(n xmlstream.Name) {
		switch {
		case n.Is(soapSpace, "Header") && !head && bodies == 0:
			head = true
			r.blocks(h)
		case n.Is(soapSpace, "Body") && bodies == 0:
			bodies++
			first := true
			r.each(func(n xmlstream.Name) {
				if first && body != nil {
					body(r, n)
				}
				first = false
			})
		default:
			r.fail(errEnvelope)
		}
	})
	for r.err == nil && r.next() != xmlstream.EOF {
	}
	if bodies == 0 {
		r.fail(errEnvelope)
	}
	return r.err
}

func (r *reader) blocks(h *Header) {
	r.each(func(xmlstream.Name) {
		must := string(trim(r.p.Attr(soapSpace, "mustUnderstand")))
		understood, err := h.Read(r.p)
		if err != nil {
			r.fail(err)
		}
		if !understood && (must == "true" || must == "1") {
			r.fail(errMust)
		}
	})
}
