package report

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// findingTexts are the words of the pages of findings: page.md frames those of
// the papers, NAME.md, and README.md is the one over all. They hold no figure:
// each is filled in.
//
//go:embed findings/*.md
var findingTexts embed.FS

// A File is a file to be written, by its name below a folder.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// errNotKept says that results lack a figure that the words on a paper ask for.
var errNotKept = errors.New("it is not kept")

// A finding is what results say of one paper, as the words ask for it.
type finding struct {
	Paper   paper.Paper
	Results *Report   // nil: none are kept
	Others  []*Report // of the same paper, in other settings or measured again

	files *[]File // pictures that the words ask for
}

// allFindings are what results say of all papers.
type allFindings []finding

// Findings are the pages on all papers, and one over all, made of kept results.
// The first of each paper give the scorecard; others of it stand beside it, as
// other settings or as repetitions. A paper without results has a page that says so.
func Findings(all []*Report) ([]File, error) {
	var files []File
	var found allFindings
	for _, name := range paper.Names() {
		p, err := paper.Load(name)
		if err != nil {
			return nil, err
		}
		f := finding{Paper: p, files: &files}
		for _, r := range all {
			switch {
			case r.Published == nil || r.Published.Paper.Name != name:
			case f.Results == nil:
				f.Results = r
			default:
				if same := f.sameAs(r); same != "" {
					return nil, fmt.Errorf("%s and %s are the same results of %s; name one of them", same, r.Dir, name)
				}
				f.Others = append(f.Others, r)
			}
		}
		found = append(found, f)
	}
	questions, err := questionsOf(all, &files)
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		if err := q.page(); err != nil {
			return nil, err
		}
	}
	for _, f := range found {
		if err := f.page(f.Paper.Name, "page.md", f); err != nil {
			return nil, err
		}
	}
	held, err := pairsHeld(found, questions)
	if err != nil {
		return nil, err
	}
	over := finding{files: &files}
	return files, over.page("README", "README.md", struct {
		Papers    allFindings
		Questions []openQuestion
		Held      heldPairs
		Sizes     string
	}{found, questions, held, found.drawSizes(&files)})
}

// Scope is what was run, in short.
func (f finding) Scope() string {
	if f.Results == nil {
		return "no results are kept"
	}
	valid := 0
	for _, t := range f.Results.Treatments {
		valid += t.Valid
	}
	text := fmt.Sprintf("%d treatments, %d trials", len(f.Results.Treatments), valid)
	if n := len(f.Others); n > 0 {
		text += fmt.Sprintf("; %s of results beside them", plural.Count(n, "further set"))
	}
	return text
}

// page fills in the words of a page.
func (f finding) page(name, frame string, data any) error {
	text, err := filled(frame, name, data)
	if err != nil {
		return err
	}
	*f.files = append(*f.files, File{name + ".md", func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}})
	return nil
}

// filled is a frame with the words on one study, filled in.
func filled(frame, name string, data any) (string, error) {
	t, err := template.New(frame).ParseFS(findingTexts, slices.Compact([]string{"findings/" + frame,
		"findings/" + name + ".md"})...)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, data)
	if errors.Is(err, errNotKept) { // of other treatments than the words speak of
		b.Reset()
		t, err = t.Parse(`{{define "short"}}No words were written on these results.{{end}}{{define "figures"}}{{""}}{{end}}` +
			`{{define "reading"}}{{""}}{{end}}{{define "tables"}}{{""}}{{end}}`) // an empty one replaces nothing
		if err == nil {
			err = t.ExecuteTemplate(&b, frame, data)
		}
	}
	return strings.TrimSpace(b.String()) + "\n", plainly(err)
}

// advice is what the words on a study tell an engineer; empty where they lack a figure.
func advice(name string, data any) (string, error) {
	t, err := template.ParseFS(findingTexts, "findings/"+name+".md")
	if err != nil || t.Lookup("advice") == nil {
		return "", err
	}
	var b strings.Builder
	if err = t.ExecuteTemplate(&b, "advice", data); errors.Is(err, errNotKept) {
		return "", nil
	}
	return strings.TrimSpace(b.String()), plainly(err)
}

// Advice is what we would tell an engineer today.
func (f finding) Advice() (string, error) {
	if f.Results == nil {
		return "", nil
	}
	return advice(f.Paper.Name, f)
}

// Ours is our headline figure of a treatment, with its interval.
func (f finding) Ours(response, side, treatment string) (string, error) {
	c, err := f.cell(response, side, treatment)
	if err != nil {
		return "", err
	}
	s := c.Headline()
	return markdownText(Format(s.Center, c.Unit) + inMedian(c) + modelled(c.Method) + between(s, c.Unit)), nil
}

// inMedian says that a headline is no mean.
func inMedian(c *Cell) string {
	if c.ByMedian {
		return " in the median"
	}
	return ""
}

