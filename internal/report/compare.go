package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Compared is what compare has to tell.
type Compared struct {
	Old, New string // directories
	// Dir is that of both versions, where they were measured in one study: Paired.
	Dir     string
	Paired  bool
	Base    string // what the base version is
	Sizing  string // how many blocks were wanted, and why; empty: nobody asked
	Command string // what repeats the comparison
	advise.Comparison
	Confidence  float64
	Pilot       int      // first blocks whose spread may have said how many there are; 0: none
	Differences []string // of the set-up
	Warnings    []string // of both results, "old: …", "new: …"
	Cure        string   // how to decide what this comparison cannot; empty: nothing is in doubt
	All         bool     // show what did not change, too
	Replicates  string   // what the figures are means of; empty: trials
}

// Terms say how two results are compared.
type Terms struct {
	Conditions []advise.Condition
	Confidence float64                               // of intervals; 0: as the studies ask, see confidenceOf
	Margin     float64                               // within which figures count as equal
	Only       func([]advise.Series) []advise.Series // those wanted; nil: all
	AllowLost  bool                                  // do not count as worse that the new lacks trials
}

// Compare compares two results. Its errors say what the two do not have in common.
func Compare(old, new *Report, t Terms) (Compared, error) {
	out := Compared{Old: old.Dir, New: new.Dir, Differences: SetupDifferences(old, new)}
	if t.Confidence == 0 {
		t.Confidence, out.Warnings = confidenceOf(old, new)
	}
	out.Confidence = t.Confidence
	out.Pilot = leastPilot(old.Pilot, new.Pilot)
	judged := 1 - stat.AfterPilot(1-t.Confidence, out.Pilot)
	if a, b := old.Study.Time, new.Study.Time; a != b {
		return out, fmt.Errorf("%s has time: %s, but %s has time: %s; counted instructions and clock time cannot be "+
			"compared", old.Dir, a, new.Dir, b)
	}
	a, b := old.Series(), new.Series()
	if t.Only != nil {
		a, b = t.Only(a), t.Only(b)
	}
	if t.AllowLost { // whoever accepts requests that fail is asked of the others
		a, b = advise.AnsweredOnly(a), advise.AnsweredOnly(b)
	}
	var err error
	if out.Comparison, err = advise.Compare(a, b, t.Conditions, judged, t.Margin); err != nil {
		if lost := advise.Losses(old.Attempts(), new.Attempts(), t.Confidence); errors.Is(err, advise.ErrNothingInCommon) &&
			len(lost) > 0 && !t.AllowLost && sharesTreatments(old, new) {
			err = nil // nothing is left to compare, since all trials were lost
		}
		if why := errors.Join(old.Untold(), new.Untold()); err != nil && why != nil {
			return out, why
		}
		if err != nil {
			return out, fmt.Errorf("%s, %s: %w", old.Dir, new.Dir, err)
		}
	}
	if !t.AllowLost {
		out.Lost = advise.Losses(old.Attempts(), new.Attempts(), t.Confidence)
		out.Failed = advise.FailuresOfTrials(old.Attempts(), new.Attempts(), t.Confidence)
	}
	for _, side := range []struct {
		name string
		r    *Report
	}{{"old", old}, {"new", new}} {
		for _, w := range side.r.Doubts() {
			out.Warnings = append(out.Warnings, side.name+": "+w)
		}
	}
	if out.Verdict() == stat.Undecided && out.Open() || len(old.Starved)+len(new.Starved) > 0 {
		out.Cure = Interleave(old, new)
	}
	return out, nil
}

// Level is the confidence of the intervals, in words.
func (c Compared) Level() string { return percentOf(c.Confidence) }

// confidenceOf is what the studies of both ask for; of two that differ the higher counts, which is said.
func confidenceOf(old, new *Report) (confidence float64, says []string) {
	a, b := old.Study.Design.Confidence, new.Study.Design.Confidence
	if a != b {
		says = []string{fmt.Sprintf("design.confidence was %s in the old results and is %s in the new ones: all is judged "+
			"at the higher", percentOf(a), percentOf(b))}
	}
	return max(a, b), says
}

// sharesTreatments reports whether two results planned any treatment alike.
func sharesTreatments(old, new *Report) bool {
	for _, a := range old.Attempts() {
		for _, b := range new.Attempts() {
			if a.Same(b) && !a.Floor {
				return true
			}
		}
	}
	return false
}

