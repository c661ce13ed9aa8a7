package printable

import (
	"fmt"
	"strings"
)

// Quoted returns s as a shell reads it as one word. What Text would change, since it steers a terminal or is no
// UTF-8, is written in octal, as bash, zsh and POSIX.1-2024 read it.
func Quoted(s string) string {
	if !clean(s) {
		var b strings.Builder
		for _, c := range []byte(s) {
			switch {
			case c < ' ' || c > '~':
				fmt.Fprintf(&b, `\%03o`, c)
			case c == '\'' || c == '\\':
				b.WriteString(`\` + string(c))
			default:
				b.WriteByte(c)
			}
		}
		return "$'" + b.String() + "'"
	}
	special := func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("/.-_=%:@", c))
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// QuotedPath is a file or folder as a word of a command: one whose name begins as a flag does has ./ in front.
func QuotedPath(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return Quoted(path)
}
