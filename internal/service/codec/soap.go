package codec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// soap is what differs between the versions.
type soap struct {
	space   string   // of the envelope
	actor   string   // the attribute that names for whom a header is
	ours    []string // its values that mean us, besides none at all
	renamed [2]string
	sender  int  // the HTTP status of a fault of the sender's
	coded   bool // Code and Reason are elements of elements, as in SOAP 1.2
}

var (
	soap11 = soap{
		space: "http://schemas.xmlsoap.org/soap/envelope/", actor: "actor",
		ours:    []string{"http://schemas.xmlsoap.org/soap/actor/next"},
		renamed: [2]string{"Client", "Server"}, sender: 500,
	}
	soap12 = soap{
		space: "http://www.w3.org/2003/05/soap-envelope", actor: "role",
		ours: []string{
			"http://www.w3.org/2003/05/soap-envelope/role/next",
			"http://www.w3.org/2003/05/soap-envelope/role/ultimateReceiver",
		},
		renamed: [2]string{string(Sender), string(Receiver)}, sender: 400, coded: true,
	}
)

// A FaultCode says whose fault a fault is, in the words of SOAP 1.2; SOAP 1.1
// writes Sender as Client and Receiver as Server. Codes of other makes are
// kept as they are.
type FaultCode string

// The codes this package makes or knows.
const (
	Sender          FaultCode = "Sender"
	Receiver        FaultCode = "Receiver"
	MustUnderstand  FaultCode = "MustUnderstand"
	VersionMismatch FaultCode = "VersionMismatch"
)

// A Fault is SOAP's word for an error.
type Fault struct {
	Code   FaultCode
	Reason string
}

func (f *Fault) Error() string { return fmt.Sprintf("fault %s: %s", f.Code, f.Reason) }

// Status is the HTTP status a fault goes with: 500, but for SOAP 1.2's Sender.
func (f *Fault) Status(enc Encoding) int {
	if v := enc.row().soap; v != nil && f.Code == Sender {
		return v.sender
	}
	return 500
}

// FaultOf makes the fault that answers a request Decode did not take.
func FaultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return &Fault{Sender, err.Error()}
}

// EnvelopeNamespace is that of the encoding's envelopes; empty: it is not SOAP.
func (e Encoding) EnvelopeNamespace() string {
	if r, ok := Find(e); ok && r.soap != nil {
		return r.soap.space
	}
	return ""
}

// AppendFault appends an envelope with the fault in it.
func AppendFault(enc Encoding, dst []byte, f *Fault) []byte { return enc.coder().fault(dst, f) }

// appendFault is AppendFault in XML text.
func appendFault(dst []byte, v *soap, f *Fault) []byte {
	code := string(f.Code)
	switch f.Code {
	case Sender:
		code = v.renamed[0]
	case Receiver:
		code = v.renamed[1]
	}
	dst = appendEnvelopeStart(dst, v)
	if !v.coded {
		dst = append(dst, "<soap:Fault><faultcode>soap:"...)
		dst = xmlstream.AppendText(dst, []byte(code))
		dst = append(dst, "</faultcode><faultstring>"...)
		dst = xmlstream.AppendText(dst, []byte(f.Reason))
		dst = append(dst, "</faultstring></soap:Fault>"...)
	} else {
		dst = append(dst, "<soap:Fault><soap:Code><soap:Value>soap:"...)
		dst = xmlstream.AppendText(dst, []byte(code))
		dst = append(dst, `</soap:Value></soap:Code><soap:Reason><soap:Text xml:lang="en">`...)
		dst = xmlstream.AppendText(dst, []byte(f.Reason))
		dst = append(dst, "</soap:Text></soap:Reason></soap:Fault>"...)
	}
	return append(dst, envelopeEnd...)
}

const envelopeEnd = "</soap:Body></soap:Envelope>"

func appendEnvelopeStart(dst []byte, v *soap) []byte {
	dst = append(dst, `<soap:Envelope xmlns:soap="`...)
	dst = append(dst, v.space...)
	return append(dst, `"><soap:Body>`...)
}

func appendEnvelope(dst []byte, v *soap, s *shape, m *service.Message) []byte {
	dst = appendEnvelopeStart(dst, v)
	return append(appendXML(dst, s, m), envelopeEnd...)
}

// A HeaderReader looks at the header block that p has just started, and says
// whether it understands it. It may read the block or leave it. An error ends
// the decoding and is its error.
type HeaderReader func(p *xmlstream.Parser) (understood bool, err error)

// DecodeEnvelope is Decode for SOAP with headers that somebody understands,
// such as those of WS-Addressing.
func DecodeEnvelope(enc Encoding, b []byte, name service.Name, response bool, m *service.Message,
	read HeaderReader) error {
	return decodeEnvelope(b, enc, enc.row().soap, shapeOf(name, response), m, read)
}