// Says is the first sentence.
func (c Compared) Says() string {
	switch c.Comparison.Verdict() {
	case stat.Confirmed:
		if lost := c.LostBeyondChance(); len(lost) > 0 {
			return fmt.Sprintf("worse: %s (treatments: %d)", advise.LostWords(lost), lostTreatments(lost))
		}
		if f := c.Failing(); f.Verdict == stat.Confirmed {
			return "worse: " + failedWords(f)
		}
		if c.detects() {
			return "worse: a regression is beyond doubt"
		}
		return "worse: a condition is met beyond doubt"
	case stat.Contradicted:
		if c.detects() {
			return "good: a regression of the size looked for is excluded beyond doubt"
		}
		return "good: every condition is excluded beyond doubt"
	case stat.Undecided:
		return "undecided: " + c.whyUndecided()
	}
	n := c.count()
	text := fmt.Sprintf("%s: %d higher, %d lower, %d equal within %g %%, %d undecided",
		plural.Count(len(c.Contrasts), "figure"),
		n[advise.Higher], n[advise.Lower], n[advise.Equal]+n[advise.Same], 100*c.Margin, n[advise.Unknown])
	waited := 0
	for _, x := range c.Contrasts {
		if x.Change == advise.Unknown && x.Waits() {
			waited++
		}
	}
	if waited > 0 {
		text += fmt.Sprintf(" (%d of these while programs waited for a CPU, which may explain a difference or hide one)",
			waited)
	}
	return text
}

// lostTreatments is how many treatments lost trials, by themselves or together.
func lostTreatments(lost []advise.Loss) int {
	var names []string
	together := 0
	for _, l := range lost {
		if together = max(together, l.Together); l.Together == 0 && !slices.Contains(names, l.Treatment) {
			names = append(names, l.Treatment)
		}
	}
	return max(len(names), together)
}

// failures are those of which there were some.
func (c Compared) failures() []advise.Failures {
	return slices.DeleteFunc(slices.Clone(c.Failed), func(f advise.Failures) bool { return f.New.Hits+f.Old.Hits == 0 })
}

// failedWords say which share of the requests failed, or was sent again.
func failedWords(f advise.Failures) string {
	text := fmt.Sprintf("%.3g %% of requests %s, %.3g %% before", 100*f.New.Of(), f.Did(), 100*f.Old.Of())
	if f.Treatment != "" {
		text += ", of " + f.Treatment
	}
	return text
}

// detects reports whether all conditions look for a change.
func (c Compared) detects() bool {
	return !slices.ContainsFunc(c.Outcomes, func(o advise.Outcome) bool { return !o.Condition.Detect })
}

// how says what was compared, and by which test.
func (c Compared) how() string {
	if c.Paired {
		base := c.Old
		if c.Base != "" {
			base += " " + c.Base
		}
		return fmt.Sprintf("old: %s; new: as it is now; both in %s. %s, with %s intervals (paired by block, on "+
			"logarithms)%s, p by Holm over %s", base, c.Dir, c.figures(), percentOf(c.Confidence), c.ofPilot(),
			plural.Count(len(c.Contrasts), "figure"))
	}
	return fmt.Sprintf("old: %s; new: %s. %s, with %s intervals (Welch on logarithms)%s, p by Holm over %s",
		c.Old, c.New, c.figures(), percentOf(c.Confidence), c.ofPilot(), plural.Count(len(c.Contrasts), "figure"))
}

// figures says what stands in the columns of the tables.
func (c Compared) figures() string {
	return fmt.Sprintf("The columns old and new are means over %s, new/old is the ratio of their geometric means",
		c.replicates())
}

func (c Compared) replicates() string { return cmp.Or(c.Replicates, "trials") }

func (c Compared) count() map[advise.Change]int {
	n := map[advise.Change]int{}
	for _, x := range c.Contrasts {
		n[x.Change]++
	}
	return n
}

