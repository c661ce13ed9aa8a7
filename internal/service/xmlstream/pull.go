package xmlstream

import "fmt"

// A Kind is the kind of an event.
type Kind uint8

// The events. Comments and processing instructions are read over.
const (
	EOF   Kind = iota // the document ended as it should
	Start             // a start tag, or the first half of an empty element
	End               // an end tag, or the second half of an empty element
	Text              // character data or a CDATA section; several may follow each other
)

// Limits against hostile documents.
const (
	MaxDepth      = 128 // elements within elements
	MaxAttributes = 64  // of one element, namespace declarations included
)

// A Name is a name with its namespace resolved.
type Name struct{ Space, Local []byte }

// Is compares without allocating.
func (n Name) Is(space, local string) bool {
	return string(n.Local) == local && string(n.Space) == space
}

// An Attr is an attribute; namespace declarations are not among them.
type Attr struct {
	Name  Name
	Value []byte

	raw   []byte // prefix:local
	colon int    // in raw, -1 without prefix
}

// An Error is a violation of well-formedness, or of a limit.
type Error struct {
	Offset  int // bytes from the start of the document
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("xml: byte %d: %s", e.Offset, e.Problem) }

// A Parser pulls events from a document in memory. Names, attributes and texts
// are slices of the document where they can be and of the parser's buffers
// where not; they are valid until the next call. A Parser that is Reset and
// used again allocates nothing.
type Parser struct {
	b     []byte
	i     int
	err   *Error
	begun bool // byte order mark and declaration are read
	root  bool // the root element has begun
	empty bool // the last start tag was an empty element's: its End comes next

	name   Name
	attrs  []Attr
	text   []byte // of the last Text: in b or in buffer
	buffer []byte // text after replacement
	values []byte // attribute values after replacement, of one element
	spaces []byte // namespaces after replacement, of the whole document

	open   []element
	scopes []scope
}

type element struct {
	raw    []byte // as written, prefix included
	name   Name
	scopes int // how many scopes there were outside it
}

type scope struct{ prefix, space []byte }

// Reset begins a new document, which must not change while it is read.
func (p *Parser) Reset(document []byte) {
	*p = Parser{
		b: document, attrs: p.attrs[:0], buffer: p.buffer[:0], values: p.values[:0],
		spaces: p.spaces[:0], open: p.open[:0], scopes: p.scopes[:0],
	}
}

// Name is the name of the element of the last Start or End.
func (p *Parser) Name() Name { return p.name }

// Attrs are the attributes of the last Start.
func (p *Parser) Attrs() []Attr { return p.attrs }

// Attr is the value of one attribute of the last Start; nil if it is not there.
func (p *Parser) Attr(space, local string) []byte {
	for i := range p.attrs {
		if p.attrs[i].Name.Is(space, local) {
			return p.attrs[i].Value
		}
	}
	return nil
}

// Text is the character data of the last Text.
func (p *Parser) Text() []byte { return p.text }

// Offset is the byte at which reading goes on.
func (p *Parser) Offset() int { return p.i }

// Depth is the number of open elements.
func (p *Parser) Depth() int { return len(p.open) }

// fail keeps the first problem; every event after it is that error.
func (p *Parser) fail(at int, problem string) {
	if p.err == nil {
		p.err = &Error{at, problem}
	}
	p.i = len(p.b)
}

// Next reads the next event. After an error it returns the same error again.
func (p *Parser) Next() (Kind, error) {
	kind := p.next()
	if p.err != nil {
		return EOF, p.err
	}
	return kind, nil
}

func (p *Parser) next() Kind {
	if p.empty {
		p.empty = false
		p.pop()
		return End
	}
	if !p.begun {
		p.prolog()
	}
	for p.i < len(p.b) {
		if p.b[p.i] != '<' {
			if len(p.open) > 0 {
				p.characters()
				return Text
			}
			p.outside()
			continue
		}
		switch p.peek(1) {
		case '/':
			p.endTag()
			return End
		case '?':
			p.instruction()
		case '!':
			if p.declared() {
				return Text
			}
		default:
			p.startTag()
			return Start
		}
	}
	if len(p.open) > 0 {
		p.fail(p.i, "element "+string(p.open[len(p.open)-1].raw)+" is not closed")
	} else if !p.root {
		p.fail(p.i, "there is no element")
	}
	return EOF
}

// Content reads the character data of the element just started, up to and
// including its end tag. A child element is an error. It returns a slice of
// the document if nothing had to be replaced.
func (p *Parser) Content() ([]byte, error) {
	if p.err == nil && p.empty {
		p.empty = false
		p.pop()
		return nil, nil
	}
	start := p.i
	end := runText(p.b, start)
	if end+1 < len(p.b) && p.b[end] == '<' && p.b[end+1] == '/' {
		p.i = end
		p.endTag()
		if p.err != nil {
			return nil, p.err
		}
		return p.b[start:end], nil
	}
	return p.pieces()
}

// pieces is Content where the text is not in one piece.
func (p *Parser) pieces() ([]byte, error) {
	p.buffer = p.buffer[:0]
	for p.i < len(p.b) {
		p.replace()
		switch {
		case p.err != nil || p.i == len(p.b):
		case p.peek(1) == '/':
			p.endTag()
			if p.err == nil {
				return p.buffer, nil
			}
		case p.peek(1) == '?':
			p.instruction()
		case p.peek(1) == '!':
			p.section()
		default:
			p.fail(p.i, "an element instead of text")
		}
	}
	p.fail(p.i, "document is truncated")
	return nil, p.err
}

// peek is the byte ahead of the current one, 0 beyond the end.
func (p *Parser) peek(ahead int) byte {
	if p.i+ahead < len(p.b) {
		return p.b[p.i+ahead]
	}
	return 0
}

func (p *Parser) has(prefix string) bool {
	return len(p.b)-p.i >= len(prefix) && string(p.b[p.i:p.i+len(prefix)]) == prefix
}

// space reads over white space, and says whether there was any.
func (p *Parser) space() bool {
	start := p.i
	for p.i < len(p.b) && class[p.b[p.i]]&spaceByte != 0 {
		p.i++
	}
	return p.i > start
}

// outside reads over what may stand outside the root: white space.
func (p *Parser) outside() {
	if !p.space() {
		p.fail(p.i, "text outside the root element")
	}
}
