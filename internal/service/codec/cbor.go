package codec

import (
	"encoding/binary"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/service"
)

// The major types of RFC 8949, section 3.1, and the simple values used here.
const (
	cborUnsigned = 0
	cborNegative = 1
	cborBytes    = 2
	cborText     = 3
	cborArray    = 4
	cborMap      = 5
	cborTag      = 6
	cborSimple   = 7

	cborFalse  = 0xf4
	cborTrue   = 0xf5
	cborDouble = 0xfb
	cborBreak  = 0xff
)

func appendCBOR(dst []byte, s *shape, m *service.Message) []byte {
	dst = appendCBORHead(dst, cborMap, uint64(len(s.fields)))
	for i := range s.fields {
		f := &s.fields[i]
		dst = append(dst, f.cbor...)
		switch f.kind {
		case integers:
			dst = appendCBORHead(dst, cborArray, uint64(len(m.Ints)))
			for _, v := range m.Ints {
				dst = appendCBORInt(dst, int64(v))
			}
		case texts:
			dst = appendCBORHead(dst, cborArray, uint64(len(m.Strings)))
			for _, t := range m.Strings {
				dst = append(appendCBORHead(dst, cborText, uint64(len(t))), t...)
			}
		case decimals:
			dst = appendCBORHead(dst, cborArray, uint64(len(m.Hundredths)))
			dst = slices.Grow(dst, 9*len(m.Hundredths))
			for _, k := range m.Hundredths {
				dst = appendBigEndianDouble(append(dst, cborDouble), k)
			}
		case text:
			t := *f.bytes(m)
			dst = append(appendCBORHead(dst, cborText, uint64(len(t))), t...)
		case octets:
			t := *f.bytes(m)
			dst = append(appendCBORHead(dst, cborBytes, uint64(len(t))), t...)
		case integer:
			dst = appendCBORInt(dst, int64(*f.integer(m)))
		case long:
			dst = appendCBORInt(dst, *f.long(m))
		case decimal:
			dst = appendBigEndianDouble(append(dst, cborDouble), *f.long(m))
		case boolean:
			dst = append(dst, cborFalse)
			if *f.boolean(m) {
				dst[len(dst)-1] = cborTrue
			}
		}
	}
	return dst
}

func appendBigEndianDouble(dst []byte, k int64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(float64(k)/100))
}

func appendCBORInt(dst []byte, v int64) []byte {
	if v < 0 {
		return appendCBORHead(dst, cborNegative, uint64(^v))
	}
	return appendCBORHead(dst, cborUnsigned, uint64(v))
}

func appendCBORHead(dst []byte, major byte, v uint64) []byte {
	major <<= 5
	switch {
	case v < 24:
		return append(dst, major|byte(v))
	case v <= math.MaxUint8:
		return append(dst, major|24, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, major|25), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), v)
}
