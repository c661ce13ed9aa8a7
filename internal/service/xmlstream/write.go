// Package xmlstream writes XML by appending to a buffer, and reads it by pulling
// events from one, both without garbage. It knows XML 1.0 (fifth edition) and
// Namespaces in XML 1.0 (third edition), UTF-8 only, and refuses document types
// altogether. It is no validator, and no tree.
package xmlstream

import (
	"slices"
	"unicode/utf8"
)

// AppendText appends character data, escaped as Canonical XML 1.0, section 2.3
// has it: & < > and the carriage return. What is no XML character, or not
// UTF-8, becomes U+FFFD.
func AppendText(dst, text []byte) []byte {
	return appendEscaped(dst, text, &textClass)
}

// AppendValue appends an attribute's value without its quotes, which are
// double. Tabs and line ends are escaped, or a reader would see spaces.
func AppendValue(dst, value []byte) []byte {
	return appendEscaped(dst, value, &valueClass)
}

// textClass and valueClass mark the ASCII that stands for itself when written;
// beyond ASCII each character is looked at.
var (
	textClass  = writable("&<>\r")
	valueClass = writable("&<\"\t\n\r")
)

func writable(special string) (t [256]bool) {
	for c := range 0x80 {
		t[c] = isChar(rune(c)) && !slices.Contains([]byte(special), byte(c))
	}
	return
}

func appendEscaped(dst, text []byte, plain *[256]bool) []byte {
	start := 0
	for i := 0; i < len(text); {
		if plain[text[i]] {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		legal := isChar(r) && !(r == utf8.RuneError && size == 1)
		if legal && r >= 0x80 {
			i += size
			continue
		}
		dst = append(dst, text[start:i]...)
		if legal {
			dst = append(dst, escape(byte(r))...)
		} else {
			dst = utf8.AppendRune(dst, utf8.RuneError)
		}
		i += size
		start = i
	}
	return append(dst, text[start:]...)
}

func escape(c byte) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&quot;"
	case '\t':
		return "&#x9;"
	case '\n':
		return "&#xA;"
	}
	return "&#xD;"
}
