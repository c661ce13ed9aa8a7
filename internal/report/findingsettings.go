package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
)

// sameAs is the folder of those results of the finding that are a copy of these;
// empty: there is none.
func (f finding) sameAs(r *Report) string {
	for _, o := range append([]*Report{f.Results}, f.Others...) {
		if o.Started.Equal(r.Started) && o.Study.Name == r.Study.Name {
			return o.Dir
		}
	}
	return ""
}

// sizes are the settings that say only how much was measured.
var sizes = []string{"design.replications", "retries"}

// repeats reports whether results are those of the finding measured again: the
// same study and settings, on the same kind of machine.
func (f finding) repeats(r *Report) bool {
	for key := range changed(f.Results, r) {
		if !slices.Contains(sizes, key) {
			return false
		}
	}
	return f.Results.Study.Name == r.Study.Name && f.Results.setting() == r.setting()
}

// Settings are the other results, each by itself, that are no repetition.
func (f finding) Settings() []finding { return f.others(false) }

// Repetitions are the other results that repeat the first.
func (f finding) Repetitions() []finding { return f.others(true) }

func (f finding) others(repeat bool) []finding {
	var out []finding
	for _, r := range f.Others {
		if f.repeats(r) == repeat {
			out = append(out, finding{Paper: f.Paper, Results: r, files: f.files})
		}
	}
	return out
}

// SideBySide is the table of all claims in all settings, each with its verdict and figure.
func (f finding) SideBySide() string {
	all := []*Report{f.Results}
	for _, s := range f.Settings() {
		all = append(all, s.Results)
	}
	var b strings.Builder
	for _, t := range besides(all) {
		for i, r := range all { // a page names folders as the repository has them
			t.settings[i] = strings.ReplaceAll(t.settings[i], r.Dir, finding{Results: r}.Kept())
		}
		b.WriteString("| claim | " + markdownText(strings.Join(t.settings, "\x00")) + " |\n|---" +
			strings.Repeat("|---", len(t.settings)) + "|\n")
		table := strings.ReplaceAll(b.String(), "\x00", " | ")
		b.Reset()
		b.WriteString(table)
		for i, c := range t.cards[0].Claims {
			words := markdownText(c.Words())
			if disagree(t.verdicts(i)) {
				words = "**the settings disagree:** " + words
			}
			b.WriteString("| " + words)
			for _, card := range t.cards {
				j := card.Claims[i]
				text := string(j.Verdict)
				if ours := oursText(j); ours != "" {
					text += "; " + ours
				}
				if j.SizeIs != "" && !j.Modelled {
					text += "; size " + placeText(j)
				}
				b.WriteString(" | " + markdownText(text))
			}
			b.WriteString(" |\n")
		}
	}
	return b.String()
}

// Again says how far results agree with those of the finding that they repeat.
func (f finding) Again(r *Report) ([]string, error) {
	const margin = 0.05
	c, err := Repeat(f.Results, r, f.Results.Study.Design.Confidence, margin)
	if err != nil {
		return nil, err
	}
	out := []string{fmt.Sprintf("%s; %s; within %g %%.", tallyOf("Figures", c.Figures),
		tallyOf("ratios between treatments", c.Ratios), 100*margin)}
	if text := c.held(); text != "" {
		out = append(out, text)
	}
	var differ []string
	for _, x := range slices.Concat(c.Figures, c.Ratios) {
		if x.Agreement == advise.Differs {
			differ = append(differ, fmt.Sprintf("%s %s at the %s (%s)", x.Treatment, x.Response, x.Side, ratioRange(x.Ratio)))
		}
	}
	if len(differ) > 0 {
		out = append(out, "Different, again over first: "+markdownText(strings.Join(differ, "; "))+".")
	}
	return append(out, f.turned(r)), nil
}

// turned says which verdicts are others in the repetition.
func (f finding) turned(r *Report) string {
	var words []string
	opposite := 0
	for i, c := range f.Results.Published.Claims {
		is := r.Published.Claims[i].Verdict
		if is != c.Verdict {
			words = append(words, fmt.Sprintf("%s (%s, then %s)", c.Words(), c.Verdict, is))
		}
		if disagree([]stat.Verdict{c.Verdict, is}) {
			opposite++
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("All %d verdicts on claims are the same.", len(f.Results.Published.Claims))
	}
	return fmt.Sprintf("Of %d verdicts on claims, %d became others, and %d the opposite: %s.",
		len(f.Results.Published.Claims), len(words), opposite, markdownText(strings.Join(words, "; ")))
}
