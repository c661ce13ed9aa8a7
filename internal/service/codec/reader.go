package codec

import "edgegauge.example/edgegauge/internal/service"

// A reader is what the readers of CBOR and MessagePack share. Its first problem
// sticks, and ends the input.
type reader struct {
	b       []byte
	i       int
	problem string
	at      int
}

func (r *reader) fail(at int, problem string) {
	if r.problem == "" {
		r.problem, r.at = problem, at
	}
	r.b = r.b[:r.i]
}

// take reads n bytes, or none and nil if the message is cut. However large n
// is, nothing is allocated for it.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)-r.i) {
		r.fail(r.i, "message is truncated")
		return nil
	}
	r.i += int(n)
	return r.b[r.i-int(n) : r.i]
}

func (r *reader) narrow(at int, v int64) int32 {
	n, ok := inInt32(v)
	if !ok {
		r.fail(at, "integer is out of the range of int32")
	}
	return n
}

// round makes hundredths of a float.
func (r *reader) round(at int, x float64) int64 {
	k, ok := toHundredths(x)
	if !ok {
		r.fail(at, "decimal is out of range")
	}
	return k
}

// whole makes hundredths of an integer.
func (r *reader) whole(at int, v int64) int64 {
	const limit = service.MaxHundredths / 100
	if v > limit || v < -limit {
		r.fail(at, "decimal is out of range")
		return 0
	}
	return v * 100
}

// finish looks for what is too much or too little.
func (r *reader) finish(enc Encoding, s *shape, seen uint32) error {
	if r.i < len(r.b) {
		r.fail(r.i, "unexpected data after the message")
	}
	if name := s.missing(seen); name != "" {
		r.fail(r.i, "field "+name+" is missing")
	}
	if r.problem != "" {
		return &Error{enc, r.at, r.problem}
	}
	return nil
}
