package report

import (
	"fmt"
	"io"
	"strings"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/printable"
)

// A flatTable is a table as every text format writes it.
type flatTable struct {
	Title string
	Rows  [][]string // the first is the head
	Notes []string
}

// flatTables are the report's tables: one for each response and side, then the
// factors' effects, published figures and claims.
func (r *Report) flatTables() []flatTable {
	var out []flatTable
	for _, p := range r.Panels() {
		out = append(out, r.flat(p))
	}
	out = append(out, r.benchTables()...)
	var allocation [][]string
	for _, e := range r.Effects {
		if a := e.allocation(); a != "" {
			allocation = append(allocation, []string{words(e.Response) + r.modelledHead(e.Side, e.Response), string(e.Side), a})
		}
	}
	if len(allocation) > 0 {
		out = append(out, flatTable{Title: "What explains the variation of trials (* p < 0.05)",
			Rows: append([][]string{{"response", "side", "share of the variation"}}, allocation...)})
	}
	if rows := r.besideRows(); len(rows) > 0 {
		out = append(out, flatTable{Title: "Compared with the figures of " + r.Published.Paper.Reference(),
			Rows: append([][]string{{"treatment", "side", "response", "ours", "published", "ours/published",
				"interval"}}, rows...)})
	}
	if rows := r.predictedRows(); len(rows) > 0 {
		out = append(out, flatTable{Title: "Predicted for a board, not measured",
			Rows: append([][]string{predictedHead}, rows...), Notes: append(r.predictedOf(), r.Unpredicted...)})
	}
	if rows := r.claimRows(); len(rows) > 0 {
		t := flatTable{Title: "Claims of " + r.Published.Paper.Reference() + ": " + tally(*r.Published),
			Rows: [][]string{{"verdict", "claim", "published", "ours", "why"}}}
		for _, x := range rows {
			t.Rows = append(t.Rows, []string{x.Verdict, x.Claim, x.Published, x.Ours, strings.Join(x.Why, "; ")})
		}
		t.Notes = append(t.Notes, "published on: "+r.Published.Paper.Setup, "ours: "+r.ownSetup())
		for _, d := range r.Published.Differs {
			t.Notes = append(t.Notes, "the set-up differs: "+d)
		}
		out = append(out, t)
	}
	return out
}

func (r *Report) flat(p Panel) flatTable {
	t := flatTable{Title: words(p.Response) + " at the " + string(p.Side) + r.byMedian(p.Side, p.Response) +
		r.modelledHead(p.Side, p.Response),
		Rows: [][]string{{"treatment", r.centers(p), "interval", "sd", r.besideCenters(p), "p95", "trials"}}}
	var notes noteList
	for i, x := range r.Treatments {
		c, ok := r.Cell(i, p.Side, p.Response)
		if !ok {
			t.Rows = append(t.Rows, []string{x.Name(), r.noFigure(i, p), "–", "–", "–", "–", "0"})
			continue
		}
		for _, w := range c.Warnings {
			notes.mark(w, x.Name())
		}
		head := c.Headline()
		t.Rows = append(t.Rows, []string{x.Name(), Format(head.Center, c.Unit) + modelled(c.Method), range2(head, c.Unit),
			Format(c.SD, c.Unit), Format(c.beside().Center, c.Unit), Format(c.P95, c.Unit), fmt.Sprint(len(c.Points))})
	}
	for i, text := range notes.texts {
		t.Notes = append(t.Notes, list(notes.whom[i], 4)+": "+text)
	}
	for _, e := range r.Effects {
		if e.Panel == p {
			t.Notes = append(t.Notes, e.Warnings...)
		}
	}
	return t
}

// sentencesOf are the effects in words, of all responses.
func (r *Report) sentencesOf() []string {
	var out []string
	for _, e := range r.Effects {
		out = append(out, e.sentences(r.Study.Design.Confidence, r.inVerdicts())...)
	}
	return out
}

// Markdown writes the report for a wiki, an issue or a pull request.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", markdownLine(r.Study.Name))
	if r.Study.Question != "" {
		fmt.Fprintf(&b, "%s\n\n", markdownLine(r.Study.Question))
	}
	for _, line := range r.damage() {
		fmt.Fprintf(&b, "> **%s**\n\n", markdownText(line))
	}
	fmt.Fprintf(&b, "%s.\n\n", markdownLine(r.scope()))
	for _, list := range [][]string{r.Verdict(), r.sentencesOf()} {
		if len(list) == 0 {
			continue
		}
		for _, line := range list {
			fmt.Fprintf(&b, "- %s\n", markdownLine(line))
		}
		b.WriteByte('\n')
	}
	for _, t := range r.flatTables() {
		fmt.Fprintf(&b, "## %s\n\n", markdownLine(t.Title))
		for i, row := range t.Rows {
			for _, cell := range row {
				b.WriteString("| " + markdownText(cell) + " ")
			}
			b.WriteString("|\n")
			if i == 0 {
				b.WriteString("|---" + strings.Repeat("|---", len(row)-1) + "|\n")
			}
		}
		b.WriteByte('\n')
		for _, n := range t.Notes {
			fmt.Fprintf(&b, "- %s\n", markdownLine(n))
		}
		b.WriteByte('\n')
	}
	if len(r.Warnings) > 0 {
		b.WriteString("## Caveats\n\n")
		for _, line := range r.Warnings {
			fmt.Fprintf(&b, "- %s\n", markdownLine(line))
		}
	}
	_, err := io.WriteString(w, printable.Text(b.String()))
	return err
}

// markdownText is text within a line that Markdown shows as it stands (CommonMark 0.31, section 2.4). Behind an @ is a
// space of no width, so that a comment on a pull request tells nobody who is called so.
var markdownText = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`,
	"]", `\]`, "#", `\#`, "~", `\~`, "$", `\$`, "&", "&amp;", "@", "@&#8203;",
	"\r\n", " ", "\n", " ", "\r", " ").Replace

// opensBlock is what a line begins with that Markdown takes for a list, a quotation, a rule or a heading.
var opensBlock = lazy.Regexp(`^[-+>=]|^[0-9]{1,9}[.)]( |$)`)

// markdownLine is markdownText that a line, a list's item or a heading begins with.
func markdownLine(s string) string {
	s = strings.TrimLeft(markdownText(s), " \t")
	if !opensBlock().MatchString(s) {
		return s
	}
	at := strings.IndexAny(s, "-+>=.)")
	return s[:at] + `\` + s[at:]
}

// codeSpan is text as code within a line.
func codeSpan(s string) string {
	fence, run := "`", 0
	for _, c := range s {
		if run++; c != '`' {
			run = 0
		}
		if run == len(fence) {
			fence += "`"
		}
	}
	pad := ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		pad = " "
	}
	return fence + pad + strings.NewReplacer("\r", " ", "\n", " ").Replace(s) + pad + fence
}

// codeLines is text as a block of code.
func codeLines(s string) string {
	return "    " + strings.NewReplacer("\r", " ", "\n", "\n    ").Replace(s)
}
