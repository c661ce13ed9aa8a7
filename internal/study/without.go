package study

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Without are the overrides that leave treatments, by the trials that have them, and
// responses out of a study; nil if nothing would be left. They stand with the results
// as those of a command line do.
func (p Plan) Without(missing []Trial, responses []string) []string {
	var sets []string
	if len(missing) > 0 {
		gone := map[int]bool{}
		for _, t := range missing {
			gone[t.Cell] = true
		}
		if len(gone) == p.Study.Treatments() || len(p.Study.Factors) == 0 {
			return nil
		}
		entries := p.Study.exclusions()
		whole, covered := p.wholeLevels(gone)
		entries = append(entries, whole...)
		for _, t := range missing {
			if !covered[t.Cell] {
				entries = append(entries, p.Study.entry(t.Treatment))
			}
		}
		sets = append(sets, "exclude=["+strings.Join(entries, ", ")+"]")
	}
	if len(responses) == 0 {
		return sets
	}
	var kept []string
	for _, w := range p.Study.Responses {
		if !slices.Contains(responses, w.Text) {
			kept = append(kept, w.Text)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return append(sets, "responses=["+strings.Join(kept, ", ")+"]")
}

// wholeLevels are entries for levels of which every treatment is gone, with the
// treatments that they remove.
func (p Plan) wholeLevels(gone map[int]bool) (entries []string, covered map[int]bool) {
	covered = map[int]bool{}
	for f, factor := range p.Study.Factors {
		for _, l := range factor.Levels {
			all := true
			var cells []int
			for cell, t := range p.Study.treatments {
				if t.words[f].Text == l.Text {
					all, cells = all && gone[cell], append(cells, cell)
				}
			}
			if !all || len(cells) == 0 || !slices.ContainsFunc(cells, func(c int) bool { return !covered[c] }) {
				continue
			}
			entries = append(entries, fmt.Sprintf("{%s: %s}", strconv.Quote(factor.Name), strconv.Quote(l.Text)))
			for _, c := range cells {
				covered[c] = true
			}
		}
	}
	return entries, covered
}

// exclusions are those of the file, as text.
func (s Study) exclusions() []string {
	return s.exclusionsWith(func(_, level string) []string { return []string{level} })
}

// exclusionsWith are those of the file with other levels in place of each.
func (s Study) exclusionsWith(levelsOf func(factor, level string) []string) []string {
	var out []string
	for _, x := range s.Exclude {
		var clauses []string
		for _, c := range x.Clauses {
			var levels []string
			for _, l := range c.Levels {
				for _, text := range levelsOf(s.Factors[c.Factor].Name, s.Factors[c.Factor].Levels[l].Text) {
					levels = append(levels, strconv.Quote(text))
				}
			}
			clauses = append(clauses, strconv.Quote(s.Factors[c.Factor].Name)+": ["+strings.Join(levels, ", ")+"]")
		}
		out = append(out, "{"+strings.Join(clauses, ", ")+"}")
	}
	return out
}

// entry excludes one treatment.
func (s Study) entry(treatment []Word) string {
	var clauses []string
	for i, w := range treatment {
		clauses = append(clauses, strconv.Quote(s.Factors[i].Name)+": "+strconv.Quote(w.Text))
	}
	return "{" + strings.Join(clauses, ", ") + "}"
}
