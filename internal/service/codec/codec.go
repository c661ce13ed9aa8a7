// Package codec turns the services' messages into bytes and back, in every
// encoding of stacks/contract/README.md. It writes the canonical form only and
// reads whatever means the same; it does no I/O and, with reused messages and
// buffers, no allocation.
package codec

import (
	"fmt"
	"math"
	"strings"

	"edgegauge/internal/service"
)

// An Encoding names a way to write messages.
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
)

// Namespace is the XML namespace of every message.
const Namespace = "urn:edgegauge:services:1"

// Encodings lists the encodings in the order of the contract.
func Encodings() []Encoding {
	return []Encoding{XML, JSON, CBOR, MsgPack, Protobuf, SOAP11, SOAP12, Text, EXISchema, EXISchemaCompressed, SOAP12EXISchema, SOAP12EXISchemaCompressed}
}

// SOAP says that messages are envelopes and errors faults.
func (e Encoding) SOAP() bool {
	return e == SOAP11 || e == SOAP12 || e == SOAP12EXISchema || e == SOAP12EXISchemaCompressed
}

// Parse finds the encoding of that name.
func Parse(text string) (Encoding, error) {
	var known []string
	for _, e := range Encodings() {
		if string(e) == text {
			return e, nil
		}
		known = append(known, string(e))
	}
	return "", fmt.Errorf("no encoding %q; there are %s", text, strings.Join(known, ", "))
}

// Append appends the canonical form of m, a request or a response of the
// service. A name that is no service or no encoding is a bug of the caller.
//
// What XML cannot say (U+0000 and its like) it writes as U+FFFD; messages made
// from a seed and texts decoded from XML hold none.
func Append(enc Encoding, dst []byte, name service.Name, response bool, m *service.Message) []byte {
	s := shapeOf(name, response)
	switch enc {
	case XML:
		return appendXML(dst, s, m)
	case JSON:
		return appendJSON(dst, s, m)
	case CBOR:
		return appendCBOR(dst, s, m)
	case MsgPack:
		return appendMsgPack(dst, s, m)
	case Protobuf:
		return appendProtobuf(dst, s, m)
	case SOAP11, SOAP12:
		return appendEnvelope(dst, enc, s, m)
	case Text:
		return appendLines(dst, s, m)
	case EXISchema:
		return appendEXI(dst, s, m)
	case SOAP12EXISchema:
		return appendEXIEnvelope(dst, s, m)
	case EXISchemaCompressed, SOAP12EXISchemaCompressed:
		return appendEXICompressed(dst, s, m, enc.SOAP())
	}
	panic("codec: no encoding " + string(enc))
}

// Decode reads the whole of b into m, which keeps nothing of b. The error says
// at which byte and why; it is a *Fault if b is a SOAP fault, or must be
// answered with one other than Sender. After an error m is undefined.
func Decode(enc Encoding, b []byte, name service.Name, response bool, m *service.Message) error {
	return DecodeWithin(enc, b, name, response, m, math.MaxInt)
}

// DecodeWithin is Decode of a message whose texts may have limit bytes together
// and no more; otherwise it is ErrTooLarge. Only EXI needs one: a message in
// another encoding is at least as long as its texts.
func DecodeWithin(enc Encoding, b []byte, name service.Name, response bool, m *service.Message, limit int) error {
	s := shapeOf(name, response)
	switch enc {
	case XML:
		return decodeXML(b, s, m)
	case JSON:
		return decodeJSON(b, s, m)
	case CBOR:
		return decodeCBOR(b, s, m)
	case MsgPack:
		return decodeMsgPack(b, s, m)
	case Protobuf:
		return decodeProtobuf(b, s, m)
	case SOAP11, SOAP12:
		return decodeEnvelope(b, enc, s, m)
	case Text:
		return decodeLines(b, s, m)
	case EXISchema:
		return decodeEXI(b, s, m, limit)
	case SOAP12EXISchema:
		return decodeEXIEnvelope(b, s, m, limit)
	case EXISchemaCompressed, SOAP12EXISchemaCompressed:
		return decodeEXICompressed(enc, b, s, m, enc.SOAP(), limit)
	}
	panic("codec: no encoding " + string(enc))
}

// maxDepth bounds the nesting of what a decoder skips.
const maxDepth = 64

// An Error says where in the bytes a message is not what it should be.
type Error struct {
	Encoding Encoding
	Offset   int // bytes from the start of the message
	Problem  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: byte %d: %s", e.Encoding, e.Offset, e.Problem)
}
