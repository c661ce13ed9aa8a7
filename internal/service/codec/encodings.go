package codec

import (
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/service"
)

// An Encoding names a way to write messages. Its row of Table holds what is
// known of it.
type Encoding string

// The encodings.
const (
	XML      Encoding = "xml"
	JSON     Encoding = "json"
	CBOR     Encoding = "cbor"
	MsgPack  Encoding = "msgpack"
	Protobuf Encoding = "protobuf"
	SOAP11   Encoding = "soap11"
	SOAP12   Encoding = "soap12"
	Text     Encoding = "text"

	XMLGzip             Encoding = "xml-gzip"
	FastInfoset         Encoding = "fastinfoset"
	EXI                 Encoding = "exi"
	EXICompressed       Encoding = "exi-compressed"
	EXISchema           Encoding = "exi-schema"
	EXISchemaCompressed Encoding = "exi-schema-compressed"

	SOAP12Gzip                Encoding = "soap12-gzip"
	SOAP12FastInfoset         Encoding = "soap12-fastinfoset"
	SOAP12EXI                 Encoding = "soap12-exi"
	SOAP12EXICompressed       Encoding = "soap12-exi-compressed"
	SOAP12EXISchema           Encoding = "soap12-exi-schema"
	SOAP12EXISchemaCompressed Encoding = "soap12-exi-schema-compressed"
)

// A Syntax is what the bytes of a message follow. Encodings that share one
// differ in the envelope or in options.
type Syntax int

// The syntaxes. The zero Syntax is one that no other encoding has.
const (
	OwnSyntax Syntax = iota
	XMLText          // XML 1.0, in UTF-8
	JSONText
	Gzip     // XML in gzip: HTTP's Content-Encoding, not a media type
	EXIBits  // Efficient XML Interchange 1.0
	Infoset1 // Fast Infoset (X.891)
)

// An ActionPlace is where a SOAP request names its action.
type ActionPlace int

// The places.
const (
	NoAction          ActionPlace = iota
	ActionHeader                  // the HTTP header SOAPAction (SOAP 1.1)
	ActionOfMediaType             // a parameter of the Content-Type (SOAP 1.2)
)

// A Row is all that this program knows of an encoding. Whatever depends on the
// encoding reads it here: the stacks, the drivers, the conformance kit, tests.
type Row struct {
	Name   Encoding
	Syntax Syntax
	// Base is the text that it is a compact form of, XML or SOAP 1.2; empty: it
	// is not a compact form.
	Base       Encoding
	Schema     bool // EXI informed by the schema of the contract
	Compressed bool // EXI with the option compression

	Media  string      // Content-Type, without the action
	Format uint16      // CoAP Content-Format; see ContentFormat
	Action ActionPlace // of requests

	soap  *soap // the version; nil: not SOAP
	codec codec // nil functions: this program cannot read or write it; stacks can
}

// A codec writes and reads the messages of one encoding.
type codec struct {
	append func(dst []byte, s *shape, m *service.Message) []byte
	// decode reads texts of up to limit bytes together; only EXI needs the limit.
	decode func(b []byte, s *shape, m *service.Message, limit int) error
	fault  func(dst []byte, f *Fault) []byte // SOAP only
}

// CoAP Content-Formats (IANA's registry; RFC 7252, section 12.3).
const (
	formatXML    = 41
	formatOctets = 42
	formatEXI    = 47
	formatJSON   = 50
	formatCBOR   = 60
)

// Media types that more than one encoding has.
const (
	mediaXML     = "application/xml"
	mediaSOAP12  = "application/soap+xml; charset=utf-8"
	mediaEXI     = "application/exi"
	mediaInfoset = "application/fastinfoset"
	mediaSOAPFI  = "application/soap+fastinfoset"
)

