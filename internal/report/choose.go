package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// A Chosen is what choose has to tell: a choice for each level, for what is measured
// over one link says nothing of another.
type Chosen struct {
	Dir      string
	Levels   []LevelChoice
	Warnings []string
	Unranked bool // in some level no treatment can be ranked
}

// A LevelChoice is the choice of one level.
type LevelChoice struct {
	Name string // of the level; empty where there is one
	advise.Choice
	Notes []string // on its figures
}

// Met reports whether every level has a treatment that meets the requirements.
func (c Chosen) Met() bool {
	return !c.Unranked && !slices.ContainsFunc(c.Levels, func(l LevelChoice) bool { _, ok := l.Best(); return !ok })
}

// Alone reports whether some level has a first treatment that is compared with no other.
func (c Chosen) Alone() bool {
	return slices.ContainsFunc(c.Levels, func(l LevelChoice) bool { return l.Choice.Alone() })
}

// short is a treatment's name without the level that all of its table have.
func (c LevelChoice) short(name string) string {
	_, level, _ := strings.Cut(c.Name, " ")
	all := func(has func(string) bool) bool {
		return level != "" && !slices.ContainsFunc(c.Candidates, func(x advise.Candidate) bool { return !has(x.Name) })
	}
	switch {
	case all(func(n string) bool { return strings.HasPrefix(n, level+" ") }):
		return strings.TrimPrefix(name, level+" ")
	case all(func(n string) bool { return strings.HasSuffix(n, " "+level) }):
		return strings.TrimSuffix(name, " "+level)
	}
	return name
}

// answer is the choice in words.
func (c LevelChoice) answer() string {
	best, ok := c.Best()
	if !ok {
		may := 0
		for _, x := range c.Candidates {
			if x.Meets == stat.Undecided {
				may++
			}
		}
		if may == 0 {
			return "No treatment meets the requirements."
		}
		return fmt.Sprintf("Undecided: no treatment certainly meets the requirements; %d may.", may)
	}
	f := best.Objectives[0]
	modelled := ""
	if f.Modelled {
		modelled = " (modelled, not measured)"
	}
	better, perhaps := c.Rivals()
	among := ""
	if len(better)+len(perhaps) > 0 {
		among = "of those that surely meet what is required, "
	}
	head := "Choose "
	if c.Alone() {
		head = "Undecided, since no treatment is compared with another; first is "
	}
	text := fmt.Sprintf("%s%s: %s%s%s %s%s at the %s", head, c.short(best.Name), among, c.Objectives[0], modelled,
		Format(f.Center.Center, f.Unit), between(f.Center, f.Unit), f.Side)
	failed := []float64{f.Failed}
	for _, x := range c.Candidates[1:] {
		if x.Meets == stat.Confirmed {
			failed = append(failed, x.Objectives[0].Failed)
		}
	}
	for _, x := range slices.Concat(better, perhaps) {
		failed = append(failed, x.Objectives[0].Failed)
	}
	if f.Figure == "mean" { // others are of all requests
		text += ofAnswered(f.Response, failed)
	}
	var same, alike, odd, turned, slowed, untold []string
	for _, x := range c.Candidates[1:] {
		switch {
		case x.Meets != stat.Confirmed:
		case x.Odd:
			odd = append(odd, fmt.Sprintf("%s (mean %s times as much, typical trial %s)", c.short(x.Name),
				ratioText(x.Centers), timesAsMuch(x.Ratio, true, "")))
		case x.Turned:
			turned = append(turned, c.short(x.Name)+", "+timesAsMuch(x.Ratio, !x.Difference, x.Objectives[0].Unit))
		case x.Slowed:
			slowed = append(slowed, c.short(x.Name)+", "+timesAsMuch(x.Ratio, !x.Difference, x.Objectives[0].Unit))
		case x.Noise && math.IsNaN(x.Ratio.Estimate):
			untold = append(untold, c.short(x.Name))
		case x.Same:
			same = append(same, c.short(x.Name))
		case x.Noise:
			alike = append(alike, c.short(x.Name))
		}
	}
	if len(same) > 0 {
		text += asMuch + list(same, mostNames)
	}
	if len(alike) > 0 {
		text += "; no significant difference from it: " + list(alike, mostNames)
	}
	if len(odd) > 0 {
		text += "; mean and typical trial disagree, because of a few slow trials: " + list(odd, 2)
	}
	if len(turned) > 0 {
		text += blocksDisagree(c.Objectives[0].Maximize) + list(turned, 2)
	}
	if len(slowed) > 0 {
		text += waitingMayExplain + list(slowed, 2)
	}
	if len(untold) > 0 {
		text += notCompared + list(untold, mostNames)
	}
	if len(better) > 0 {
		text += "; may meet that, too, with a better figure: " + list(c.figures(better, f.Side), mostNames)
	}
	if len(perhaps) > 0 {
		text += "; may meet that, too, with a figure that may be better: " + list(c.figures(perhaps, f.Side), mostNames)
	}
	return text + "."
}

