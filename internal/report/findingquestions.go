package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
)

// An openQuestion is what results say of a study that repeats no paper: one run, or
// several runs of its parts.
type openQuestion struct {
	Name  string
	Parts []*Report

	again []*Report // of parts that were measured twice; the one named first is the part
	files *[]File   // pictures that the words ask for
}

// questionsOf sorts results without a paper by their studies. Only a study that words were
// written on has a page.
func questionsOf(all []*Report, files *[]File) ([]openQuestion, error) {
	var out []openQuestion
	for _, r := range all {
		if r.Published != nil {
			continue
		}
		if _, err := fs.Stat(findingTexts, "findings/"+r.Study.Name+".md"); err != nil {
			return nil, fmt.Errorf("%s: its study names no published table, and there are no words on %s, so there is no "+
				"page for it", r.Dir, r.Study.Name)
		}
		i := slices.IndexFunc(out, func(q openQuestion) bool { return q.Name == r.Study.Name })
		if i < 0 {
			i, out = len(out), append(out, openQuestion{Name: r.Study.Name, files: files})
		}
		q := &out[i]
		if same := (finding{Results: q.first(), Others: slices.Concat(q.Parts, q.again)}).sameAs(r); same != "" {
			return nil, fmt.Errorf("%s and %s are the same results of %s; name one of them", same, r.Dir, r.Study.Name)
		}
		if slices.ContainsFunc(q.Parts, func(p *Report) bool { return finding{Results: p}.repeats(r) }) {
			q.again = append(q.again, r)
		} else {
			q.Parts = append(q.Parts, r)
		}
	}
	slices.SortFunc(out, func(a, b openQuestion) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func (q openQuestion) first() *Report {
	if len(q.Parts) == 0 {
		return &Report{}
	}
	return q.Parts[0]
}

// Question is that of the study, or its name.
func (q openQuestion) Question() string {
	return markdownLine(cmp.Or(q.first().Study.Question, q.Name))
}

// Advice is what we would tell an engineer today.
func (q openQuestion) Advice() (string, error) { return advice(q.Name, q) }

// Again says of each part that was measured twice how often its intervals held.
func (q openQuestion) Again() ([]string, error) {
	var all heldPairs
	if err := q.pairsHeld(&all); err != nil {
		return nil, err
	}
	var out []string
	for _, p := range all {
		out = append(out, codeSpan(q.kept(p.first))+", "+p.text())
	}
	return out, nil
}

// Notes are those of the study.
func (q openQuestion) Notes() string { return markdownLine(q.first().Study.Notes) }

// Scope is what was run, in short.
func (q openQuestion) Scope() string {
	treatments, trials := 0, 0
	for _, r := range q.Parts {
		for _, t := range r.Treatments {
			if t.Valid > 0 {
				treatments++
			}
			trials += t.Valid
		}
	}
	return fmt.Sprintf("%d treatments, %d trials", treatments, trials)
}

// Verdict are the report's answers, of all parts.
func (q openQuestion) Verdict() string {
	var b strings.Builder
	for _, r := range q.Parts {
		for _, line := range r.Verdict() {
			fmt.Fprintf(&b, "- %s\n", markdownLine(line))
		}
	}
	return b.String()
}

// has reports whether a treatment's levels contain all words of a text such as "nb-iot kept".
// A word that ends a level's name matches it: "1%" that of "nb-iot 1%".
func has(t Treatment, words string) bool {
	name := " " + strings.Join(t.Levels, " ") + " "
	for w := range strings.FieldsSeq(words) {
		if !strings.Contains(name, " "+w+" ") {
			return false
		}
	}
	return true
}

// A place is one treatment of one part.
type place struct {
	part *Report
	at   int
}

// String is the treatment, and whose it is.
func (p place) String() string { return p.part.Treatments[p.at].Name() + " of " + p.part.Dir }

// besides are the treatment's levels of the other factors; a number stands behind its factor's name.
func (p place) besides(factor string) string {
	var out []string
	for i, level := range p.part.Treatments[p.at].Levels {
		name := p.part.Factors[i]
		if name == factor {
			continue
		}
		if _, err := strconv.ParseFloat(level, 64); err == nil {
			level = words(name) + " " + level
		}
		out = append(out, level)
	}
	return strings.Join(out, ", ")
}

// cells are those of some responses of a side there; nil if it lacks one.
func (p place) cells(side measure.Side, responses []string) []*Cell {
	var out []*Cell
	for _, response := range responses {
		c, ok := p.part.Cell(p.at, side, response)
		if !ok {
			return nil
		}
		out = append(out, c)
	}
	return out
}

// places are the treatments that have a filter's words.
func (q openQuestion) places(filter string) []place {
	var out []place
	for _, r := range q.Parts {
		for i, t := range r.Treatments {
			if has(t, filter) {
				out = append(out, place{r, i})
			}
		}
	}
	return out
}

// rows are the places that have a filter's words, by the level of one factor.
func (q openQuestion) rows(factor, filter string) (names []string, at map[string][]place) {
	at = map[string][]place{}
	for _, p := range q.places(filter) {
		f := slices.Index(p.part.Factors, factor)
		if f < 0 {
			continue
		}
		name := p.part.Treatments[p.at].Levels[f]
		if len(at[name]) == 0 {
			names = append(names, name)
		}
		at[name] = append(at[name], p)
	}
	return names, at
}

// An ambiguous error says that words on a study fit two treatments where a page has room for one.
type ambiguous struct {
	study, words string
	a, b         place
}

func (e *ambiguous) Error() string {
	return fmt.Sprintf("%s: its page has one figure for %q, and two treatments have it: %s, and %s; leave out one of "+
		"these results, or name one treatment in the words on %[1]s", e.study, e.words, e.a, e.b)
}

// plainly is an error of the words on a study, without where in a template it arose if it tells that itself.
func plainly(err error) error {
	if plain, ok := errors.AsType[*ambiguous](err); ok {
		return plain
	}
	return err
}

// one are the cells of some responses in the one of some places that has them all; nil: none has.
func (q openQuestion) one(words string, all []place, side measure.Side, responses ...string) ([]*Cell, error) {
	var found []*Cell
	var at place
	for _, p := range all {
		cells := p.cells(side, responses)
		if cells != nil && found != nil {
			return nil, &ambiguous{q.Name, words, at, p}
		}
		if cells != nil {
			found, at = cells, p
		}
	}
	return found, nil
}

// Has reports whether any treatment has a filter's words.
func (q openQuestion) Has(filter string) bool { return len(q.places(filter)) > 0 }

// Table has a row for each level of a factor, but those that the last patterns match, and a column for each filter that
// any treatment has, separated by commas: the mean of trials with its interval. Of trials skewed by losses the median
// would hide what a loss costs.
func (q openQuestion) Table(response, side, factor, filters string, without ...string) (string, error) {
	var rows, columns []string
	cells := map[[2]string]string{}
	for filter := range strings.SplitSeq(filters, ",") {
		filter = strings.TrimSpace(filter)
		names, at := q.rows(factor, filter)
		if len(names) > 0 {
			columns = append(columns, filter)
		}
		for _, row := range names {
			if matches(row, without) {
				continue
			}
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
			c, err := q.one(row+" "+filter, at[row], measure.Side(side), response)
			if err != nil {
				return "", err
			}
			if c != nil {
				cells[[2]string{row, filter}] = meanText(c[0])
			}
		}
	}
	if len(columns) == 0 {
		return "", fmt.Errorf("%s: no treatment has any of %q: %w", q.Name, filters, errNotKept)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |", markdownText(factor))
	for _, c := range columns {
		b.WriteString(" " + markdownText(c) + " |")
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(columns)) + "|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |", markdownText(row))
		for _, c := range columns {
			text := cells[[2]string{row, c}]
			if text == "" {
				text = "–"
			}
			b.WriteString(" " + markdownText(text) + " |")
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

func meanText(c *Cell) string {
	text := Format(c.Mean.Center, c.Unit)
	if half := interval(c.Mean, c.Unit); half != "" {
		text += " " + half
	}
	return text
}

// matches reports whether a name is one of some patterns: "rest-*".
func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}

// Pareto draws two responses of the client against each other, for the treatments that have
// a filter's words, but those that the last patterns match, as a file beside the page.
func (q openQuestion) Pareto(x, y, factor, filter string, without ...string) (string, error) {
	names, at := q.rows(factor, filter)
	if len(names) == 0 {
		return "", fmt.Errorf("%s: no treatment of a factor %s has %q: %w", q.Name, factor, filter, errNotKept)
	}
	var points []paretoPoint
	var of [2][]*Cell
	level := ""
	for _, row := range names {
		if matches(row, without) {
			continue
		}
		level = at[row][0].besides(factor)
		c, err := q.one(row+" "+filter, at[row], measure.Client, x, y)
		if err != nil {
			return "", err
		}
		if c != nil {
			points = append(points, paretoPoint{name: row, x: c[0].Mean, y: c[1].Mean})
			of[0], of[1] = append(of[0], q.byMean(c[0])), append(of[1], q.byMean(c[1]))
		}
	}
	confidence := q.Parts[0].Study.Design.Confidence
	onFront(points, shownLower(of[0], nil, confidence), shownLower(of[1], nil, confidence))
	name := q.Name + "-pareto-" + strings.NewReplacer(" ", "-", "%", "").Replace(filter)
	picture := paretoPicture(name, level, words(x), words(y)+" (mean)", points)
	*q.files = append(*q.files, File{name + ".svg", picture.File})
	return fmt.Sprintf("![%s](%s.svg)", markdownText(picture.Says), name), nil
}

// byMean is a cell of which the mean is compared, with blocks of its own part of the results: those of two do not pair.
func (q openQuestion) byMean(c *Cell) *Cell {
	out, part := *c, slices.Index(q.Parts, q.partOf(c))
	out.ByMedian = false
	for _, points := range []*[]Point{&out.Points, &out.units} {
		*points = slices.Clone(*points)
		for i := range *points {
			(*points)[i].Block = (*points)[i].Block*len(q.Parts) + part
		}
	}
	return &out
}

// Figure draws one response of one side, as a file beside the page for each part.
func (q openQuestion) Figure(response, side string) (string, error) {
	var out []string
	for i, r := range q.Parts {
		for _, p := range r.Panels() {
			if p.Response != response || string(p.Side) != side {
				continue
			}
			name, figure := q.Name+"-"+p.ID(), r.Chart(p)
			if i > 0 {
				name += fmt.Sprintf("-%d", i+1)
			}
			*q.files = append(*q.files, File{name + ".svg", figure.File})
			text := fmt.Sprintf("%s, on %s:\n\n![%[1]s, each treatment's trials, %[3]s and interval](%[4]s.svg)",
				markdownText(figure.Title), ranOn(r), r.centers(p), name)
			if r.byMedian(p.Side, p.Response) != "" {
				text += "\n\nThe figure shows medians where a few slow requests weigh much. Tables and text have means, which " +
					"such requests raise."
			}
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return "", fmt.Errorf("%s: no %s at the %s: %w", q.Name, response, side, errNotKept)
	}
	return strings.Join(out, "\n\n"), nil
}

// cell is that of the one treatment that has all of a text's words.
func (q openQuestion) cell(response, side, treatment string) (*Cell, error) {
	c, err := q.one(treatment, q.places(treatment), measure.Side(side), response)
	switch {
	case err != nil:
		return nil, err
	case c != nil:
		return c[0], nil
	}
	return nil, fmt.Errorf("%s: no %s at the %s of %q: %w", q.Name, response, side, treatment, errNotKept)
}

// Mean is the mean of a treatment's trials, with its interval.
func (q openQuestion) Mean(response, side, treatment string) (string, error) {
	c, err := q.cell(response, side, treatment)
	if err != nil {
		return "", err
	}
	return Format(c.Mean.Center, c.Unit) + modelled(c.Method) + between(c.Mean, c.Unit), nil
}

// Ours is the headline figure of a treatment, with its interval.
func (q openQuestion) Ours(response, side, treatment string) (string, error) {
	c, err := q.cell(response, side, treatment)
	if err != nil {
		return "", err
	}
	s := c.Headline()
	return Format(s.Center, c.Unit) + inMedian(c) + modelled(c.Method) + between(s, c.Unit), nil
}

// Times is how many times as much one treatment has as another, in each block, with the
// interval. Both must be of one part: blocks of two do not pair.
func (q openQuestion) Times(response, side, a, b string) (string, error) {
	x, err := q.cell(response, side, a)
	if err != nil {
		return "", err
	}
	y, err := q.cell(response, side, b)
	if err != nil {
		return "", err
	}
	part := q.partOf(x)
	if part != q.partOf(y) {
		return "", fmt.Errorf("%s: %s of %s over %s: the two are of different results, whose blocks are no pairs", q.Name,
			response, a, b)
	}
	times, err := timesAs(x, y, part.Study.Design.Confidence)
	if err != nil {
		return "", fmt.Errorf("%s: %s of %s over %s: %w", q.Name, response, a, b, err)
	}
	return times, nil
}

// partOf is the part that a cell is of.
func (q openQuestion) partOf(c *Cell) *Report {
	for _, r := range q.Parts {
		for i := range r.Cells {
			if &r.Cells[i] == c {
				return r
			}
		}
	}
	return nil
}

// page fills in the words of a question's page.
func (q openQuestion) page() error {
	text, err := filled("question.md", q.Name, q)
	if err != nil {
		return err
	}
	*q.files = append(*q.files, File{q.Name + ".md", func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}})
	return nil
}