func decodeEnvelope(b []byte, enc Encoding, v *soap, s *shape, m *service.Message, read HeaderReader) error {
	r := newXMLReader(b)
	if r.next() == xmlstream.Start {
		r.envelope(v, s, m, read)
	}
	return r.close(enc)
}

// envelope reads the envelope just started: a Header, perhaps, and a Body with
// one element.
func (r *xmlReader) envelope(v *soap, s *shape, m *service.Message, read HeaderReader) {
	switch name := r.p.Name(); {
	case string(name.Local) != "Envelope":
		r.fail("element is " + describe(name) + ", want Envelope")
	case string(name.Space) != v.space:
		r.broken = &Fault{VersionMismatch, "envelope is in " + string(name.Space) + ", want " + v.space}
	}
	kind := r.next()
	if kind == xmlstream.Start && r.p.Name().Is(v.space, "Header") {
		r.header(v, read)
		kind = r.next()
	}
	if kind != xmlstream.Start || !r.p.Name().Is(v.space, "Body") {
		r.fail("Body is missing or out of place")
		return
	}
	switch {
	case r.next() != xmlstream.Start:
		r.fail("Body is empty")
		return
	case r.p.Name().Is(v.space, "Fault"):
		r.fault()
		return
	}
	r.message(s, m)
	body, envelope := r.next(), r.next()
	if body != xmlstream.End || envelope != xmlstream.End {
		r.fail("more than one element in Body, or something after it")
	}
}

// header reads the blocks of a Header. None is understood here but what read
// understands, so another for us that must be is a fault.
func (r *xmlReader) header(v *soap, read HeaderReader) {
	for r.next() == xmlstream.Start {
		must := isTrue(trimSpace(r.p.Attr(v.space, "mustUnderstand"))) && v.forUs(r.p.Attr(v.space, v.actor))
		name, depth, understood := describeIf(must, r.p.Name()), r.p.Depth(), false
		if read != nil {
			var err error
			if understood, err = read(r.p); err != nil {
				r.broken = err
				return
			}
		}
		if must && !understood {
			r.broken = &Fault{MustUnderstand, "header " + name + " is not understood"}
		}
		if r.p.Depth() >= depth {
			r.skipTo(depth)
		}
	}
}

// describeIf keeps a name that a reader may overwrite, where it may be needed.
func describeIf(needed bool, n xmlstream.Name) string {
	if !needed {
		return ""
	}
	return describe(n)
}

func (v *soap) forUs(actor []byte) bool {
	for _, a := range v.ours {
		if string(actor) == a {
			return true
		}
	}
	return len(actor) == 0
}

// skip reads over the rest of the element just started.
func (r *xmlReader) skip() { r.skipTo(r.p.Depth()) }

// skipTo reads over the rest of the element that was opened at depth.
func (r *xmlReader) skipTo(depth int) {
	for r.ok() {
		kind, err := r.p.Next()
		if err != nil {
			r.broken = err
		}
		if kind == xmlstream.End && r.p.Depth() < depth {
			return
		}
	}
}

// fault reads the Fault just started. It looks at local names only, so that it
// also reads what does not quite follow either version; what it cannot find it
// leaves empty.
func (r *xmlReader) fault() {
	f := &Fault{}
	for depth := r.p.Depth(); r.ok(); {
		kind, err := r.p.Next()
		if err != nil {
			r.broken = err
			return
		}
		if kind == xmlstream.End && r.p.Depth() < depth {
			break
		}
		if kind != xmlstream.Start {
			continue
		}
		switch string(r.p.Name().Local) {
		case "faultcode", "Value":
			code := r.content()
			if f.Code == "" { // the next is a subcode's
				f.Code = faultCode(code)
			}
		case "faultstring", "Text":
			f.Reason = string(trimSpace(r.content()))
		case "detail", "Detail":
			r.skip()
		}
	}
	if r.ok() {
		r.broken = f
	}
}

func (r *xmlReader) content() []byte {
	b, err := r.p.Content()
	if err != nil && r.ok() {
		r.broken = err
	}
	return b
}

// faultCode drops the prefix of a qualified name and what SOAP 1.1 allows after
// a dot.
func faultCode(qname []byte) FaultCode {
	if i := bytes.IndexByte(qname, ':'); i >= 0 {
		qname = qname[i+1:]
	}
	code, _, _ := strings.Cut(string(trimSpace(qname)), ".")
	switch code {
	case soap11.renamed[0]:
		return Sender
	case soap11.renamed[1]:
		return Receiver
	}
	return FaultCode(code)
}
