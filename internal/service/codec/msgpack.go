package codec

import (
	"encoding/binary"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/service"
)

// The first bytes of MessagePack's formats.
const (
	mpNil     = 0xc0
	mpUnused  = 0xc1
	mpFalse   = 0xc2
	mpTrue    = 0xc3
	mpBin8    = 0xc4
	mpExt8    = 0xc7
	mpFloat32 = 0xca
	mpFloat64 = 0xcb
	mpUint8   = 0xcc
	mpInt8    = 0xd0
	mpFixExt1 = 0xd4
	mpStr8    = 0xd9
	mpArray16 = 0xdc
	mpMap16   = 0xde
)

func appendMsgPack(dst []byte, s *shape, m *service.Message) []byte {
	dst = append(dst, 0x80|byte(len(s.fields))) // at most 7 of the 15 that fit
	for i := range s.fields {
		f := &s.fields[i]
		dst = append(dst, f.msgpack...)
		switch f.kind {
		case integers:
			dst = appendMsgPackArray(dst, len(m.Ints))
			for _, v := range m.Ints {
				dst = appendMsgPackInt(dst, int64(v))
			}
		case texts:
			dst = appendMsgPackArray(dst, len(m.Strings))
			for _, t := range m.Strings {
				dst = appendMsgPackText(dst, t)
			}
		case decimals:
			dst = appendMsgPackArray(dst, len(m.Hundredths))
			dst = slices.Grow(dst, 9*len(m.Hundredths))
			for _, k := range m.Hundredths {
				dst = appendBigEndianDouble(append(dst, mpFloat64), k)
			}
		case text:
			dst = appendMsgPackText(dst, *f.bytes(m))
		case octets:
			b := *f.bytes(m)
			dst = append(appendMsgPackLength(dst, mpBin8, len(b)), b...)
		case integer:
			dst = appendMsgPackInt(dst, int64(*f.integer(m)))
		case long:
			dst = appendMsgPackInt(dst, *f.long(m))
		case decimal:
			dst = appendBigEndianDouble(append(dst, mpFloat64), *f.long(m))
		case boolean:
			dst = append(dst, mpFalse)
			if *f.boolean(m) {
				dst[len(dst)-1] = mpTrue
			}
		}
	}
	return dst
}

// appendMsgPackInt writes the shortest form, unsigned if v is not negative.
func appendMsgPackInt(dst []byte, v int64) []byte {
	switch {
	case v >= -32 && v < 128:
		return append(dst, byte(v))
	case v >= 0:
		return appendSized(dst, mpUint8, uint64(v))
	case v >= math.MinInt8:
		return append(dst, mpInt8, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(dst, mpInt8+1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(dst, mpInt8+2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, mpInt8+3), uint64(v))
}

// appendSized writes v in 1, 2, 4 or 8 bytes after the format that says so;
// format is the one of 1 byte, the others follow it.
func appendSized(dst []byte, format byte, v uint64) []byte {
	switch {
	case v <= math.MaxUint8:
		return append(dst, format, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, format+1), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, format+2), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, format+3), v)
}

// appendMsgPackLength is appendSized for lengths, which have 32 bits at most.
func appendMsgPackLength(dst []byte, format byte, n int) []byte {
	if int64(n) > math.MaxUint32 {
		panic("codec: MessagePack lengths are below 4 GiB")
	}
	return appendSized(dst, format, uint64(n))
}

func appendMsgPackText[T string | []byte](dst []byte, t T) []byte {
	if len(t) < 32 {
		return append(append(dst, 0xa0|byte(len(t))), t...)
	}
	return append(appendMsgPackLength(dst, mpStr8, len(t)), t...)
}

func appendMsgPackArray(dst []byte, n int) []byte {
	if n < 16 {
		return append(dst, 0x90|byte(n))
	}
	if n <= math.MaxUint16 { // there is no array of an 8-bit length
		return binary.BigEndian.AppendUint16(append(dst, mpArray16), uint16(n))
	}
	return appendMsgPackLength(dst, mpArray16-1, n)
}