func (f finding) cell(response, side, treatment string) (*Cell, error) {
	for i, t := range f.Results.Treatments {
		if c, ok := f.Results.Cell(i, measure.Side(side), response); ok && t.Name() == treatment {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%s: no %s at the %s of %q: %w", f.Paper.Name, response, side, treatment, errNotKept)
}

// Times is how many times as much one treatment has as another, in each block,
// with the interval.
func (f finding) Times(response, side, a, b string) (string, error) {
	x, err := f.cell(response, side, a)
	if err != nil {
		return "", err
	}
	y, err := f.cell(response, side, b)
	if err != nil {
		return "", err
	}
	times, err := timesAs(x, y, f.Results.Study.Design.Confidence)
	if err != nil {
		return "", fmt.Errorf("%s: %s of %s over %s: %w", f.Paper.Name, response, a, b, err)
	}
	return times, nil
}

// timesAs is how many times as much x has as y, of the means of the blocks that both have, with
// its interval. One block has no interval, which the text then says, as it says what waiting for a CPU may explain.
func timesAs(x, y *Cell, confidence float64) (string, error) {
	if x.modelled() != y.modelled() {
		return "", fmt.Errorf("%s: one is measured, the other modelled; they are not compared", x.Response)
	}
	var xs, ys []float64
	for _, p := range x.Points {
		if i := slices.IndexFunc(y.Points, func(o Point) bool { return o.Block == p.Block }); i >= 0 {
			xs, ys = append(xs, p.Mean), append(ys, y.Points[i].Mean)
		}
	}
	if len(xs) == 1 && ys[0] != 0 {
		return ratioText(xs[0]/ys[0]) + " times (in one block: no interval)", nil
	}
	c, err := stat.RatioPaired(xs, ys, confidence)
	if err != nil {
		return "", err
	}
	c = c.Hiding(xs, ys, x.Unseen, y.Unseen)
	text := ratioText(c.Estimate) + " times"
	var aside []string
	if c.Lo != c.Hi {
		aside = append(aside, ratioRange(c))
	}
	if wide := advise.Allowance(x.Waiting, y.Waiting); wide > 1 && !advise.Beyond(c, wide) {
		aside = append(aside, "waiting for a CPU may explain a factor of up to "+ratioText(wide))
	}
	if len(aside) > 0 {
		text += " (" + strings.Join(aside, "; ") + ")"
	}
	return text, nil
}

// Theirs is a published figure: that of the one row with the levels, "column=value …".
func (f finding) Theirs(response, levels string) (string, error) {
	var found []paper.Row
	for _, r := range f.Paper.Rows {
		match := r.Response == response
		for level := range strings.FieldsSeq(levels) {
			column, value, _ := strings.Cut(level, "=")
			match = match && (r.At[column] == value || column == "side" && string(r.Side) == value)
		}
		if match {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s publishes %d figures of %s at %q, not one", f.Paper.Name, len(found), response, levels)
	}
	return Format(found[0].Mean, found[0].Unit), nil
}

// claim finds a claim of the paper by its name.
func (f finding) claim(id string) (paper.Judged, error) {
	for _, c := range f.Results.Published.Claims {
		if c.ID == id {
			return c, nil
		}
	}
	return paper.Judged{}, fmt.Errorf("%s makes no claim %q", f.Paper.Name, id)
}

// Verdict is that on a claim.
func (f finding) Verdict(id string) (stat.Verdict, error) {
	c, err := f.claim(id)
	return c.Verdict, err
}

// Claim is a claim with its verdict and figures, in a sentence.
func (f finding) Claim(id string) (string, error) {
	c, err := f.claim(id)
	return markdownText(fmt.Sprintf("%s: %s (%s)", c.Words(), c.Verdict, figuresText(c))), err
}

// Figures draws each response and side that the paper has a figure of, as files
// beside the page.
func (f finding) Figures() string {
	var b strings.Builder
	for _, p := range f.Results.Panels() {
		if !slices.ContainsFunc(f.Results.Cells, func(c Cell) bool {
			return c.Published != nil && c.Response == p.Response && c.Side == p.Side
		}) || slices.ContainsFunc(f.Results.Cells, func(c Cell) bool { // theirs has a sign, and ours has none
			return c.Published != nil && c.Response == p.Response && c.Side == p.Side && c.Published.Mean <= 0
		}) {
			continue
		}
		name, figure := f.Paper.Name+"-"+p.ID()+".svg", f.Results.Chart(p)
		*f.files = append(*f.files, File{name, figure.File})
		fmt.Fprintf(&b, "%s, on %s:\n\n![%[1]s, each treatment's trials, %[4]s and interval; squares: published](%[3]s)\n\n",
			markdownText(figure.Title), ranOn(f.Results), name, f.Results.centers(p))
	}
	return strings.TrimSpace(b.String())
}

// Tally counts the verdicts.
func (f finding) Tally() string {
	if f.Results == nil {
		return fmt.Sprintf("%d claims, none judged", len(f.Paper.Claims))
	}
	return tally(*f.Results.Published)
}

// Scorecard is the table of all claims: direction and size apart, each claim with its reasons, what a model says, and
// what would decide it, a line each.
func (f finding) Scorecard() string {
	var b strings.Builder
	b.WriteString("| claim | published | ours | direction | size | verdict | why, and what would decide |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, c := range f.Results.Published.Claims {
		var why []string
		for _, line := range f.reasons(c) { // the page says above what the paper had
			why = append(why, markdownText(strings.ReplaceAll(line, f.Paper.Setup, "the set-up described above")))
		}
		b.WriteString("| " + claimCell(c.Claim) + " ")
		for _, cell := range []string{publishedFigure(c.Claim), oursText(c), string(c.Direction),
			strings.TrimPrefix(sizeText(c), "size "), string(c.Verdict)} {
			b.WriteString("| " + markdownText(cell) + " ")
		}
		b.WriteString("| " + strings.Join(why, "<br>") + " |\n")
	}
	return b.String()
}

// blocks is how many blocks every treatment has.
func (r *Report) blocks() int {
	least := r.Treatments[0].Valid
	for _, t := range r.Treatments {
		least = min(least, t.Valid)
	}
	return least
}

// Measured says what was run, on what, when, and how busy that was.
func (f finding) Measured() []string {
	r := f.Results
	wanted, valid, refused, least := 0, 0, 0, r.blocks()
	for _, t := range r.Treatments {
		wanted, valid = wanted+t.Wanted, valid+t.Valid
	}
	for _, t := range r.Trials {
		refused += t.Refused
	}
	out := []string{fmt.Sprintf("Study %s: %d treatments, %d of %d trials valid%s. Replications of each treatment: %d; "+
		"%s. Attempts found invalid, since a link was late with its packets or a request failed, and repeated: %d. Seed %d.",
		codeSpan(r.Study.Name), len(r.Treatments), valid, wanted, r.within(), least,
		theirTrials(f.Paper), refused, r.Study.Design.Seed),
		"On: " + markdownText(r.ownSetup()) + "."}
	for _, name := range sortedKeys(r.Facts.Devices) {
		d := r.Facts.Devices[name]
		out = append(out, fmt.Sprintf("%s; load %.1f when it last began; first run on %s (UTC).",
			machine(name, d.CPUs, d.OS, d.Kernel), d.Load, r.Started.Format("2006-01-02")))
	}
	var changed []string
	for i, o := range r.Study.Overrides {
		if !slices.ContainsFunc(r.Study.Overrides[i+1:], func(later study.Override) bool { return later.Path == o.Path }) {
			changed = append(changed, codeSpan(o.String()))
		}
	}
	if len(changed) > 0 {
		out = append(out, "Changed for this run: "+strings.Join(changed, ", ")+".")
	}
	out = append(out, f.waited())
	if text := unsteady(r); text != "" {
		out = append(out, text)
	}
	return out
}

// machine is a device in words.
func machine(name string, cpus int, os, kernel string) string {
	on := []string{plural.Count(cpus, "CPU")}
	for _, x := range []string{os, kernel} {
		if x != "" {
			on = append(on, markdownText(x))
		}
	}
	return fmt.Sprintf("Device %s: %s", markdownText(name), strings.Join(on, ", "))
}

func theirTrials(p paper.Paper) string {
	switch {
	case p.Trials == 0:
		return "the paper does not say how many it had"
	case p.Spread == "within":
		return fmt.Sprintf("the paper made %d calls of each, once", p.Trials)
	}
	return fmt.Sprintf("the paper had %d", p.Trials)
}

// waited says how long programs waited for a CPU in the busiest treatment.
func (f finding) waited() string {
	most, where := 0.0, ""
	for _, c := range f.Results.Cells {
		if c.Waiting > most {
			most, where = c.Waiting, f.Results.Treatments[c.Treatment].Name()
		}
	}
	switch starved := f.Results.starvedWords(); {
	case len(starved) > 0:
		return markdownText(starved[0])
	case slices.ContainsFunc(f.Results.Cells, func(c Cell) bool { return c.Method == store.Counted }):
		return "Time is instructions, counted: other work on the machine that emulates changes no figure."
	case most == 0:
		return "No program waited for a CPU, or the machine does not report it."
	}
	return fmt.Sprintf("No treatment starved: programs that were ready to run waited for a CPU for at most %s in each "+
		"second of the run (%s). A claim that even so short a wait could decide stays undecided.",
		Format(most, "s"), markdownText(where))
}

// Kept is the folder of the results, as the repository has it.
func (f finding) Kept() string {
	return "findings/" + strings.NewReplacer("`", "'", "\n", " ", "\r", " ").Replace(filepath.Base(f.Results.Dir))
}

// Holds says what the folder of the results has of raw rows.
func (f finding) Holds() string {
	const always = "study, plan, facts and every trial's figures"
	if slices.Contains(f.Results.LeftOut, "exchanges") {
		return "without raw rows: " + always
	}
	return "with the rows of every request: " + always
}
