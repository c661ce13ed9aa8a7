package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// LaTeX writes a document that compiles as it is; each of its tables can also
// be copied out, as they need no package but longtable.
func (r *Report) LaTeX(w io.Writer) error {
	var b strings.Builder
	b.WriteString("% made by edgegauge report --format " +
		"latex\n\\documentclass[a4paper,10pt]{article}\n\\usepackage[landscape,margin=15mm]{geometry}\n" +
		"\\usepackage{longtable}\n\\begin{document}\n")
	fmt.Fprintf(&b, "\\section*{%s}\n", latexText(r.Study.Name))
	for _, line := range r.damage() {
		fmt.Fprintf(&b, "\\textbf{%s}\n\n", latexText(line))
	}
	if r.Study.Question != "" {
		fmt.Fprintf(&b, "%s\n\n", latexText(r.Study.Question))
	}
	fmt.Fprintf(&b, "%s.\n", latexText(r.scope()))
	latexList(&b, append(r.Verdict(), r.sentencesOf()...))
	for _, t := range r.flatTables() {
		t.latex(&b)
	}
	latexList(&b, r.Warnings)
	b.WriteString("\\end{document}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func latexList(b *strings.Builder, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("\\begin{itemize}\n")
	for _, line := range lines {
		fmt.Fprintf(b, "\\item[--] %s\n", latexText(line))
	}
	b.WriteString("\\end{itemize}\n")
}

// wideColumn is the number of characters from which a column is set in lines
// of their own, its width in proportion.
const wideColumn = 34

func (t flatTable) latex(b *strings.Builder) {
	widths := make([]int, len(t.Rows[0]))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	spec := ""
	var wide, narrow float64
	for _, n := range widths {
		if n > wideColumn {
			wide += float64(n)
		} else {
			narrow += float64(n)
		}
	}
	room := max(0.3, 0.92-narrow*0.008)
	for i, n := range widths {
		switch {
		case n > wideColumn:
			spec += fmt.Sprintf("p{%.3f\\linewidth}", max(0.06, room*float64(n)/wide))
		case i == 0:
			spec += "l"
		default:
			spec += "r"
		}
	}
	fmt.Fprintf(b, "\n\\subsection*{%s}\n{\\small\n\\begin{longtable}{%s}\n\\hline\n", latexText(t.Title), spec)
	for i, row := range t.Rows {
		for j, cell := range row {
			if j > 0 {
				b.WriteString(" & ")
			}
			// Braces keep a cell that begins with [ from being read as the option of the \\ before it.
			b.WriteString("{}" + latexText(cell))
		}
		b.WriteString(" \\\\\n")
		if i == 0 {
			b.WriteString("\\hline\n\\endhead\n")
		}
	}
	b.WriteString("\\hline\n\\end{longtable}}\n")
	latexList(b, t.Notes)
}

var latexMarks = map[rune]string{
	'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '$': `$\$$`, '&': `\&`, '#': `\#`, '_': `\_`, '%': `\%`,
	'~': `\textasciitilde{}`, '^': `\textasciicircum{}`,
	'<': `$<$`, '>': `$>$`, '|': `$|$`, '"': `''`, 'µ': `$\mu$`, '±': `$\pm$`, '×': `$\times$`, '–': `--`, '…': `\ldots{}`,
	'²': `$^2$`, '°': `$^\circ$`, '≤': `$\le$`, '≥': `$\ge$`,
	'\n': " ", '\t': " ",
}

// latexText is text that LaTeX shows as it stands. Letters that the
// fonts of every LaTeX lack become their code points.
func latexText(s string) string {
	var b strings.Builder
	for _, c := range s {
		mark, ok := latexMarks[c]
		switch {
		case ok:
			b.WriteString(mark)
		case c < ' ' || c == 0x7f:
			b.WriteByte('?')
		case c < 0x7f || c >= 0xc0 && c <= 0xff && !strings.ContainsRune("×÷ÐðÞþ", c):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "\\texttt{U+%04X}", c)
		}
	}
	return b.String()
}
