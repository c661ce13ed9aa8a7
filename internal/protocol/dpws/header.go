package dpws

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// A Header holds the message addressing properties of WS-Addressing 1.0 that
// are used here, and the AppSequence of WS-Discovery. Strings are kept as bytes, so
// that a Header that is used again allocates nothing.
type Header struct {
	Action, To, MessageID, RelatesTo []byte
	ReplyTo                          []byte // an address; empty: anonymous
	FaultTo                          []byte
	Reference                        []byte // wse:Identifier, of a subscription

	seen uint8
}

// Reset empties the header and keeps its memory.
func (h *Header) Reset() {
	*h = Header{Action: h.Action[:0], To: h.To[:0], MessageID: h.MessageID[:0], RelatesTo: h.RelatesTo[:0],
		ReplyTo: h.ReplyTo[:0], FaultTo: h.FaultTo[:0], Reference: h.Reference[:0]}
}

var (
	errTwice = errors.New("an addressing header appears twice") // WS-Addressing 1.0, SOAP binding, section 6.4.1
	errURI   = errors.New("an address is longer than 2048 characters")
)

// Read reads the header block that p has just started; it is a
// codec.HeaderReader.
func (h *Header) Read(p *xmlstream.Parser) (understood bool, err error) {
	name := p.Name()
	if string(name.Space) == eventingSpace && string(name.Local) == "Identifier" {
		return true, h.text(p, &h.Reference, 64)
	}
	if string(name.Space) == wsdSpace && string(name.Local) == "AppSequence" {
		return true, nil
	}
	if string(name.Space) != wsaSpace {
		return false, nil
	}
	switch string(name.Local) {
	case "Action":
		return true, h.text(p, &h.Action, 1)
	case "To":
		return true, h.text(p, &h.To, 2)
	case "MessageID":
		return true, h.text(p, &h.MessageID, 4)
	case "RelatesTo":
		if kind := p.Attr("", "RelationshipType"); kind != nil && string(kind) != wsaSpace+"/reply" {
			return true, nil
		}
		return true, h.text(p, &h.RelatesTo, 8)
	case "ReplyTo":
		return true, h.address(p, &h.ReplyTo, 16)
	case "FaultTo":
		return true, h.address(p, &h.FaultTo, 32)
	case "From":
		return true, nil
	}
	return false, nil
}

func (h *Header) text(p *xmlstream.Parser, to *[]byte, bit uint8) error {
	if h.seen&bit != 0 {
		return errTwice
	}
	h.seen |= bit
	b, err := p.Content()
	if err != nil {
		return err
	}
	b = trim(b)
	if len(b) > maxURI {
		return errURI
	}
	*to = append((*to)[:0], b...)
	return nil
}

// address reads the address of an endpoint reference.
func (h *Header) address(p *xmlstream.Parser, to *[]byte, bit uint8) error {
	if h.seen&bit != 0 {
		return errTwice
	}
	h.seen |= bit
	r := reader{p: p}
	r.each(func(n xmlstream.Name) {
		if n.Is(wsaSpace, "Address") {
			*to = append((*to)[:0], r.text()...)
		}
	})
	return r.err
}

// AppendStart appends an envelope up to the inside of its Body. What is empty
// is left out.
func (h *Header) AppendStart(dst []byte) []byte {
	return h.appendStart(dst, "", "")
}

// appendStart declares more namespaces on the envelope and writes more blocks.
func (h *Header) appendStart(dst []byte, spaces, blocks string) []byte {
	dst = append(dst, `<soap:Envelope xmlns:soap="`+soapSpace+`" xmlns:wsa="`+wsaSpace+`"`...)
	dst = append(append(dst, spaces...), `><soap:Header>`...)
	dst = element(dst, "wsa:Action", h.Action)
	dst = element(dst, "wsa:MessageID", h.MessageID)
	dst = element(dst, "wsa:RelatesTo", h.RelatesTo)
	dst = element(dst, "wsa:To", h.To)
	if len(h.ReplyTo) > 0 {
		dst = append(dst, "<wsa:ReplyTo>"...)
		dst = append(element(dst, "wsa:Address", h.ReplyTo), "</wsa:ReplyTo>"...)
	}
	if len(h.Reference) > 0 { // WS-Addressing 1.0, SOAP binding, section 3.3
		dst = append(dst, `<wse:Identifier wsa:IsReferenceParameter="true">`...)
		dst = append(xmlstream.AppendText(dst, h.Reference), "</wse:Identifier>"...)
	}
	return append(append(dst, blocks...), "</soap:Header><soap:Body>"...)
}

// End is what follows the Body's content.
const End = "</soap:Body></soap:Envelope>"

// element appends an element with a text, nothing if there is none.
func element(dst []byte, name string, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	dst = append(append(append(dst, '<'), name...), '>')
	dst = xmlstream.AppendText(dst, text)
	return append(append(append(dst, '<', '/'), name...), '>')
}

// A Namer gives message IDs: a random UUID whose last 48 bits count. It costs
// no system call per message.
type Namer struct {
	stem [10]byte
	n    uint64
}

// NewNamer takes its randomness from the system.
func NewNamer() *Namer {
	var n Namer
	rand.Read(n.stem[:])
	n.stem[6] = n.stem[6]&0x0f | 0x40 // RFC 9562, section 5.4: version 4,
	n.stem[8] = n.stem[8]&0x3f | 0x80 // variant 10
	return &n
}

// Append appends the next ID, urn:uuid:….
func (n *Namer) Append(dst []byte) []byte {
	n.n++
	var id [16]byte
	copy(id[:], n.stem[:])
	var count [8]byte
	binary.BigEndian.PutUint64(count[:], n.n)
	copy(id[10:], count[2:])
	dst = append(dst, "urn:uuid:"...)
	for i, from := range [...]int{0, 4, 6, 8, 10} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[from:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return dst
}

// NewUUID makes a random endpoint reference, urn:uuid:….
func NewUUID() string { return string(NewNamer().Append(nil)) }
