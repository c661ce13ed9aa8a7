package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
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

// Beside are the other results that are kept in the folder of a name, for the words to speak of; nil: there are none.
func (f finding) Beside(folder string) *finding {
	for _, r := range f.Others {
		if filepath.Base(r.Dir) == folder {
			return &finding{Paper: f.Paper, Results: r, files: f.files}
		}
	}
	return nil
}

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
	far := func(r *Report) int { // 0: on the device nearest to the paper's
		if _, ok := r.Facts.Devices[f.Paper.Nearest]; ok {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *Report) int { return far(a) - far(b) })
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
			if odds := t.disagreement(i); odds != "" {
				words = "**" + odds + ":** " + words
			}
			b.WriteString("| " + words)
			for _, card := range t.cards {
				j := card.Claims[i]
				text, ours := string(j.Verdict), oursText(j)
				missing := len(j.Missing) > 0 && j.Verdict == stat.Undecided
				if missing {
					if text = "measured in part"; ours == "" {
						text = "not measured"
					}
				}
				if ours != "" {
					text += "; " + ours
				}
				if !missing && j.Size != "" && !j.Modelled {
					text += fmt.Sprintf("; direction %s, %s", j.Direction, sizeText(j))
				}
				b.WriteString(" | " + markdownText(text))
			}
			b.WriteString(" |\n")
		}
	}
	return b.String()
}

// inOrder are the finding's results and others that repeat them, the earlier first.
func (f finding) inOrder(r *Report) (first, again *Report) {
	if f.Before(r) {
		return r, f.Results
	}
	return f.Results, r
}

// Before reports whether results were measured before those of the finding.
func (f finding) Before(r *Report) bool { return r.Started.Before(f.Results.Started) }

// Unlike are the settings, beyond how much was measured, in which other results differ from those of the finding.
func (f finding) Unlike(r *Report) string {
	keys := changed(f.Results, r)
	var parts []string
	for _, key := range sortedKeys(keys) {
		overridden := func(r *Report) bool {
			return slices.ContainsFunc(r.Study.Overrides, func(o study.Override) bool { return o.Path == key })
		}
		if !slices.Contains(sizes, key) && !overridden(r) {
			parts = append(parts, fmt.Sprintf("%s is %s", codeSpan(key), codeSpan(orNone(keys[key][1]))))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "The study file was another one: " + strings.Join(parts, ", ") + "."
}

// Again says how far the finding's results and others that repeat them agree.
func (f finding) Again(r *Report) ([]string, error) {
	const margin = 0.05
	first, again := f.inOrder(r)
	c, err := Repeat(first, again, f.Results.Study.Design.Confidence, margin)
	if err != nil {
		return nil, err
	}
	out := []string{fmt.Sprintf("%s; %s; within %g %%.", tallyOf("Figures", c.Figures),
		tallyOf("ratios between treatments", c.Ratios), 100*margin)}
	if text := c.held(); text != "" {
		out = append(out, text)
	}
	if len(c.Differences) > 0 {
		out = append(out, "What differed: "+markdownText(strings.Join(c.Differences, "; "))+".")
	}
	var differ []string
	for _, x := range slices.Concat(c.Figures, c.Ratios) {
		if x.Agreement == advise.Differs {
			differ = append(differ, fmt.Sprintf("%s %s at the %s (%s)", x.Treatment, x.Response, x.Side, ratioRange(x.Ratio)))
		}
	}
	const most = 12
	switch n := len(differ); {
	case n > most:
		out = append(out, fmt.Sprintf("Different, again over first, %d of %d: %s.", most, n,
			markdownText(strings.Join(differ[:most], "; "))))
	case n > 0:
		out = append(out, "Different, again over first: "+markdownText(strings.Join(differ, "; "))+".")
	}
	total, words := turned(first, again)
	if len(words) > 0 {
		total = strings.TrimSuffix(total, ".") + ": " + markdownText(strings.Join(words, "; ")) + "."
	}
	return append(out, total), nil
}

// turned says how many verdicts of results are others when they are measured again, and which.
func turned(first, again *Report) (total string, words []string) {
	opposite := 0
	for i, c := range first.Published.Claims {
		is := again.Published.Claims[i].Verdict
		if is != c.Verdict {
			words = append(words, fmt.Sprintf("%s (%s, then %s)", c.Words(), c.Verdict, is))
		}
		if disagree([]stat.Verdict{c.Verdict, is}) {
			opposite++
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("All %d verdicts on claims are the same.", len(first.Published.Claims)), nil
	}
	return fmt.Sprintf("Of %d verdicts on claims, %d became others, and %d the opposite.", len(first.Published.Claims),
		len(words), opposite), words
}
