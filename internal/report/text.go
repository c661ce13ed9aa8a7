package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"edgegauge/internal/measure"
	"edgegauge/internal/stat"
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
	fmt.Fprintf(&b, "\n%s\n\n", r.scope())
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
	r.effectsText(&b)
	r.besides(&b)
	r.predicted(&b)
	for _, line := range r.machines() {
		wrap(&b, line, "  ")
	}
	for _, line := range r.warnings() {
		wrap(&b, "! "+line, "  ")
	}
	if r.Published != nil {
		b.WriteByte('\n')
		r.scorecard(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Verdict answers in words: who is quickest, by how much, how surely.
func (r *Report) Verdict() []string {
	if len(r.Damage) > 0 {
		return []string{"No answer is given: these results are not as the lab wrote them."}
	}
	var out []string
	for _, response := range []string{"rtt", "total_time", "message_size", "cpu", "energy"} {
		if v := r.verdict(response); v != "" && (response != "total_time" || len(out) == 0) {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		out = append(out, r.noAnswer())
	}
	return out
}

// noAnswer says why nothing is the best.
func (r *Report) noAnswer() string {
	repeated := 0
	for _, t := range r.Treatments {
		if t.Valid > 1 && !isFloor(t.Stack) {
			repeated++
		}
	}
	switch {
	case repeated == 0:
		return "There is no answer: no treatment has two valid trials."
	case repeated == 1:
		return "There is no comparison: one treatment has two valid trials or more."
	}
	return "There is no answer in a word: neither times, message sizes, CPU nor net energy were measured."
}

var verdictWords = map[string]string{
	"rtt": "Quickest", "total_time": "Quickest in all", "message_size": "Smallest message", "cpu": "Least client CPU", "energy": "Least energy",
}

// verdict names the best treatment, floors aside, and those that it cannot be
// told from (Holm over the family of its contrasts).
func (r *Report) verdict(response string) string {
	var cells []*Cell
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Response == response && c.Side == measure.Client && !isFloor(r.Treatments[c.Treatment].Stack) && len(c.Points) > 1 {
			cells = append(cells, c)
		}
	}
	if len(cells) < 2 {
		return ""
	}
	slices.SortStableFunc(cells, func(a, b *Cell) int {
		switch {
		case a.Mean.Center < b.Mean.Center:
			return -1
		case a.Mean.Center > b.Mean.Center:
			return 1
		}
		return 0
	})
	best := cells[0]
	text := fmt.Sprintf("%s: %s, %s%s", verdictWords[response], r.Treatments[best.Treatment].Name(), Format(best.Mean.Center, best.Unit), between(best.Mean, best.Unit))
	if best.HasFloor {
		text += fmt.Sprintf(", %s times its floor", significant(best.AboveFloor.Estimate))
	}
	return text + r.others(cells) + "."
}

func between(s stat.Summary, unit string) string {
	if !(s.Hi > s.Lo) {
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", Format(s.Lo, unit), Format(s.Hi, unit))
}

// others says which treatments cannot be told from the best, and how much the
// next and the last differ.
func (r *Report) others(cells []*Cell) string {
	best := cells[0]
	var ps []float64
	var ratios []stat.Comparison
	var with []*Cell
	var alike []string
	for _, c := range cells[1:] {
		if equalInEveryBlock(best, c) {
			alike = append(alike, r.Treatments[c.Treatment].Name())
			continue
		}
		x, err := Ratio(c, best, r.Study.Design.Confidence)
		if err != nil {
			continue
		}
		ps, ratios, with = append(ps, x.P), append(ratios, x), append(with, c)
	}
	holm := stat.Holm(ps)
	var told []string // of those that can be told from the best, in their order
	for i, c := range with {
		name := r.Treatments[c.Treatment].Name()
		if !(holm[i] < 1-r.Study.Design.Confidence) && ratios[i].Lo != ratios[i].Hi {
			alike = append(alike, name)
		} else {
			told = append(told, name+", "+times(ratios[i]))
		}
	}
	text := ""
	if len(alike) > 0 {
		text = "; not to be told from it: " + strings.Join(alike, ", ")
	}
	if len(told) > 0 {
		text += "; next is " + told[0]
	}
	if n := len(told); n > 1 {
		text += "; last is " + told[n-1]
	}
	return text
}

func equalInEveryBlock(a, b *Cell) bool {
	return len(a.Points) == len(b.Points) && !slices.ContainsFunc(a.Points, func(p Point) bool {
		return !slices.ContainsFunc(b.Points, func(q Point) bool { return p.Block == q.Block && p.Mean == q.Mean })
	})
}

func times(x stat.Comparison) string {
	if !(x.Hi > x.Lo) {
		return significant(x.Estimate) + " times as much"
	}
	return fmt.Sprintf("%s times as much (%s to %s)", significant(x.Estimate), significant(x.Lo), significant(x.Hi))
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
	col := []string{head}
	const most = 40
	for _, t := range r.Treatments {
		n := t.Name()
		if utf8.RuneCountInString(n) > most {
			n = string([]rune(n)[:most-1]) + "…"
		}
		col = append(col, n)
	}
	return col
}

// column prints one response: value, half-width, and for RTT the multiple of the floor.
func (r *Report) column(side measure.Side, response string) []string {
	col := []string{response}
	for i := range r.Treatments {
		c, ok := r.Cell(i, side, response)
		if !ok {
			col = append(col, "–")
			continue
		}
		text := Format(c.Mean.Center, c.Unit)
		if half := interval(c.Mean.Center, c.Mean.Lo, c.Mean.Hi); half != "" {
			text += " " + pad(half, 6, true)
		}
		if c.HasFloor && response == "rtt" {
			text += fmt.Sprintf(" %5.1f×floor", c.AboveFloor.Estimate)
		} else if response == "rtt" && isFloor(r.Treatments[i].Stack) {
			text += "            "
		}
		col = append(col, text)
	}
	return col
}

// warnings are the global ones and, once each, those of the cells.
func (r *Report) warnings() []string {
	out := slices.Clone(r.Warnings)
	count := map[string]int{}
	var order, first []string
	for _, c := range r.Cells {
		for _, w := range c.Warnings {
			if strings.HasPrefix(w, "median: ") || c.Unit == "B" {
				continue
			}
			kind := aNumber.ReplaceAllString(w, "#") // the same doubt of several figures, each with its own numbers
			if count[kind]++; count[kind] == 1 {
				order, first = append(order, kind), append(first, w)
			}
		}
	}
	for i, kind := range order {
		out = append(out, fmt.Sprintf("%s (%s)", first[i], figures(count[kind])))
	}
	return out
}

var aNumber = regexp.MustCompile(`[0-9][0-9.]*`)

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
func hang(b *strings.Builder, head, text, indent string) {
	b.WriteString(head)
	n := utf8.RuneCountInString(head)
	for i, word := range strings.Fields(text) {
		l := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n+1+l > Columns:
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
