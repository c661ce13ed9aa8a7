package codec

import (
	"math"

	"edgegauge.example/edgegauge/internal/service"
)

// toHundredths rounds a double to the nearest hundredth, halves away from zero.
// What is halfway is decided after the multiplication, in doubles.
func toHundredths(x float64) (k int64, ok bool) {
	v := math.Round(x * 100)
	if !(math.Abs(v) <= service.MaxHundredths) { // NaN too
		return 0, false
	}
	return int64(v), true
}

// A numeral is a decimal number as text, taken apart but not yet worth
// anything: (-1)^neg × digits × 10^exp.
type numeral struct {
	neg    bool
	digits []byte // 0–9 and at most one '.'
	exp    int    // within ±10⁹
}

// plainNumeral takes a number without exponent apart: a sign, digits, and one
// point if it may have one.
func plainNumeral(b []byte, point bool) (n numeral, ok bool) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		n.neg = b[0] == '-'
		b = b[1:]
	}
	for _, c := range b {
		switch {
		case c-'0' <= 9:
			ok = true
		case c == '.' && point:
			point = false
		default:
			return numeral{}, false
		}
	}
	n.digits = b
	return n, ok
}

// scaled returns the numeral × 10^scale, rounded to the nearest integer, halves
// away from zero. It works on decimal digits, so it rounds the number that was
// written, not the double next to it. ok is false outside int64.
func (n numeral) scaled(scale int) (v int64, exact, ok bool) {
	whole := len(n.digits) // digits before the new point
	for i, c := range n.digits {
		if c == '.' {
			whole = i
			break
		}
	}
	whole += n.exp + scale
	exact = true
	var u uint64
	place := 0
	for _, c := range n.digits {
		if c == '.' {
			continue
		}
		d := uint64(c - '0')
		switch {
		case place < whole:
			if u > (1<<63-d)/10 {
				return 0, false, false
			}
			u = u*10 + d
		case place == whole && d >= 5:
			u, exact = u+1, false
		case d != 0:
			exact = false
		}
		place++
	}
	for ; place < whole && u != 0; place++ {
		if u > 1<<63/10 {
			return 0, false, false
		}
		u *= 10
	}
	if n.neg {
		return -int64(u), exact, u <= 1<<63
	}
	return int64(u), exact, u < 1<<63
}

// hundredths is scaled(2) within the bounds of a decimal.
func (n numeral) hundredths() (int64, bool) {
	k, _, ok := n.scaled(2)
	return k, ok && k >= -service.MaxHundredths && k <= service.MaxHundredths
}

// inInt32 narrows v.
func inInt32(v int64) (int32, bool) { return int32(v), v == int64(int32(v)) }
