// Package printable makes text of strangers harmless where it is shown: in a
// terminal, in a text file that somebody prints there, in a cell of a
// spreadsheet, in a command that somebody copies into a shell. It hides passwords. It does not
// escape for a markup; HTML, LaTeX and Markdown do so themselves.
package printable

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s with all that steers a terminal, or the order in which it is
// read, written as \u001b: control characters (C0 but newline and tab, DEL, C1),
// marks of direction (UAX #9), invisible characters and what is not UTF-8. The
// form is one that JSON reads back.
func Text(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && s[i] != "\uFFFD"[0]:
			fmt.Fprintf(&b, `\u%04x`, s[i])
		case harmful(r) && r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case harmful(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Line is Text on one line.
func Line(s string) string {
	return strings.ReplaceAll(Text(s), "\n", " ")
}

func clean(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, harmful) < 0
}

// harmful says whether a character does something else than show itself.
func harmful(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) ||
		unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
}

// Cell returns s for a cell of a CSV file. A spreadsheet runs what begins like a
// formula, so such text gets a quote in front; numbers stay.
func Cell(s string) string {
	s = Text(s)
	if s == "" || !strings.ContainsRune("=+-@\t\n＝＋－＠", first(s)) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// Row is Cell for a whole row, in place.
func Row(cells []string) []string {
	for i := range cells {
		cells[i] = Cell(cells[i])
	}
	return cells
}

// A Writer passes on what is written to it as Text.
type Writer struct {
	w    io.Writer
	part []byte // of a character whose end is not there yet
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write takes all of p or returns the error of the writer below.
func (w *Writer) Write(p []byte) (int, error) {
	b := append(w.part, p...)
	n := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if last := b[len(b)-back]; utf8.RuneStart(last) {
			if !utf8.FullRune(b[len(b)-back:]) {
				n -= back
			}
			break
		}
	}
	out := Text(string(b[:n]))
	w.part = append(w.part[:0:0], b[n:]...)
	if _, err := io.WriteString(w.w, out); err != nil {
		return 0, err
	}
	return len(p), nil
}
