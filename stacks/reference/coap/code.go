package coap

import "fmt"

// A Type is the type of a message: RFC 7252, section 3.
type Type uint8

const (
	Confirmable Type = iota
	NonConfirmable
	Acknowledgement
	Reset
)

func (t Type) String() string { return [...]string{"CON", "NON", "ACK", "RST"}[t&3] }

// A Code is a method or a response code, class in the upper three bits and
// detail in the lower five: RFC 7252, section 3 and 12.1.
type Code uint8

const (
	Empty  Code = 0
	GET    Code = 1
	POST   Code = 2
	PUT    Code = 3
	DELETE Code = 4
	FETCH  Code = 5 // RFC 8132, as the next two
	PATCH  Code = 6
	IPATCH Code = 7

	Created  Code = 2<<5 | 1
	Deleted  Code = 2<<5 | 2
	Valid    Code = 2<<5 | 3
	Changed  Code = 2<<5 | 4
	Content  Code = 2<<5 | 5
	Continue Code = 2<<5 | 31 // RFC 7959, section 2.9.1

	BadRequest               Code = 4<<5 | 0
	Unauthorized             Code = 4<<5 | 1
	BadOption                Code = 4<<5 | 2
	Forbidden                Code = 4<<5 | 3
	NotFound                 Code = 4<<5 | 4
	MethodNotAllowed         Code = 4<<5 | 5
	NotAcceptable            Code = 4<<5 | 6
	RequestEntityIncomplete  Code = 4<<5 | 8
	PreconditionFailed       Code = 4<<5 | 12
	RequestEntityTooLarge    Code = 4<<5 | 13
	UnsupportedContentFormat Code = 4<<5 | 15

	InternalServerError  Code = 5<<5 | 0
	NotImplemented       Code = 5<<5 | 1
	ServiceUnavailable   Code = 5<<5 | 3
	ProxyingNotSupported Code = 5<<5 | 5
)

// Class is 0 for requests, 2 for success, 4 and 5 for errors; 1, 6 and 7 are reserved.
func (c Code) Class() uint8 { return uint8(c >> 5) }

var methods = [...]string{GET: "GET", POST: "POST", PUT: "PUT", DELETE: "DELETE", FETCH: "FETCH", PATCH: "PATCH", IPATCH: "iPATCH"}

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

const (
	NoFormat    Format = 0
	Text        Format = 0 + 1
	LinkFormat  Format = 40 + 1
	XML         Format = 41 + 1
	OctetStream Format = 42 + 1
	EXI         Format = 47 + 1
	JSON        Format = 50 + 1
	CBOR        Format = 60 + 1
)

// FormatOf is the format registered under number (RFC 7252, section 12.3).
func FormatOf(number uint16) Format { return Format(number) + 1 }

// Number is the registered number, and whether there is one.
func (f Format) Number() (uint16, bool) { return uint16(f - 1), f != NoFormat }