// Text writes the comparison for a terminal.
func (c Compared) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", c.Says())
	wrap(&b, c.how(), "  ")
	for line := range strings.Lines(c.Sizing) {
		wrap(&b, "size: "+strings.TrimSpace(line), "  ")
	}
	b.WriteByte('\n')
	for _, l := range c.Lost {
		wrap(&b, "! "+l.Kind()+": "+l.String(), "  ")
	}
	for _, f := range c.failures() {
		wrap(&b, "! "+f.Kind("failures")+": "+f.String(), "  ")
	}
	c.conditions(&b)
	c.table(&b)
	if what, command, ok := strings.Cut(c.Cure, ": edgegauge "); ok { // which is pasted, so its line stays whole
		wrap(&b, "to decide: "+what+":", "  ")
		fmt.Fprintf(&b, "    edgegauge %s\n", command)
	} else if c.Cure != "" {
		wrap(&b, "to decide: "+c.Cure, "  ")
	}
	for _, d := range c.Differences {
		wrap(&b, "! the set-up differs: "+d, "  ")
	}
	for _, list := range []struct {
		names []string
		where string
	}{{c.OnlyOld, c.Old}, {c.OnlyNew, c.New}} {
		if len(list.names) > 0 {
			wrap(&b, fmt.Sprintf("! only in %s, so not compared: %s", list.where, strings.Join(list.names, ", ")), "  ")
		}
	}
	if len(c.Gone) > 0 {
		wrap(&b, "! the new results lack, so not compared: "+list(c.Gone, mostNames), "  ")
	}
	for i, text := range c.Warnings {
		if i == mostWarnings && !c.All {
			wrap(&b, fmt.Sprintf("! %s; --all shows them", plural.Count(len(c.Warnings)-i, "more warning")), "  ")
			break
		}
		wrap(&b, "! "+text, "  ")
	}
	for _, line := range c.annotations() {
		fmt.Fprintln(&b, line)
	}
	return PrintText(w, b.String())
}

// mostWarnings of both results are shown unless all are asked for.
const mostWarnings = 8

// conditions says of each treatment what became of each condition.
func (c Compared) conditions(b *strings.Builder) {
	if len(c.Outcomes) == 0 {
		return
	}
	var names []string
	for _, o := range c.Outcomes {
		names = append(names, o.Contrast.Treatment)
	}
	names = shortened(names, 24)
	rows := [][]string{{"condition", "treatment", "side", "old", "new", "new/old", "interval", "verdict"}}
	for i, o := range c.Outcomes {
		rows = append(rows, []string{o.Condition.Text, names[i], string(o.Contrast.Side),
			Format(o.Contrast.Old, o.Contrast.Unit), Format(o.Contrast.New, o.Contrast.Unit),
			ratioText(o.Contrast.Ratio.Estimate), ratioRange(o.Contrast.Ratio), outcomeWord(o)})
	}
	writeColumns(b, rows)
	for _, line := range c.findings() {
		wrap(b, "finding: "+line, "  ")
	}
	for _, o := range c.Outcomes {
		if o.Verdict == stat.Undecided {
			wrap(b, fmt.Sprintf("undecided: %s, %s: %s", o.Condition.Text, whose(o.Contrast), whatNext(o)), "  ")
		}
	}
	if c.Comparison.Verdict() == stat.Undecided {
		b.WriteByte('\n')
	}
}

// figureName names a figure in a row: "rest rtt, client". A study of one treatment has no name for it.
func figureName(treatment, response string, side measure.Side) string {
	return strings.TrimSpace(treatment+" "+response) + ", " + string(side)
}

// whose names the treatment and side of a contrast; a study of one treatment has no name for it.
func whose(c advise.Contrast) string {
	if c.Treatment == "" {
		return string(c.Side)
	}
	return c.Treatment + " " + string(c.Side)
}

// findings are those of all conditions, each with the figures it is of, and what the ratio in a row hides.
func (c Compared) findings() []string {
	var lines []string
	of := map[string][]string{}
	add := func(x advise.Contrast, line string) {
		response := x.Response
		if x.Figure != "mean" {
			response += "." + x.Figure
		}
		name := figureName(x.Treatment, response, x.Side)
		if of[line] == nil {
			lines = append(lines, line)
		}
		if !slices.Contains(of[line], name) {
			of[line] = append(of[line], name)
		}
	}
	for _, o := range c.Outcomes {
		x := o.Contrast
		const apart = 0.05 // what rounding of the figures shown may hide
		if means := x.New / x.Old; x.Old > 0 && math.Abs(means/x.Ratio.Estimate-1) > apart {
			add(x, fmt.Sprintf("the ratio of the means is %s, and that of typical %s %s, since %s differ much from each other",
				ratioText(means), c.replicates(), ratioText(x.Ratio.Estimate), c.replicates()))
		}
		for _, line := range findings(o) {
			add(x, line)
		}
	}
	for i, line := range lines {
		lines[i] = list(of[line], mostNames) + ": " + line
	}
	return lines
}

