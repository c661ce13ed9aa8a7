package codec

import (
	"encoding/base64"
	"strconv"

	"edgegauge.example/edgegauge/internal/service"
)

func appendJSON(dst []byte, s *shape, m *service.Message) []byte {
	dst = append(dst, '{')
	for i := range s.fields {
		f := &s.fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, f.key...)
		switch f.kind {
		case integers:
			dst = appendJSONInts(dst, m.Ints)
		case texts:
			dst = appendJSONTexts(dst, m.Strings)
		case decimals:
			dst = appendJSONDecimals(dst, m.Hundredths)
		case text:
			dst = appendJSONText(dst, *f.bytes(m))
		case octets:
			dst = append(dst, '"')
			dst = base64.StdEncoding.AppendEncode(dst, *f.bytes(m))
			dst = append(dst, '"')
		case integer:
			dst = strconv.AppendInt(dst, int64(*f.integer(m)), 10)
		case long:
			dst = strconv.AppendInt(dst, *f.long(m), 10)
		case decimal:
			dst = service.AppendHundredths(dst, *f.long(m))
		case boolean:
			dst = strconv.AppendBool(dst, *f.boolean(m))
		}
	}
	return append(dst, '}')
}

func appendJSONInts(dst []byte, ints []int32) []byte {
	dst = append(dst, '[')
	for i, v := range ints {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(v), 10)
	}
	return append(dst, ']')
}

func appendJSONTexts(dst []byte, texts [][]byte) []byte {
	dst = append(dst, '[')
	for i, t := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONText(dst, t)
	}
	return append(dst, ']')
}

func appendJSONDecimals(dst []byte, ks []int64) []byte {
	dst = append(dst, '[')
	for i, k := range ks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = service.AppendHundredths(dst, k)
	}
	return append(dst, ']')
}

// jsonPlain marks the bytes that stand for themselves in a string.
var jsonPlain = func() (t [256]bool) {
	for i := range t {
		t[i] = i >= 0x20 && i != '"' && i != '\\'
	}
	return
}()

// appendJSONText escapes what must be escaped and nothing else, as RFC 8785,
// section 3.2.2.2 does.
func appendJSONText(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i, c := range text {
		if jsonPlain[c] {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}
