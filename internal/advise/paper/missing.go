package paper

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
)

// values are a column's published values, in the table's order.
func (p Paper) values(column string) []string {
	var out []string
	for _, r := range p.Rows {
		if v, ok := r.At[column]; ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// column finds the table's column that has all the levels.
func (p Paper) column(levels ...string) (string, bool) {
	for _, c := range p.Columns {
		values := p.values(c)
		if !slices.ContainsFunc(levels, func(l string) bool { return !slices.Contains(values, l) }) {
			return c, true
		}
	}
	return "", false
}

// dimension finds what has the levels compared: a column of the table, or one
// of our own factors.
func (t *tester) dimension(levels []string) (string, bool) {
	if c, ok := t.paper.column(levels...); ok {
		return c, true
	}
	found, most := "", 0
	for i := range t.series {
		for _, dim := range slices.Sorted(maps.Keys(t.at[i])) {
			if t.at[i][dim] != levels[0] || dim == sideDimension || !t.has(dim, levels[0]) {
				continue
			}
			has := 0 // another factor may have a level of that name, too
			for _, l := range levels {
				if t.has(dim, l) {
					has++
				}
			}
			if has > most {
				found, most = dim, has
			}
		}
	}
	if most > 0 {
		return found, true
	}
	t.judged.Missing = append(t.judged.Missing, "a factor with the levels "+strings.Join(levels, ", "))
	return "", false
}

// has reports whether a level was measured where the claim is.
func (t *tester) has(dim, level string) bool {
	for i, s := range t.series {
		if len(s.Trials) > 0 && t.at[i][dim] == level && t.eligible(i, t.claim) {
			return true
		}
	}
	return false
}

// missing notes the published treatments a claim speaks of that were not
// measured: those of the levels of dim, or all of them if dim is no column.
func (t *tester) missing(dim string, levels []string, responses ...string) {
	t.unmapped()
	if dim != "" && !slices.Contains(t.paper.Columns, dim) {
		for _, l := range levels {
			if !t.has(dim, l) {
				t.lacks(dim + " " + l)
			}
		}
	}
	lack, have := map[string]bool{}, map[string]bool{}
	for _, response := range responses {
		published := false
		for _, side := range t.sides(response) {
			for _, r := range t.paper.Rows {
				if r.Response != response || r.Side != side && t.paper.Side == "" || !within(r.At, t.atColumns()) || dim != "" &&
					r.At[dim] != "" && !slices.Contains(levels, r.At[dim]) {
					continue
				}
				published = true
				if t.measured(response, side, r.At) {
					have[r.At[dim]] = true
					continue
				}
				lack[r.At[dim]] = true
				t.lacks(t.words(response, side, r.At))
			}
		}
		if term, err := t.term(response); !published && err == nil &&
			!slices.ContainsFunc(t.sides(response), func(s measure.Side) bool { return t.measured(response, s, nil) }) {
			t.lacks("response " + term.String())
		}
	}
	for l := range lack { // an average over a part of the strata tells nothing of the whole
		if have[l] && !t.claim.Everywhere && dim != "" {
			t.judged.whole = false
		}
	}
}

func (t *tester) measured(response string, side measure.Side, at map[string]string) bool {
	for _, s := range t.find(response, side, at) {
		if len(s.Trials) > 0 {
			return true
		}
	}
	return false
}

func (t *tester) lacks(what string) {
	if !slices.Contains(t.judged.Missing, what) {
		t.judged.Missing = append(t.judged.Missing, what)
	}
}

// words names a treatment that is missing, with its response where only that is.
func (t *tester) words(response string, side measure.Side, at map[string]string) string {
	name := inWords(at)
	for i, s := range t.series {
		if len(s.Trials) > 0 && within(t.at[i], at) && t.eligible(i, t.claim) {
			return fmt.Sprintf("%s of %s at the %s", response, name, side)
		}
	}
	return name
}

// atColumns are the claim's fixed levels that are columns of the table.
func (t *tester) atColumns() map[string]string {
	out := maps.Clone(t.claim.At)
	maps.DeleteFunc(out, func(k, _ string) bool { return !slices.Contains(t.paper.Columns, k) })
	return out
}

// unmapped says which columns no series tells.
func (t *tester) unmapped() {
	for _, c := range t.paper.Columns {
		if !slices.ContainsFunc(t.at, func(at map[string]string) bool { return at[c] != "" }) {
			why := fmt.Sprintf("the study does not say which of its factors is the published column %q; name it under "+
				"published: columns", c)
			if !slices.Contains(t.judged.Why, why) {
				t.judged.Why = append(t.judged.Why, why)
			}
		}
	}
}
