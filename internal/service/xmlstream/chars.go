package xmlstream

import "unicode/utf8"

// The classes of bytes. Beyond ASCII, characters are looked up one by one.
const (
	nameStart = 1 << iota // may begin a name
	nameByte              // may go on in one
	plainText             // stands for itself in character data, whatever follows
	plainAttr             // stands for itself in an attribute's value, but for the quotes
	spaceByte             // white space
)

var class = func() (t [256]uint8) {
	for c := range 0x80 {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		digit := c >= '0' && c <= '9'
		if letter {
			t[c] |= nameStart
		}
		if letter || digit || c == '-' || c == '.' {
			t[c] |= nameByte
		}
		if c >= 0x20 && c != '<' && c != '&' && c != ']' || c == '\t' || c == '\n' {
			t[c] |= plainText
		}
		if c >= 0x20 && c != '<' && c != '&' && c != '"' && c != '\'' {
			t[c] |= plainAttr
		}
	}
	for _, c := range " \t\r\n" {
		t[c] |= spaceByte
	}
	return
}()

// isChar is production [2] of XML 1.0.
func isChar(r rune) bool {
	return r >= 0x20 && r <= 0xD7FF || r == '\t' || r == '\n' || r == '\r' ||
		r >= 0xE000 && r <= 0xFFFD || r >= 0x10000 && r <= 0x10FFFF
}

// isNameStart is production [4] beyond ASCII.
func isNameStart(r rune) bool {
	for _, x := range nameRanges {
		if r >= x[0] && r <= x[1] {
			return true
		}
	}
	return false
}

var nameRanges = [][2]rune{
	{0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x2FF}, {0x370, 0x37D}, {0x37F, 0x1FFF}, {0x200C, 0x200D}, {0x2070, 0x218F},
	{0x2C00, 0x2FEF}, {0x3001, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF},
}

// isNameChar is production [4a] beyond ASCII.
func isNameChar(r rune) bool {
	return isNameStart(r) || r == 0xB7 || r >= 0x300 && r <= 0x36F || r >= 0x203F && r <= 0x2040
}

// charSize is the length of the character b begins with, 0 if it is none.
func charSize(b []byte) int {
	r, size := utf8.DecodeRune(b)
	if size < 2 && r == utf8.RuneError || !isChar(r) {
		return 0
	}
	return size
}

// runText returns where the character data of b from i on meets a byte that
// does not stand for itself: markup, a reference, a carriage return, "]]>", or
// what is no character.
func runText(b []byte, i int) int {
	for i < len(b) {
		c := b[i]
		switch {
		case class[c]&plainText != 0:
			i++
		case c >= 0x80:
			n := charSize(b[i:])
			if n == 0 {
				return i
			}
			i += n
		case c == ']' && !(len(b)-i > 2 && b[i+1] == ']' && b[i+2] == '>'):
			i++
		default:
			return i
		}
	}
	return i
}

// runChars returns where b from i on meets what is no character.
func runChars(b []byte, i int) int {
	for i < len(b) {
		if c := b[i]; c >= 0x20 && c < 0x80 {
			i++
			continue
		}
		n := charSize(b[i:])
		if n == 0 {
			return i
		}
		i += n
	}
	return i
}

// runName returns where the name (without colons) that begins at i ends; i if
// none does.
func runName(b []byte, i int) int {
	start := i
	for i < len(b) {
		c := b[i]
		if c < 0x80 {
			if class[c]&nameByte == 0 || i == start && class[c]&nameStart == 0 {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 || !isNameChar(r) || i == start && !isNameStart(r) {
			return i
		}
		i += size
	}
	return i
}

// IsChar says that XML can say the character.
func IsChar(r rune) bool { return isChar(r) }
