package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Columns is the widest line of a text report.
const Columns = 99

// Text writes tables for a terminal, the answer first.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Study.Name)
	if r.Study.Question != "" {
		fmt.Fprintf(&b, ": %s", r.Study.Question)
	}
	fmt.Fprintf(&b, "\n%s\n", r.scope())
	for _, line := range r.conditions() {
		wrap(&b, line, "  ")
	}
	b.WriteByte('\n')
	for _, line := range r.damage() {
		wrap(&b, "! "+line, "  ")
	}
	for _, line := range r.Verdict() {
		wrap(&b, line, "  ")
	}
	b.WriteByte('\n')
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		r.tables(&b, side)
	}
	r.benchesText(&b)
	r.effectsText(&b)
	r.besides(&b)
	r.predicted(&b)
	for _, line := range r.machines() {
		wrap(&b, line, "  ")
	}
	for _, line := range slices.Concat(r.warnings(), r.effectWarnings()) {
		wrap(&b, "! "+line, "  ")
	}
	if r.Published != nil {
		b.WriteByte('\n')
		r.scorecard(&b)
	}
	return PrintText(w, b.String())
}

// tables prints one side's responses, as many beside each other as fit.
func (r *Report) tables(b *strings.Builder, side measure.Side) {
	var responses []string
	for _, x := range measure.Responses() {
		if slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.Side == side && c.Response == x.Name }) {
			responses = append(responses, x.Name)
		}
	}
	first := r.nameColumn(string(side))
	for len(responses) > 0 {
		cols := [][]string{first}
		width := widest(first)
		for len(responses) > 0 {
			col := r.column(side, responses[0])
			if width+2+widest(col) > Columns && len(cols) > 1 {
				break
			}
			width += 2 + widest(col)
			cols = append(cols, col)
			responses = responses[1:]
		}
		for row := range first {
			line := pad(cols[0][row], widest(cols[0]), false)
			for _, c := range cols[1:] {
				line += "  " + pad(c[row], widest(c), true)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		b.WriteByte('\n')
	}
}

func (r *Report) nameColumn(head string) []string {
	var names []string
	for _, t := range r.Treatments {
		names = append(names, t.Name())
	}
	return append([]string{head}, shortened(names, 40)...)
}

// column prints one response: value, interval, and for the RTT, and the time by which treatments are ranked, the
// multiple of the floor.
func (r *Report) column(side measure.Side, response string) []string {
	floored := response == "rtt" || response == "response_time" && r.timeOf(r.numbers()) == response
	col := []string{response + r.byMedian(side, response) + r.modelledHead(side, response)}
	for i := range r.Treatments {
		c, ok := r.Cell(i, side, response)
		if !ok {
			col = append(col, "–")
			continue
		}
		head := c.Headline()
		text := Format(head.Center, c.Unit)
		if c.Method == store.Modelled && r.modelledHead(side, response) == "" {
			text += " modelled"
		}
		if half := interval(head, c.Unit); half != "" {
			text += " " + pad(half, 6, true)
		}
		if share := r.failedOf(c); share > 0 {
			text += fmt.Sprintf(" (%s failed)", percentFailed(share))
		}
		if c.HasFloor && floored {
			text += fmt.Sprintf(" %5.1f×floor", c.AboveFloor.Estimate)
		} else if c.noFloor != "" && floored {
			text += "     –×floor"
		} else if floored && r.isFloor(r.Treatments[i].Stack) {
			text += "            "
		}
		col = append(col, text)
	}
	return col
}

// modelledHead is what a column says where all its figures are modelled.
func (r *Report) modelledHead(side measure.Side, response string) string {
	n, modelled := 0, 0
	for _, c := range r.Cells {
		if c.Side == side && c.Response == response {
			if n++; c.Method == store.Modelled {
				modelled++
			}
		}
	}
	if n > 0 && n == modelled {
		return " (modelled)"
	}
	return ""
}

// warnings are the global ones and, once each, those of the cells, with the figure that they concern.
func (r *Report) warnings() []string {
	var of kinds
	for _, c := range r.Cells {
		for _, w := range c.Warnings {
			if !strings.HasPrefix(w, "median: ") && c.Unit != "B" {
				of.add(w, w, fmt.Sprintf("%s of %s at the %s", words(c.Response), r.Treatments[c.Treatment].Name(), c.Side))
			}
		}
	}
	return append(slices.Clone(r.Warnings), of.lines()...)
}

// effectWarnings are, once each, those of what factors do, with the figure that they concern.
func (r *Report) effectWarnings() []string {
	var of kinds
	for _, e := range r.Effects {
		for _, w := range e.Warnings {
			if e.Unit != "B" {
				of.add(w, ofPair().ReplaceAllString(w, ""), fmt.Sprintf("%s at the %s", words(e.Response), e.Side))
			}
		}
	}
	return of.lines()
}

// kinds are warnings of which each stands once: the same doubt of several figures, each with its own numbers.
type kinds struct {
	seen  map[string]*doubt
	order []*doubt
}

type doubt struct {
	text, of string // of the first figure
	figures  int
}

func (k *kinds) add(text, kind, of string) {
	kind = aNumber().ReplaceAllString(kind, "#")
	if k.seen[kind] == nil {
		if k.seen == nil {
			k.seen = map[string]*doubt{}
		}
		k.seen[kind] = &doubt{text: text, of: of}
		k.order = append(k.order, k.seen[kind])
	}
	k.seen[kind].figures++
}

func (k *kinds) lines() []string {
	var out []string
	for _, d := range k.order {
		out = append(out, fmt.Sprintf("%s (%s: %s)", d.text, figures(d.figures), d.of))
	}
	return out
}

var (
	aNumber = lazy.Regexp(`[0-9][0-9.]*`)
	ofPair  = lazy.Regexp(`^.* against [^:]*: `) // which levels a warning is of
)

func figures(n int) string {
	if n == 1 {
		return "1 figure"
	}
	return fmt.Sprintf("the first of %d such figures", n)
}

func widest(col []string) int {
	w := 0
	for _, s := range col {
		w = max(w, utf8.RuneCountInString(s))
	}
	return w
}

func pad(s string, width int, right bool) string {
	fill := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// wrap writes text in lines of at most Columns, later ones indented.
func wrap(b *strings.Builder, text, indent string) { hang(b, "", text, indent) }

// hang is wrap behind a head, which stands as it is.
func hang(b *strings.Builder, head, text, indent string) { hangIn(b, Columns, head, text, indent) }

// hangIn is hang in so many columns.
func hangIn(b *strings.Builder, columns int, head, text, indent string) {
	b.WriteString(head)
	n := utf8.RuneCountInString(head)
	for i, word := range strings.Fields(text) {
		l := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n+1+l > columns:
			b.WriteString("\n" + indent)
			n = len(indent)
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += l
	}
	b.WriteByte('\n')
}
