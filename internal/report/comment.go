package report

import (
	"fmt"
	"io"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/printable"
	"edgegauge.example/edgegauge/internal/stat"
)

// annotations are one line for everything that is worse or undecided, whole, in the
// form that .github/problem-matcher.json reads.
func (c Compared) annotations() []string {
	var out []string
	say := func(v stat.Verdict, text string) {
		if v == stat.Confirmed || v == stat.Undecided {
			out = append(out, fmt.Sprintf("edgegauge: %s: %s", verdictWord(v), text))
		}
	}
	for _, l := range c.Lost {
		say(l.Verdict(), l.Kind()+": "+l.String())
	}
	for _, f := range c.Failed {
		say(f.Verdict, f.Kind("failures")+": "+f.String())
	}
	for _, o := range c.Outcomes {
		say(o.Verdict, o.Condition.Text+": "+sentence(o.Contrast))
	}
	return out
}

// Markdown writes a comment for a pull request: the answer first, then what it rests
// on, how sure it is, and how to repeat it.
func (c Compared) Markdown(w io.Writer) error {
	var b strings.Builder
	word, rest, _ := strings.Cut(c.Says(), ":")
	fmt.Fprintf(&b, "**%s**:%s\n\n", word, markdownText(rest))
	rows := c.Outcomes
	if len(rows) > 0 {
		b.WriteString("| condition | treatment | side | old | new | new/old | verdict |\n|---|---|---|---:|---:|---:|---|\n")
	}
	for _, o := range rows {
		x := o.Contrast
		cells := []string{o.Condition.Text, x.Treatment, string(x.Side), Format(x.Old, x.Unit), Format(x.New, x.Unit),
			fmt.Sprintf("%s (%s)", ratioText(x.Ratio.Estimate), ratioRange(x.Ratio)), outcomeWord(o)}
		for i := range cells {
			cells[i] = markdownText(cells[i])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	if len(rows) > 0 {
		b.WriteByte('\n')
	}
	for _, l := range c.Lost {
		fmt.Fprintf(&b, "- %s: %s\n", l.Kind(), markdownText(l.String()))
	}
	if len(c.Gone) > 0 {
		fmt.Fprintf(&b, "- the new results lack, so not compared: %s\n", markdownText(list(c.Gone, mostNames)))
	}
	for _, f := range c.failures() {
		fmt.Fprintf(&b, "- %s: %s\n", f.Kind("failures"), markdownText(f.String()))
	}
	if of := c.OfAnswered(); of != "" {
		fmt.Fprintf(&b, "- %s\n", markdownText(of))
	}
	for _, line := range c.findings() {
		fmt.Fprintf(&b, "- finding: %s\n", markdownText(line))
	}
	for _, o := range c.Outcomes {
		if o.Verdict == stat.Undecided {
			fmt.Fprintf(&b, "- undecided: %s, %s: %s\n", markdownText(o.Condition.Text), markdownText(whose(o.Contrast)),
				markdownText(whatNext(o)))
		}
	}
	n := c.count()
	fmt.Fprintf(&b, "\nAll figures: %d higher, %d lower, %d equal within %g %%, %d undecided.\n", n[advise.Higher],
		n[advise.Lower], n[advise.Equal]+n[advise.Same], 100*c.Margin, n[advise.Unknown])
	fmt.Fprintf(&b, "\n<details><summary>Confidence, and how to reproduce this</summary>\n\n%s.\n", markdownLine(c.how()))
	for line := range strings.Lines(c.Sizing) {
		fmt.Fprintf(&b, "\n%s\n", markdownLine(line))
	}
	for i, text := range append(c.Differences, c.Warnings...) {
		if i == mostWarnings {
			fmt.Fprintf(&b, "- and %d more\n", len(c.Differences)+len(c.Warnings)-i)
			break
		}
		fmt.Fprintf(&b, "- %s\n", markdownLine(text))
	}
	if c.Command != "" {
		fmt.Fprintf(&b, "\n%s\n", codeLines(c.Command))
	}
	b.WriteString("\n</details>\n")
	_, err := io.WriteString(w, printable.Text(b.String()))
	return err
}
