package codec

import "edgegauge.example/edgegauge/internal/service"

// jsonReader reads RFC 8259. Its first problem sticks, and ends the input.
type jsonReader struct {
	b       []byte
	i       int
	problem string
	at      int
}

// decodeJSON reads an object. Of a field given twice the last one counts.
func decodeJSON(b []byte, s *shape, m *service.Message) error {
	s.reset(m)
	r := jsonReader{b: b}
	var seen uint32
	r.space()
	r.expect('{', "message does not begin with {")
	for next := 0; r.more('}', next == 0); next++ {
		var buffer [32]byte
		key := r.key(buffer[:0])
		i := s.find(key, next)
		if i < 0 {
			r.skip(maxDepth)
			continue
		}
		r.value(&s.fields[i], m)
		seen |= 1 << i
	}
	r.space()
	if r.i < len(r.b) {
		r.fail(r.i, "unexpected data after the message")
	}
	if name := s.missing(seen); name != "" {
		r.fail(r.i, "field "+name+" is missing")
	}
	if r.problem != "" {
		return &Error{JSON, r.at, r.problem}
	}
	return nil
}

func (r *jsonReader) fail(at int, problem string) {
	if r.problem == "" {
		r.problem, r.at = problem, at
	}
	r.i = len(r.b)
}

func (r *jsonReader) space() {
	for r.i < len(r.b) {
		switch r.b[r.i] {
		case ' ', '\n', '\r', '\t':
			r.i++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

func (r *jsonReader) expect(c byte, problem string) {
	if r.peek() != c {
		r.fail(r.i, problem)
		return
	}
	r.i++
}

// more reads the comma before the next item of an object or array, or its end.
func (r *jsonReader) more(end byte, first bool) bool {
	r.space()
	switch {
	case r.problem != "":
		return false
	case r.peek() == end:
		r.i++
		return false
	case first:
		return true
	case r.peek() != ',':
		r.fail(r.i, "a comma or "+string(end)+" is missing, or the message is truncated")
		return false
	}
	r.i++
	r.space()
	if r.peek() == end {
		r.fail(r.i, "nothing follows a comma")
		return false
	}
	return true
}

// key appends a key to scratch, and reads its colon.
func (r *jsonReader) key(scratch []byte) []byte {
	key := r.text(scratch)
	r.space()
	r.expect(':', "a colon is missing")
	r.space()
	return key
}

func (r *jsonReader) value(f *field, m *service.Message) {
	switch f.kind {
	case integers:
		r.ints(m)
	case texts:
		r.texts(m)
	case decimals:
		r.decimals(m)
	case text:
		p := f.bytes(m)
		*p = r.text((*p)[:0])
	case octets:
		p := f.bytes(m)
		*p = r.octets((*p)[:0])
	case integer:
		*f.integer(m) = r.int32()
	case long:
		*f.long(m) = r.int64()
	case decimal:
		*f.long(m) = r.hundredths()
	case boolean:
		*f.boolean(m) = r.boolean()
	}
}

func (r *jsonReader) ints(m *service.Message) {
	m.Ints = m.Ints[:0]
	r.expect('[', "an array was expected")
	for first := true; r.more(']', first); first = false {
		m.Ints = append(m.Ints, r.int32())
	}
}

func (r *jsonReader) texts(m *service.Message) {
	m.ResetStrings()
	r.expect('[', "an array was expected")
	for first := true; r.more(']', first); first = false {
		start := len(m.Arena)
		m.Arena = r.text(m.Arena)
		m.EndString(start)
	}
}

func (r *jsonReader) decimals(m *service.Message) {
	m.Hundredths = m.Hundredths[:0]
	r.expect('[', "an array was expected")
	for first := true; r.more(']', first); first = false {
		m.Hundredths = append(m.Hundredths, r.hundredths())
	}
}

func (r *jsonReader) boolean() bool {
	value := r.peek() == 't'
	if value {
		r.word("true")
	} else {
		r.word("false")
	}
	return value
}

func (r *jsonReader) word(w string) {
	if len(r.b)-r.i < len(w) || string(r.b[r.i:r.i+len(w)]) != w {
		r.fail(r.i, "expected "+w)
		return
	}
	r.i += len(w)
}

// number reads a number by the grammar of RFC 8259, section 6.
func (r *jsonReader) number() (n numeral) {
	start := r.i
	if r.peek() == '-' {
		n.neg = true
		r.i++
	}
	from := r.i
	whole := r.digits()
	if whole > 1 && r.b[from] == '0' {
		r.fail(start, "number begins with 0")
	}
	ok := whole > 0
	if r.peek() == '.' {
		r.i++
		ok = r.digits() > 0 && ok
	}
	to := r.i
	if c := r.peek(); c == 'e' || c == 'E' {
		r.i++
		n.exp = r.exponent()
	}
	if !ok {
		r.fail(start, "a number was expected")
		return numeral{}
	}
	n.digits = r.b[from:to]
	return n
}

func (r *jsonReader) digits() (count int) {
	start := r.i
	for r.i < len(r.b) && r.b[r.i]-'0' <= 9 {
		r.i++
	}
	return r.i - start
}

// exponent stops counting beyond 10⁸, where nothing is left to tell apart.
func (r *jsonReader) exponent() (exp int) {
	neg := r.peek() == '-'
	if neg || r.peek() == '+' {
		r.i++
	}
	start := r.i
	if r.digits() == 0 {
		r.fail(start, "exponent has no digits")
		return 0
	}
	for _, c := range r.b[start:r.i] {
		exp = min(exp*10+int(c-'0'), 1e8)
	}
	if neg {
		return -exp
	}
	return exp
}

func (r *jsonReader) int64() int64 {
	start := r.i
	v, exact, ok := r.number().scaled(0)
	if !ok {
		r.fail(start, "integer is out of range")
	}
	if !exact {
		r.fail(start, "an integer was expected")
	}
	return v
}

func (r *jsonReader) int32() int32 {
	start := r.i
	v, ok := inInt32(r.int64())
	if !ok {
		r.fail(start, "integer is out of the range of int32")
	}
	return v
}

func (r *jsonReader) hundredths() int64 {
	start := r.i
	k, ok := r.number().hundredths()
	if !ok {
		r.fail(start, "decimal is out of range")
	}
	return k
}

// skip reads over a value, however it looks, to the given depth.
func (r *jsonReader) skip(depth int) {
	if depth == 0 {
		r.fail(r.i, "value is nested too deep")
		return
	}
	switch r.peek() {
	case '{':
		r.i++
		for first := true; r.more('}', first); first = false {
			r.skipText()
			r.space()
			r.expect(':', "a colon is missing")
			r.space()
			r.skip(depth - 1)
		}
	case '[':
		r.i++
		for first := true; r.more(']', first); first = false {
			r.skip(depth - 1)
		}
	case '"':
		r.skipText()
	case 't', 'f':
		r.boolean()
	case 'n':
		r.word("null")
	default:
		r.number()
	}
}
