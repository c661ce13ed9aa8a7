// Package codec turns the services' messages into bytes and back, in every
// encoding of stacks/contract/README.md. It writes the canonical form only and
// reads whatever means the same; it does no I/O and, with reused messages and
// buffers, no allocation.
package codec

import (
	"fmt"
	"math"

	"edgegauge.example/edgegauge/internal/service"
)

// Namespace is the XML namespace of every message.
const Namespace = "urn:edgegauge:services:1"

// Append appends the canonical form of m, a request or a response of the
// service. A name that is no service, or not one of Encodings, is a bug of the
// caller.
//
// What XML cannot say (U+0000 and its like) it writes as U+FFFD; messages made
// from a seed and texts decoded from XML hold none.
func Append(enc Encoding, dst []byte, name service.Name, response bool, m *service.Message) []byte {
	return enc.coder().append(dst, shapeOf(name, response), m)
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
	return enc.coder().decode(b, shapeOf(name, response), m, limit)
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