// Table lists the encodings in the order of the contract. Nothing but a test
// changes it.
var Table = []Row{
	{Name: XML, Syntax: XMLText, Media: mediaXML, Format: formatXML, codec: codec{appendXML, unlimited(decodeXML), nil}},
	{Name: JSON, Syntax: JSONText, Media: "application/json", Format: formatJSON,
		codec: codec{appendJSON, unlimited(decodeJSON), nil}},
	{Name: CBOR, Media: "application/cbor", Format: formatCBOR, codec: codec{appendCBOR, unlimited(decodeCBOR), nil}},
	{Name: MsgPack, Media: "application/vnd.msgpack", Format: formatOctets,
		codec: codec{appendMsgPack, unlimited(decodeMsgPack), nil}},
	{Name: Protobuf, Media: "application/x-protobuf", Format: formatOctets,
		codec: codec{appendProtobuf, unlimited(decodeProtobuf), nil}},
	{Name: SOAP11, Syntax: XMLText, Media: "text/xml; charset=utf-8", Format: formatXML, Action: ActionHeader,
		soap: &soap11, codec: soap11.codec(SOAP11)},
	{Name: SOAP12, Syntax: XMLText, Media: mediaSOAP12, Format: formatXML, Action: ActionOfMediaType,
		soap: &soap12, codec: soap12.codec(SOAP12)},
	{Name: Text, Media: "application/octet-stream", Format: formatOctets,
		codec: codec{appendLines, unlimited(decodeLines), nil}},

	{Name: XMLGzip, Syntax: Gzip, Base: XML, Media: mediaXML, Format: formatOctets},
	{Name: FastInfoset, Syntax: Infoset1, Base: XML, Media: mediaInfoset, Format: formatOctets},
	{Name: EXI, Syntax: EXIBits, Base: XML, Media: mediaEXI, Format: formatEXI},
	{Name: EXICompressed, Syntax: EXIBits, Base: XML, Compressed: true, Media: mediaEXI, Format: formatEXI},
	{Name: EXISchema, Syntax: EXIBits, Base: XML, Schema: true, Media: mediaEXI, Format: formatEXI,
		codec: codec{appendEXI, decodeEXI, nil}},
	{Name: EXISchemaCompressed, Syntax: EXIBits, Base: XML, Schema: true, Compressed: true, Media: mediaEXI,
		Format: formatEXI, codec: compressedCodec(EXISchemaCompressed, false)},

	{Name: SOAP12Gzip, Syntax: Gzip, Base: SOAP12, Media: mediaSOAP12, Format: formatOctets,
		Action: ActionOfMediaType, soap: &soap12},
	{Name: SOAP12FastInfoset, Syntax: Infoset1, Base: SOAP12, Media: mediaSOAPFI, Format: formatOctets,
		Action: ActionOfMediaType, soap: &soap12},
	{Name: SOAP12EXI, Syntax: EXIBits, Base: SOAP12, Media: mediaEXI, Format: formatEXI, soap: &soap12},
	{Name: SOAP12EXICompressed, Syntax: EXIBits, Base: SOAP12, Compressed: true, Media: mediaEXI, Format: formatEXI,
		soap: &soap12},
	{Name: SOAP12EXISchema, Syntax: EXIBits, Base: SOAP12, Schema: true, Media: mediaEXI, Format: formatEXI,
		soap: &soap12, codec: codec{appendEXIEnvelope, decodeEXIEnvelope, appendEXIFault}},
	{Name: SOAP12EXISchemaCompressed, Syntax: EXIBits, Base: SOAP12, Schema: true, Compressed: true, Media: mediaEXI,
		Format: formatEXI, soap: &soap12, codec: compressedCodec(SOAP12EXISchemaCompressed, true)},
}

// unlimited is a decoder whose messages are at least as long as their texts: it
// needs no limit.
func unlimited(decode func([]byte, *shape, *service.Message) error) func([]byte, *shape, *service.Message, int) error {
	return func(b []byte, s *shape, m *service.Message, _ int) error { return decode(b, s, m) }
}

// codec is the version's, in XML text; enc is its name in errors.
func (v *soap) codec(enc Encoding) codec {
	return codec{
		append: func(dst []byte, s *shape, m *service.Message) []byte { return appendEnvelope(dst, v, s, m) },
		decode: func(b []byte, s *shape, m *service.Message, _ int) error {
			return decodeEnvelope(b, enc, v, s, m, nil)
		},
		fault: func(dst []byte, f *Fault) []byte { return appendFault(dst, v, f) },
	}
}

// compressedCodec is EXI's with schema and compression.
func compressedCodec(enc Encoding, envelope bool) codec {
	c := codec{
		append: func(dst []byte, s *shape, m *service.Message) []byte {
			return appendEXICompressed(dst, s, m, envelope)
		},
		decode: func(b []byte, s *shape, m *service.Message, limit int) error {
			return decodeEXICompressed(enc, b, s, m, envelope, limit)
		},
	}
	if envelope {
		c.fault = appendEXIFaultCompressed
	}
	return c
}

// Find returns the row of the encoding of that name; ok is false if there is none.
func Find(e Encoding) (r *Row, ok bool) {
	for i := range Table {
		if Table[i].Name == e {
			return &Table[i], true
		}
	}
	return nil, false
}

// row is that of an encoding that must have one: another is a bug of the caller.
func (e Encoding) row() *Row {
	r, ok := Find(e)
	if !ok {
		panic("codec: no encoding " + string(e))
	}
	return r
}

// coder is the codec of an encoding that must have one.
func (e Encoding) coder() *codec {
	r := e.row()
	if r.codec.append == nil {
		panic("codec: no codec for encoding " + string(e))
	}
	return &r.codec
}

// Encodings lists those that this program can write and read.
func Encodings() []Encoding { return named(func(r *Row) bool { return r.codec.append != nil }) }

// Compact lists the compact forms of XML and of SOAP 1.2. Not all of them can
// be written and read here; stacks in other languages can.
func Compact() []Encoding { return named(func(r *Row) bool { return r.Base != "" }) }

func named(wanted func(*Row) bool) []Encoding {
	var out []Encoding
	for i := range Table {
		if wanted(&Table[i]) {
			out = append(out, Table[i].Name)
		}
	}
	return out
}

// Parse finds the encoding of that name among Encodings.
func Parse(text string) (Encoding, error) {
	if r, ok := Find(Encoding(text)); ok && r.codec.append != nil {
		return r.Name, nil
	}
	var known []string
	for _, e := range Encodings() {
		known = append(known, string(e))
	}
	return "", fmt.Errorf("unknown encoding %q; available: %s", text, strings.Join(known, ", "))
}

// SOAP says that messages are envelopes and errors faults.
func (e Encoding) SOAP() bool {
	r, ok := Find(e)
	return ok && r.soap != nil
}

// Gzipped says whether the messages go with Content-Encoding: gzip.
func (e Encoding) Gzipped() bool { return e.Syntax() == Gzip }

// Syntax is what the encoding's bytes follow; OwnSyntax of an unknown one.
func (e Encoding) Syntax() Syntax {
	if r, ok := Find(e); ok {
		return r.Syntax
	}
	return OwnSyntax
}

// Base is the text that the encoding is a compact form of; itself if of none.
func (e Encoding) Base() Encoding {
	if r, ok := Find(e); ok && r.Base != "" {
		return r.Base
	}
	return e
}