// figures are the names of candidates with the first objective of each, and its side, where that is not the usual one.
func (c LevelChoice) figures(of []advise.Candidate, usual measure.Side) []string {
	var out []string
	for _, x := range of {
		f := x.Objectives[0]
		text := c.short(x.Name) + ", " + Format(f.Center.Center, f.Unit)
		if f.Side != usual {
			text += " at the " + string(f.Side)
		}
		if f.Modelled {
			text += " (modelled)"
		}
		out = append(out, text)
	}
	return out
}

// Text writes the choice for a terminal.
func (c Chosen) Text(w io.Writer) error {
	var b strings.Builder
	for _, l := range c.Levels {
		l.text(&b)
	}
	if len(c.Levels) > 0 { // of all of them it is the same
		wrap(&b, "Intervals and verdicts: "+percentOf(c.Levels[0].Confidence)+" confidence.", "  ")
	}
	for _, l := range c.Warnings {
		wrap(&b, "! "+l, "  ")
	}
	return PrintText(w, b.String())
}

func (c LevelChoice) text(b *strings.Builder) {
	answer := c.answer()
	if c.Name != "" {
		answer = capital(c.Name) + ": " + answer
	}
	wrap(b, answer, "  ")
	b.WriteByte('\n')
	head := []string{"treatment", "meets"}
	for i, o := range c.Objectives {
		head = append(head, o.Term.String()+c.modelledHead(i))
	}
	head = append(head, "to the best", "front")
	rows := [][]string{head}
	for i, x := range c.Candidates {
		row := []string{fmt.Sprintf("%d. %s", i+1, c.short(x.Name)), meetsWord(x.Meets, len(x.Checks))}
		for _, f := range x.Objectives {
			row = append(row, strings.TrimSpace(Format(f.Center.Center, f.Unit)+" "+
				interval(f.Center, f.Unit)))
		}
		rows = append(rows, append(row, noiseWord(x), c.frontWord(x)))
	}
	writeColumns(b, rows)
	c.checks(b)
	for _, n := range c.Notes {
		wrap(b, n+".", "  ")
	}
	for _, n := range c.Next() {
		wrap(b, "next: "+n, "  ")
	}
	for _, l := range c.Left {
		wrap(b, "! left out: "+l, "  ")
	}
}

// modelledHead is what an objective's column says where a figure is modelled.
func (c LevelChoice) modelledHead(objective int) string {
	for _, x := range c.Candidates {
		if x.Objectives[objective].Modelled {
			return " (modelled)"
		}
	}
	return ""
}

func (c LevelChoice) checks(b *strings.Builder) {
	if len(c.Candidates[0].Checks) == 0 {
		return
	}
	rows := [][]string{{"requirement", "treatment", "side", "value", "", "met"}}
	for _, x := range c.Candidates {
		for _, k := range x.Checks {
			f := k.Figure
			value, within := Format(f.Center.Center, f.Unit), strings.Trim(interval(f.Center, f.Unit), "()")
			if f.Modelled {
				value += " (modelled)"
			}
			side := string(f.Side)
			if f.Unit == "" { // there is none, and the doubt says why
				value, within, side = "–", "", cmp.Or(side, "–")
			}
			if len(f.Values) == 0 && f.Center.HasInterval() { // of a model, not of trials: seldom symmetric
				within = significant(f.Center.Lo) + " to " + significant(f.Center.Hi)
			}
			if f.AtMost {
				value, within = "at most "+value, "bound: "+within
			}
			rows = append(rows, []string{k.Requirement.Text, c.short(x.Name), side, value, within, checkWord(k)})
		}
	}
	writeColumns(b, rows)
}

func checkWord(k advise.Check) string { return meetsWord(k.Verdict, 1) }

func meetsWord(v stat.Verdict, checks int) string {
	switch {
	case checks == 0:
		return "–"
	case v == stat.Confirmed:
		return "yes"
	case v == stat.Contradicted:
		return "no"
	}
	return "undecided"
}

func noiseWord(x advise.Candidate) string {
	switch {
	case x.Odd:
		return "mean ≠ typical"
	case x.Turned:
		return "blocks disagree"
	case x.Slowed:
		return "waiting may explain"
	case x.Noise && math.IsNaN(x.Ratio.Estimate):
		return "not compared"
	case x.Same:
		return "exactly as much"
	case x.Noise:
		return "within noise"
	case math.IsNaN(x.Ratio.Lo):
		return "the best"
	case x.Difference:
		return timesAsMuch(x.Ratio, false, x.Objectives[0].Unit)
	}
	return ratioText(x.Ratio.Estimate) + " (" + ratioRange(x.Ratio) + ")"
}

// frontWord says whether a candidate is on the front. Who is within noise of the best, and beaten beyond doubt all the
// same, is so by another one.
func (c LevelChoice) frontWord(x advise.Candidate) string {
	switch i := slices.IndexFunc(c.Candidates, func(y advise.Candidate) bool { return y.Name == x.BeatBy }); {
	case x.Front:
		return "yes"
	case x.Unsure:
		return "perhaps"
	case x.Noise && i > 0:
		return fmt.Sprintf("no, %d beats it", i+1)
	}
	return "no"
}
