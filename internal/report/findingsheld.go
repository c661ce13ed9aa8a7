package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/study"
)

// A heldPair is a study that was measured twice, and how often the intervals of the two hold.
type heldPair struct {
	name         string
	first, again *Report
	verdicts     string // what became of the verdicts on claims; empty: there are none
	Repeated
}

// heldPairs are studies that were measured twice, of which any figure has an interval.
type heldPairs []heldPair

// pairsHeld are those of all papers, then those of all questions.
func pairsHeld(papers allFindings, questions []openQuestion) (heldPairs, error) {
	var out heldPairs
	for _, f := range papers {
		if f.Results == nil {
			continue
		}
		for _, other := range f.Repetitions() {
			first, again := f.inOrder(other.Results)
			verdicts, _ := turned(first, again)
			if err := out.add(f.Paper.Name, first, again, verdicts); err != nil {
				return nil, err
			}
		}
	}
	for _, q := range questions {
		if err := q.pairsHeld(&out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// add adds a pair.
func (all *heldPairs) add(name string, first, again *Report, verdicts string) error {
	const margin = 0.05 // of agreement, which is not asked here
	c, err := Repeat(first, again, first.Study.Design.Confidence, margin)
	if err == nil && c.held() != "" {
		*all = append(*all, heldPair{name, first, again, verdicts, c})
	}
	return err
}

// pairsHeld adds the parts of a question that were measured twice.
func (q openQuestion) pairsHeld(to *heldPairs) error {
	for _, r := range q.again {
		i := slices.IndexFunc(q.Parts, func(p *Report) bool { return finding{Results: p}.repeats(r) })
		first, again := finding{Results: q.Parts[i]}.inOrder(r)
		if err := to.add(q.Name, first, again, ""); err != nil {
			return err
		}
	}
	return nil
}

// Lines say of each pair how often the intervals of the study held themselves.
func (all heldPairs) Lines() []string {
	var out []string
	for _, p := range all {
		out = append(out, fmt.Sprintf("[%s](%s.md), %s", p.name, p.name, p.text()))
	}
	return out
}

// text is when and by what program the two were measured, and what came of it.
func (p heldPair) text() string {
	const minute = "2006-01-02 15:04"
	by := ", by another version of edgegauge"
	switch was, is := p.first.Facts.Edgegauge, p.again.Facts.Edgegauge; {
	case was["sha256"] == is["sha256"]:
		by = ", by the same program"
	case namesItsCommit(is["version"]) && was["version"] == is["version"]:
		by = ", by the same version of edgegauge, built again"
	}
	text := fmt.Sprintf("measured on %s and again on %s (UTC)%s: %s %s.", p.first.Started.UTC().Format(minute),
		p.again.Started.UTC().Format(minute), by, p.held(),
		markdownText(tallyOf("Ratios between treatments", p.Ratios)))
	if p.verdicts != "" {
		text += " " + p.verdicts
	}
	if len(p.Differences) > 0 {
		text += " What differed: " + markdownText(strings.Join(p.Differences, "; ")) + "."
	}
	return text
}

// namesItsCommit reports whether a version stands for one state of the source: a program built of changed files, or
// without the repository, has none.
func namesItsCommit(version string) bool {
	return strings.HasPrefix(version, "v") && !strings.Contains(version, "+dirty")
}

// Short answers in short whether our own intervals hold, and says what that rests on.
func (all heldPairs) Short() string {
	var figures, ratios []float64
	var days, starved int
	var apart []time.Duration
	for _, p := range all {
		figures, ratios = append(figures, shareHeld(p.Figures)...), append(ratios, shareHeld(p.Ratios)...)
		if gap := p.again.Started.Sub(p.first.Started); gap >= 24*time.Hour {
			if days++; len(p.first.Starved)+len(p.again.Starved) > 0 {
				starved++
			}
		} else {
			apart = append(apart, gap.Round(time.Minute))
		}
	}
	level := all[0].Confidence
	text := fmt.Sprintf("%s for single figures, most of them times: %s of their intervals hold, where %s should.",
		yesOrNo(figures, level), sharesText(figures), percentOf(level))
	if len(ratios) > 0 {
		text += fmt.Sprintf(" %s for ratios between treatments: %s.", yesOrNo(ratios, level), sharesText(ratios))
	}
	slices.Sort(apart)
	span := ""
	if n := len(apart); n > 0 {
		if span = study.DurationText(apart[0]); apart[n-1] > apart[0] {
			span += " to " + study.DurationText(apart[n-1])
		}
	}
	if days == 0 {
		return text + fmt.Sprintf(" The runs of a pair lie %s apart.", span)
	}
	text += fmt.Sprintf(" Of %s of runs, %d %s days apart", plural.Count(len(all), "pair"), days,
		plural.Verb(days, "lies", "lie"))
	if starved > 0 {
		text += fmt.Sprintf(", and in %d of them, programs waited long for a CPU", starved)
	}
	if span != "" {
		text += fmt.Sprintf("; %s %s apart", plural.Verb(len(apart), "the other lies", "the others lie"), span)
	}
	return text + "."
}

// shareHeld is the share of the intervals that hold; nothing where there are none.
func shareHeld(all []advise.Repeated) []float64 {
	held, of := advise.Held(all)
	if of == 0 {
		return nil
	}
	return []float64{float64(held) / float64(of)}
}

// yesOrNo says whether shares of intervals are as large as they should be.
func yesOrNo(shares []float64, level float64) string {
	switch {
	case slices.Max(shares) < level:
		return "No"
	case slices.Min(shares) >= level:
		return "Yes"
	}
	return "In part"
}

// sharesText is a share, or the range of several.
func sharesText(shares []float64) string {
	lo, hi := 100*slices.Min(shares), 100*slices.Max(shares)
	if text := fmt.Sprintf("%.0f to %.0f %%", lo, hi); fmt.Sprintf("%.0f", lo) != fmt.Sprintf("%.0f", hi) {
		return text
	}
	return fmt.Sprintf("%.0f %%", hi)
}
