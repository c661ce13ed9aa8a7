package coap

// An OptionNumber names an option: RFC 7252, section 5.10.
type OptionNumber uint16

// Option numbers, each with the format of its value.
const (
	IfMatch       OptionNumber = 1   // opaque: do it only if the resource has this ETag
	URIHost       OptionNumber = 3   // string
	ETag          OptionNumber = 4   // opaque: which version of the resource
	IfNoneMatch   OptionNumber = 5   // empty: do it only if there is no such resource
	Observe       OptionNumber = 6   // uint; RFC 7641
	URIPort       OptionNumber = 7   // uint
	LocationPath  OptionNumber = 8   // string: a segment of what was created
	OSCORE        OptionNumber = 9   // opaque; RFC 8613
	URIPath       OptionNumber = 11  // string: a segment
	ContentFormat OptionNumber = 12  // uint: a Format's Number
	MaxAge        OptionNumber = 14  // uint, s: how long a response is fresh
	URIQuery      OptionNumber = 15  // string: an argument
	HopLimit      OptionNumber = 16  // uint; RFC 8768
	Accept        OptionNumber = 17  // uint: a Format's Number
	LocationQuery OptionNumber = 20  // string
	Block2        OptionNumber = 23  // uint, of a response: RFC 7959, as Block1 and Size2
	Block1        OptionNumber = 27  // uint, of a request
	Size2         OptionNumber = 28  // uint, B: of the whole response
	ProxyURI      OptionNumber = 35  // string
	ProxyScheme   OptionNumber = 39  // string
	Size1         OptionNumber = 60  // uint, B: of the whole request, or the largest taken
	Echo          OptionNumber = 252 // opaque: shows that a request is fresh; RFC 9175, as RequestTag
	RequestTag    OptionNumber = 292 // opaque: which blocks belong together
)

// Critical says that a receiver which does not know the option must not ignore it.
func (n OptionNumber) Critical() bool { return n&1 == 1 }

// An Option is one option of a message. Value aliases the datagram it was read from.
type Option struct {
	Number OptionNumber
	Value  []byte
}

// rule is how long an option may be and whether it may occur again.
type rule struct {
	min, max uint16
	repeats  bool
}

// ruleOf is the rule of an option known here: tables in RFC 7252, section 5.10,
// RFC 7959, section 2.1, and RFC 9175, section 2.2.1 and 3.2.1.
func ruleOf(n OptionNumber) (r rule, known bool) {
	switch n {
	case URIPath, URIQuery, LocationPath, LocationQuery:
		return rule{0, 255, true}, true
	case ContentFormat, Accept, URIPort:
		return rule{0, 2, false}, true
	case Block1, Block2, Observe:
		return rule{0, 3, false}, true
	case Size1, Size2, MaxAge:
		return rule{0, 4, false}, true
	case IfMatch:
		return rule{0, 8, true}, true
	case RequestTag:
		return rule{0, 8, true}, true
	case ETag:
		return rule{1, 8, true}, true
	case URIHost, ProxyScheme:
		return rule{1, 255, false}, true
	case OSCORE:
		return rule{0, 255, false}, true
	case ProxyURI:
		return rule{1, 1034, false}, true
	case Echo:
		return rule{1, 40, false}, true
	case HopLimit:
		return rule{1, 1, false}, true
	case IfNoneMatch:
		return rule{0, 0, false}, true
	}
	return rule{}, false
}

// Sift drops the elective options that are unknown, of a wrong length or
// repeated against their definition, and returns the first critical one that
// is so: RFC 7252, sections 5.4.1, 5.4.3 and 5.4.5. Then Options are no longer of use.
func (m *Message) Sift() (critical OptionNumber, bad bool) {
	kept, prev := 0, -1
	for _, o := range m.Options {
		r, known := ruleOf(o.Number)
		n := len(o.Value)
		ok := known && n >= int(r.min) && n <= int(r.max) && (r.repeats || int(o.Number) != prev)
		prev = int(o.Number)
		if ok {
			m.Options[kept] = o
			kept++
		} else if o.Number.Critical() {
			return o.Number, true
		}
	}
	m.Options = m.Options[:kept]
	return 0, false
}

// Add puts an option in its place, behind those of the same number. It keeps value.
func (m *Message) Add(n OptionNumber, value []byte) {
	i := len(m.Options)
	m.Options = append(m.Options, Option{n, value})
	for ; i > 0 && m.Options[i-1].Number > n; i-- {
		m.Options[i] = m.Options[i-1]
	}
	m.Options[i] = Option{n, value}
}

// AddUint adds an option of format uint, in the fewest bytes: RFC 7252, section 3.2.
func (m *Message) AddUint(n OptionNumber, v uint32) {
	start := len(m.scratch)
	for shift := 24; shift >= 0; shift -= 8 {
		if v>>shift != 0 {
			m.scratch = append(m.scratch, byte(v>>shift))
		}
	}
	m.Add(n, m.scratch[start:len(m.scratch):len(m.scratch)])
}

// AddBytes adds an option of format opaque. It copies b.
func (m *Message) AddBytes(n OptionNumber, b []byte) {
	start := len(m.scratch)
	m.scratch = append(m.scratch, b...)
	m.Add(n, m.scratch[start:len(m.scratch):len(m.scratch)])
}

// AddString adds an option of format string. It copies s.
func (m *Message) AddString(n OptionNumber, s string) {
	start := len(m.scratch)
	m.scratch = append(m.scratch, s...)
	m.Add(n, m.scratch[start:len(m.scratch):len(m.scratch)])
}

// AddParts adds an option for each part of s between separators: the segments
// of a path, the arguments of a query. One leading separator and an empty s add nothing.
func (m *Message) AddParts(n OptionNumber, s string, separator byte) {
	if s != "" && s[0] == separator {
		s = s[1:]
	}
	if s == "" {
		return
	}
	start := 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == separator {
			m.AddString(n, s[start:i])
			start = i + 1
		}
	}
}

// Option is the value of the first option n.
func (m *Message) Option(n OptionNumber) (value []byte, ok bool) {
	for i := range m.Options {
		if m.Options[i].Number == n {
			return m.Options[i].Value, true
		}
	}
	return nil, false
}

// Uint is the value of the first option n, read as uint. A value of more than
// four bytes counts as absent.
func (m *Message) Uint(n OptionNumber) (v uint32, ok bool) {
	b, ok := m.Option(n)
	if !ok || len(b) > 4 {
		return 0, false
	}
	for _, c := range b {
		v = v<<8 | uint32(c)
	}
	return v, true
}

// Format is the format in option n, ContentFormat or Accept; NoFormat without it.
func (m *Message) Format(n OptionNumber) Format {
	v, ok := m.Uint(n)
	if !ok || v > 0xffff {
		return NoFormat
	}
	return FormatOf(uint16(v))
}

// AppendParts appends the values of all options n with separators between
// them; a separator inside a value is written as its percent encoding.
func (m *Message) AppendParts(dst []byte, n OptionNumber, separator byte) []byte {
	const hex = "0123456789ABCDEF"
	first := true
	for _, o := range m.Options {
		if o.Number != n {
			continue
		}
		if !first {
			dst = append(dst, separator)
		}
		first = false
		for _, c := range o.Value {
			if c == separator {
				dst = append(dst, '%', hex[c>>4], hex[c&15])
			} else {
				dst = append(dst, c)
			}
		}
	}
	return dst
}
