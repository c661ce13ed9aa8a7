package service

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Width changes how wide the drawn values are, for studies that repeat
// published message sizes. The zero value is the contract's own width.
type Width struct {
	Letters int    // length of every string of concat; 0: 8 to 16, drawn
	Max     uint64 // sum draws its hundredths below it; 0: 100000
}

// Check says what is wrong with w.
func (w Width) Check() error {
	if w.Letters < 0 {
		return fmt.Errorf("letters %d is negative; write a length, or 0 for 8 to 16 letters", w.Letters)
	}
	if w.Letters > mostSize {
		return fmt.Errorf("letters %d is above 1 GiB; write a smaller one", w.Letters)
	}
	if w.Max > MaxHundredths {
		return fmt.Errorf("max %d is above the largest decimal in hundredths, %d; write a smaller one", w.Max,
			int64(MaxHundredths))
	}
	return nil
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// random is SplitMix64 (Steele, Lea, Flood 2014): its value is the state.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return z ^ (z >> 31)
}

// Make makes the request of (seed, n) in m; n counts what the contract says.
// A width that does not pass Check, a negative n or a name that is no service
// is a bug of the caller.
func Make(name Name, seed uint64, n int, w Width, m *Message) {
	if err := w.Check(); err != nil || n < 0 {
		panic(fmt.Sprintf("service: make n %d: %v", n, err))
	}
	r := random(seed)
	switch name {
	case Sort:
		m.Ints = slices.Grow(m.Ints[:0], n)
		for range n {
			m.Ints = append(m.Ints, r.number())
		}
	case Concat:
		makeStrings(&r, n, w.Letters, m)
	case Sum:
		m.Hundredths = slices.Grow(m.Hundredths[:0], n)
		for range n {
			m.Hundredths = append(m.Hundredths, r.hundredths(w.Max))
		}
	case Echo:
		m.Text = r.text(m.Text[:0], n)
	case Temperature:
	case Monitor:
		makeRecord(&r, n, &m.Record)
	case IO, Memory:
		m.Data = r.bytes(m.Data[:0], n)
	default:
		panic("service: make " + string(name))
	}
}

func makeStrings(r *random, n, length int, m *Message) {
	m.ResetStrings()
	m.Strings = slices.Grow(m.Strings, n)
	for range n {
		start := len(m.Arena)
		m.Arena = r.word(m.Arena, r.length(length))
		m.EndString(start)
	}
}

func makeRecord(r *random, n int, c *Record) {
	c.ID = r.word(c.ID[:0], 8)
	c.Status = int32(r.next() % 4)
	c.Sequence = r.number()
	c.Temperature = int64(r.next()%10000) - 2000
	c.Pressure = 90000 + int64(r.next()%20000)
	c.Running = r.next()%2 == 1
	c.Message = r.text(c.Message[:0], n)
}

func (r *random) number() int32 { return int32(r.next() >> 33) }

func (r *random) hundredths(limit uint64) int64 {
	if limit == 0 {
		limit = 100000
	}
	return int64(r.next() % limit)
}

func (r *random) length(fixed int) int {
	if fixed > 0 {
		return fixed
	}
	return 8 + int(r.next()%9)
}

func (r *random) word(dst []byte, n int) []byte {
	dst = slices.Grow(dst, n)
	for range n {
		dst = append(dst, 'a'+byte(r.next()%26))
	}
	return dst
}

func (r *random) text(dst []byte, n int) []byte {
	dst = slices.Grow(dst, n)
	for range n {
		dst = append(dst, letters[r.next()%52])
	}
	return dst
}

func (r *random) bytes(dst []byte, n int) []byte {
	dst = slices.Grow(dst, n+8)
	for range (n + 7) / 8 {
		dst = binary.LittleEndian.AppendUint64(dst, r.next())
	}
	return dst[:n]
}
