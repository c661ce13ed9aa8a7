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
	Repeated
}

// heldPairs are those of all papers of which any figure has an interval.
func (all allFindings) heldPairs() ([]heldPair, error) {
	var out []heldPair
	for _, f := range all {
		if f.Results == nil {
			continue
		}
		for _, other := range f.Repetitions() {
			const margin = 0.05 // of agreement, which is not asked here
			first, again := f.inOrder(other.Results)
			c, err := Repeat(first, again, f.Results.Study.Design.Confidence, margin)
			if err != nil {
				return nil, err
			}
			if c.held() != "" {
				out = append(out, heldPair{f.Paper.Name, first, again, c})
			}
		}
	}
	return out, nil
}

// Held says of each repetition how often the intervals of the study held themselves, a line each.
func (all allFindings) Held() ([]string, error) {
	pairs, err := all.heldPairs()
	var out []string
	for _, p := range pairs {
		const minute = "2006-01-02 15:04"
		verdicts, _ := turned(p.first, p.again)
		line := fmt.Sprintf("[%s](%s.md), measured on %s and again on %s (UTC): %s %s. %s", p.name, p.name,
			p.first.Started.UTC().Format(minute), p.again.Started.UTC().Format(minute), p.held(),
			markdownText(tallyOf("Ratios between treatments", p.Ratios)), verdicts)
		if len(p.Differences) > 0 {
			line += " What differed: " + markdownText(strings.Join(p.Differences, "; ")) + "."
		}
		out = append(out, line)
	}
	return out, err
}

// HeldShort answers in short whether our own intervals hold, and says what that rests on.
func (all allFindings) HeldShort() (string, error) {
	pairs, err := all.heldPairs()
	if err != nil || len(pairs) == 0 {
		return "", err
	}
	var figures, ratios []float64
	var days, starved int
	var apart []time.Duration
	for _, p := range pairs {
		figures, ratios = append(figures, shareHeld(p.Figures)...), append(ratios, shareHeld(p.Ratios)...)
		if gap := p.again.Started.Sub(p.first.Started); gap >= 24*time.Hour {
			if days++; len(p.first.Starved)+len(p.again.Starved) > 0 {
				starved++
			}
		} else {
			apart = append(apart, gap.Round(time.Minute))
		}
	}
	level := pairs[0].Confidence
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
		return text + fmt.Sprintf(" The runs of a pair lie %s apart.", span), nil
	}
	text += fmt.Sprintf(" Of %s of runs, %d %s days apart", plural.Count(len(pairs), "pair"), days,
		plural.Verb(days, "lies", "lie"))
	if starved > 0 {
		text += fmt.Sprintf(", and in %d of them, programs waited long for a CPU", starved)
	}
	if span != "" {
		text += fmt.Sprintf("; %s %s apart", plural.Verb(len(apart), "the other lies", "the others lie"), span)
	}
	return text + ".", nil
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
