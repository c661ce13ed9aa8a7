package coap

import "fmt"

// A Type is the type of a message: RFC 7252, section 3.
type Type uint8

// The types of messages.
const (
	Confirmable     Type = iota // CON: its receiver acknowledges or rejects it
	NonConfirmable              // NON: nobody acknowledges it
	Acknowledgement             // ACK, which may carry a response
	Reset                       // RST: the message cannot be processed, or is of no interest
)

// String is the abbreviation that the RFC uses: CON, NON, ACK or RST.
func (t Type) String() string { return [...]string{"CON", "NON", "ACK", "RST"}[t&3] }

// A Code is a method or a response code, class in the upper three bits and
// detail in the lower five: RFC 7252, section 3 and 12.1.
type Code uint8

// Methods and response codes: RFC 7252, section 12.1, and the RFCs named.
const (
	Empty  Code = 0 // neither a request nor a response: a ping, or a bare ACK or RST
	GET    Code = 1 // safe and idempotent
	POST   Code = 2 // neither safe nor idempotent
	PUT    Code = 3 // idempotent
	DELETE Code = 4 // idempotent
	FETCH  Code = 5 // safe and idempotent, with a body; RFC 8132, as the next two
	PATCH  Code = 6 // not idempotent
	IPATCH Code = 7 // an idempotent PATCH

	Created  Code = 2<<5 | 1  // 2.01, to POST and PUT
	Deleted  Code = 2<<5 | 2  // 2.02, to DELETE and POST
	Valid    Code = 2<<5 | 3  // 2.03: what the client has, by its ETag, is still right
	Changed  Code = 2<<5 | 4  // 2.04, to POST and PUT
	Content  Code = 2<<5 | 5  // 2.05, to GET
	Continue Code = 2<<5 | 31 // 2.31: send the next block; RFC 7959, section 2.9.1

	BadRequest               Code = 4 << 5    // 4.00
	Unauthorized             Code = 4<<5 | 1  // 4.01
	BadOption                Code = 4<<5 | 2  // 4.02: a critical option that is unknown
	Forbidden                Code = 4<<5 | 3  // 4.03
	NotFound                 Code = 4<<5 | 4  // 4.04
	MethodNotAllowed         Code = 4<<5 | 5  // 4.05
	NotAcceptable            Code = 4<<5 | 6  // 4.06: no representation in the format asked for
	RequestEntityIncomplete  Code = 4<<5 | 8  // 4.08: blocks are missing; RFC 7959, section 2.9.2
	PreconditionFailed       Code = 4<<5 | 12 // 4.12
	RequestEntityTooLarge    Code = 4<<5 | 13 // 4.13
	UnsupportedContentFormat Code = 4<<5 | 15 // 4.15

	InternalServerError  Code = 5 << 5   // 5.00
	NotImplemented       Code = 5<<5 | 1 // 5.01: the method is unknown
	ServiceUnavailable   Code = 5<<5 | 3 // 5.03: try again after Max-Age
	ProxyingNotSupported Code = 5<<5 | 5 // 5.05
)

// Class is 0 for requests, 2 for success, 4 and 5 for errors; 1, 6 and 7 are reserved.
func (c Code) Class() uint8 { return uint8(c >> 5) }

var methods = [...]string{GET: "GET", POST: "POST", PUT: "PUT", DELETE: "DELETE", FETCH: "FETCH", PATCH: "PATCH",
	IPATCH: "iPATCH"}

// String writes a code as the RFCs do: 2.05, or GET.
func (c Code) String() string {
	if c != Empty && int(c) < len(methods) {
		return methods[c]
	}
	return fmt.Sprintf("%d.%02d", c>>5, c&31)
}

func (c Code) request() bool  { return c != Empty && c.Class() == 0 }
func (c Code) response() bool { return c.Class() == 2 || c.Class() == 4 || c.Class() == 5 }

// A Format is a content format, one above its registered number so that the
// zero value means "none". FormatOf makes others.
type Format uint32

// Content formats: RFC 7252, section 12.3.
const (
	NoFormat    Format = 0      // none is given
	Text        Format = 0 + 1  // text/plain; charset=utf-8
	LinkFormat  Format = 40 + 1 // application/link-format; RFC 6690
	XML         Format = 41 + 1 // application/xml
	OctetStream Format = 42 + 1 // application/octet-stream
	EXI         Format = 47 + 1 // application/exi
	JSON        Format = 50 + 1 // application/json
	CBOR        Format = 60 + 1 // application/cbor; RFC 8949
)

// FormatOf is the format registered under number (RFC 7252, section 12.3).
func FormatOf(number uint16) Format { return Format(number) + 1 }

// Number is the registered number, and whether there is one.
func (f Format) Number() (uint16, bool) { return uint16(f - 1), f != NoFormat }
