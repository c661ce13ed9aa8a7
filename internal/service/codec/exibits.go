package codec

import (
	"encoding/binary"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// A bitWriter appends bits, the most significant first (EXI 1.0, section 7.1.9).
type bitWriter struct {
	dst []byte
	acc uint64 // its lowest n bits are not in dst yet
	n   uint   // below 32
}

// put appends the lowest k bits of v, whose others are zero; k is at most 32.
func (w *bitWriter) put(v uint64, k uint) {
	w.acc = w.acc<<k | v
	w.n += k
	if w.n >= 32 {
		w.n -= 32
		w.dst = binary.BigEndian.AppendUint32(w.dst, uint32(w.acc>>w.n))
	}
}

// flush fills the last byte with zeros and gives up the bytes.
func (w *bitWriter) flush() []byte {
	if pad := -w.n % 8; pad != 0 {
		w.put(0, pad)
	}
	for w.n > 0 {
		w.n -= 8
		w.dst = append(w.dst, byte(w.acc>>w.n))
	}
	return w.dst
}

// unsigned appends an Unsigned Integer: groups of seven bits, the least
// significant first, each but the last with its top bit set (section 7.1.6).
func (w *bitWriter) unsigned(v uint64) {
	for ; v >= 0x80; v >>= 7 {
		w.put(v&0x7f|0x80, 8)
	}
	w.put(v, 8)
}

// integer appends an Integer: a sign, and for negative v what is left of -v
// after taking one away (section 7.1.5).
func (w *bitWriter) integer(v int64) {
	w.put(uint64(v)>>63, 1)
	w.unsigned(uint64(v ^ v>>63))
}

// decimal appends k/100 as a Decimal: a sign, the part before the point, and
// the digits after it in reverse, so that zeros at the end are lost (section
// 7.1.3).
func (w *bitWriter) decimal(k int64) {
	u := uint64(k)
	if k < 0 {
		u = -u
	}
	w.put(uint64(k)>>63, 1)
	w.unsigned(u / 100)
	w.put(uint64(reversed[u%100]), 8)
}

// reversed are the numbers of two digits read from the right.
var reversed = func() (t [100]uint8) {
	for i := range t {
		t[i] = uint8(i%10*10 + i/10)
	}
	return
}()

// octets appends bytes as they are.
func (w *bitWriter) octets(b []byte) {
	for ; len(b) >= 4; b = b[4:] {
		w.put(uint64(binary.BigEndian.Uint32(b)), 32)
	}
	for _, c := range b {
		w.put(uint64(c), 8)
	}
}

// characters appends the code points of b, each an Unsigned Integer. What XML
// cannot say becomes U+FFFD.
func (w *bitWriter) characters(b []byte) {
	for len(b) > 0 {
		if len(b) >= 4 {
			if four := binary.BigEndian.Uint32(b); isPlain(four) {
				w.put(uint64(four), 32)
				b = b[4:]
				continue
			}
		}
		r, size := utf8.DecodeRune(b)
		if !xmlstream.IsChar(r) {
			r = utf8.RuneError
		}
		w.unsigned(uint64(r))
		b = b[size:]
	}
}

// isPlain says that the four bytes are ASCII and none is a control: such are
// XML's, and are code points of one group each.
func isPlain(four uint32) bool {
	return (four|(four-0x20202020))&0x80808080 == 0
}

// A bitReader reads what a bitWriter writes, and is not to be hurt by what
// anybody else does. Its first problem sticks, and ends the input: every read
// after it gives zeros.
type bitReader struct {
	b       []byte
	i       int  // the byte the next bit is in
	bit     uint // its place there, 0 the most significant
	problem string
	at      int
}

func (r *bitReader) fail(problem string) {
	if r.problem == "" {
		r.problem, r.at = problem, r.i
	}
	r.b, r.i, r.bit = nil, 0, 0
}

// left is the number of bits there are.
func (r *bitReader) left() uint64 { return uint64(len(r.b)-r.i)*8 - uint64(r.bit) }

// window shows the next 57 bits or more from the top, zeros beyond the end.
func (r *bitReader) window() uint64 {
	if len(r.b)-r.i >= 8 {
		return binary.BigEndian.Uint64(r.b[r.i:]) << r.bit
	}
	var last [8]byte
	copy(last[:], r.b[r.i:])
	return binary.BigEndian.Uint64(last[:]) << r.bit
}

// advance moves over k bits.
func (r *bitReader) advance(k uint) {
	if uint64(k) > r.left() {
		r.fail("message is truncated")
		return
	}
	k += r.bit
	r.i, r.bit = r.i+int(k/8), k%8
}

// take reads k bits, at most 57.
func (r *bitReader) take(k uint) uint64 {
	v := r.window() >> (64 - k)
	if r.advance(k); r.problem != "" {
		return 0
	}
	return v
}

// unsigned reads an Unsigned Integer. More than 64 bits are refused: they may
// be any number, and no value here needs them.
func (r *bitReader) unsigned() uint64 {
	if w := r.window(); w>>63 == 0 {
		if r.advance(8); r.problem != "" {
			return 0
		}
		return w >> 56
	}
	v := uint64(0)
	for shift := uint(0); ; shift += 7 {
		c := r.take(8)
		group := c & 0x7f
		if shift > 63 || group<<shift>>shift != group {
			r.fail("integer is too large")
			return 0
		}
		v |= group << shift
		if c < 0x80 {
			return v
		}
	}
}

// integer reads an Integer, which must fit.
func (r *bitReader) integer() int64 {
	sign := -int64(r.take(1))
	v := r.unsigned()
	if v > 1<<63-1 {
		r.fail("integer is out of range")
		return 0
	}
	return int64(v) ^ sign
}

// reversedFraction reads the digits after a point, which stand in reverse in an
// Unsigned Integer of any length, and returns the hundredths they round to. The
// first three decide, halves go away from zero; they are the integer modulo
// 1000, and that can be had group by group.
func (r *bitReader) reversedFraction() int64 {
	v, scale := uint64(0), uint64(1)
	for {
		c := r.take(8)
		v = (v + c&0x7f*scale) % 1000
		scale = scale * 128 % 1000
		if c < 0x80 {
			break
		}
	}
	k := v%10*10 + v/10%10
	if v/100 >= 5 {
		k++
	}
	return int64(k)
}

// octets appends n bytes, which must be there before anything is made for them.
func (r *bitReader) octets(dst []byte, n uint64) []byte {
	if n > r.left()/8 {
		r.fail("message is truncated")
		return dst
	}
	for ; n >= 4; n -= 4 {
		dst = binary.BigEndian.AppendUint32(dst, uint32(r.take(32)))
	}
	for ; n > 0; n-- {
		dst = append(dst, byte(r.take(8)))
	}
	return dst
}

// characters appends n code points as UTF-8. Each takes a byte or more, so
// that n is known to be too large before anything is made for it.
func (r *bitReader) characters(dst []byte, n uint64) []byte {
	if n > r.left()/8 {
		r.fail("message is truncated")
		return dst
	}
	for n > 0 && r.problem == "" {
		if n >= 4 {
			if four := uint32(r.window() >> 32); isPlain(four) {
				dst = binary.BigEndian.AppendUint32(dst, four)
				n -= 4
				r.advance(32)
				continue
			}
		}
		c := r.unsigned()
		if c > utf8.MaxRune || !xmlstream.IsChar(rune(c)) {
			r.fail("character is not one of XML's")
			break
		}
		dst = utf8.AppendRune(dst, rune(c))
		n--
	}
	return dst
}