// findings are what a condition's parts show besides the ratio in its row.
func findings(o advise.Outcome) []string {
	var out []string
	if s := o.Spikes; s.New > 0 || s.Old > 0 {
		text := fmt.Sprintf("spikes: %d of %d trials take over 1.5 times their median, %d of %d before", s.New, s.Trials[1],
			s.Old, s.Trials[0])
		if s.New > 0 {
			text += fmt.Sprintf("; the worst takes %s", Format(s.Worst, o.Contrast.Unit))
		}
		out = append(out, text)
	}
	for _, p := range o.Parts {
		r := p.Ratio.Estimate
		over := !math.IsNaN(r) && r > 0 && (r < o.Condition.Bound) == o.Condition.Less
		if p.Name != "typical trial" && over && p.Name != "spikes" {
			out = append(out, fmt.Sprintf("%s: new/old %s (%s)", p.Name, ratioText(r), ratioRange(p.Ratio)))
		}
	}
	return append(out, o.Contrast.Warnings...)
}

func outcomeWord(o advise.Outcome) string {
	switch o.Verdict {
	case stat.Confirmed:
		if o.Condition.Detect {
			return "worse"
		}
		return "met"
	case stat.Contradicted:
		return "excluded"
	}
	return "undecided"
}

// Rows are the comparison's contrasts in words, below their head; hidden counts those
// that All would show.
func (c Compared) Rows() (rows [][]string, hidden int) {
	rows = [][]string{{"figure", "old", "new", "new/old", "interval", "p (Holm)", "change"}}
	for _, x := range c.Contrasts {
		if !c.All && (x.Change == advise.Equal || x.Change == advise.Same || x.Change == advise.Unknown) {
			hidden++
			continue
		}
		rows = append(rows, []string{figureName(x.Treatment, x.Response, x.Side), Format(x.Old, x.Unit),
			Format(x.New, x.Unit), ratioText(x.Ratio.Estimate), ratioRange(x.Ratio), pText(x.PHolm), changeWord(x, c.Margin)})
	}
	return rows, hidden
}

func (c Compared) table(b *strings.Builder) {
	rows, hidden := c.Rows()
	if len(rows) > 1 {
		writeColumns(b, rows)
	}
	if hidden > 0 {
		n := c.count()
		wrap(b, fmt.Sprintf("%s equal within %g %%, %d undecided; --all shows them",
			plural.Count(n[advise.Equal]+n[advise.Same], "figure"),
			100*c.Margin, n[advise.Unknown]), "  ")
	}
	if of := c.OfAnswered(); of != "" {
		wrap(b, "! "+of, "  ")
	}
	for _, x := range c.Contrasts {
		if c.All && x.Doubt != "" {
			wrap(b, fmt.Sprintf("! %s: %s", figureName(x.Treatment, x.Response, x.Side), x.Doubt), "  ")
		}
	}
}

// OfAnswered names the figures that are undecided though the answered requests differ, or are equal; empty: none is.
func (c Compared) OfAnswered() string {
	var names []string
	for _, x := range c.Contrasts {
		if x.Answered {
			names = append(names, figureName(x.Treatment, x.Response, x.Side))
		}
	}
	if names == nil {
		return ""
	}
	return list(names, mostNames) + ": undecided, since another share of the requests failed than before: the answered " +
		"ones alone would decide it, and medians among all do not say so"
}

func changeWord(x advise.Contrast, margin float64) string {
	if x.Change == advise.Equal {
		return fmt.Sprintf("equal ±%g%%", 100*margin)
	}
	return string(x.Change)
}

// ratioText prints a ratio with as many digits as tell it from 1. Beyond a million it
// comes from an interval that knows nothing, and its digits would only look like knowledge.
func ratioText(v float64) string {
	const most = 1_000_000
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v > most:
		return ">1000000"
	case v > 0 && v < 1./most:
		return "<0.000001"
	case v > 0.5 && v < 2*(1-1e-9): // twice as much is so in any unit
		text := ""
		for digits := 3; digits <= 6; digits++ {
			if text = fmt.Sprintf("%.*f", digits, v); strings.Trim(text, "0.") != "1" {
				return text
			}
		}
		return "1.000"
	}
	return significant(v)
}

func ratioRange(c stat.Comparison) string {
	if math.IsNaN(c.Lo) || math.IsNaN(c.Hi) {
		return "–"
	}
	if c.Lo == c.Hi {
		return "no spread"
	}
	return ratioSpan(c.Lo, c.Hi)
}

// ratioSpan is the interval of a ratio in words.
func ratioSpan(lo, hi float64) string {
	if advise.SaysNothing(lo, hi) {
		return advise.Untold
	}
	return ratioText(lo) + " to " + ratioText(hi)
}

func verdictWord(v stat.Verdict) string {
	return map[stat.Verdict]string{stat.Confirmed: "worse", stat.Contradicted: "good", stat.Undecided: "undecided"}[v]
}

func orEmpty(s []string) []string { return append([]string{}, s...) }
