package report

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/printable"
)

// narrowest is the width of a terminal below which nothing is folded for it.
const narrowest = 20

// PrintText writes a text whose sentences are wrapped. Where w is a terminal that says that it is narrower than that,
// they fit into its columns; tables and commands, which are pasted, stay as wide as they are.
func PrintText(w io.Writer, text string) error {
	text = printable.Text(text)
	if t, ok := w.(interface{ Columns() int }); ok && t.Columns() >= narrowest && t.Columns() < Columns {
		text = folded(text, t.Columns())
	}
	_, err := io.WriteString(w, text)
	return err
}

// folded is a text whose sentences were wrapped, with these in so many columns.
func folded(text string, columns int) string {
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for n := 1; len(lines) > 0; n++ {
		if n == len(lines) || !continues(lines[n-1], lines[n]) {
			fold(&b, lines[:n], columns)
			lines, n = lines[n:], 0
		}
	}
	return b.String()
}

// continues reports whether a line is what wrap left of the one before.
func continues(last, line string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	return strings.HasPrefix(line, "  ") && word != "" && word != "edgegauge" &&
		utf8.RuneCountInString(last)+1+utf8.RuneCountInString(word) > Columns
}

// fold writes the lines of one paragraph in so many columns, if they are a sentence.
func fold(b *strings.Builder, lines []string, columns int) {
	margin := func(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " "))] }
	head := margin(lines[0])
	indent := head + "  "
	if len(lines) > 1 {
		indent = margin(lines[1])
		if first := lines[0]; len(first) > len(indent) && first[len(indent)-1] == ' ' {
			head = first[:len(indent)] // a word in a column of its own
		}
	}
	body := lines[0][len(head):]
	for _, line := range lines[1:] {
		body += " " + strings.TrimLeft(line, " ")
	}
	wide := slices.ContainsFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) > columns })
	whole := strings.Contains(body, "  ") || strings.HasPrefix(body, "edgegauge") || len(indent) > columns/2
	if !wide || whole {
		b.WriteString(strings.Join(lines, "\n") + "\n")
		return
	}
	hangIn(b, columns, head, body, indent)
}
