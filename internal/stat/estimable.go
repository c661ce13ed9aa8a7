package stat

import (
	"fmt"
	"slices"
	"strings"
)

// mostColumn bounds the columns of a model; work grows with their square. Blocks are swept
// out and take none.
const mostColumn = 800

// estimable keeps the terms the cells can tell apart, and says what it left
// out and why.
func (d *design) estimable(order int) ([]term, []error) {
	var warnings []error
	terms := d.terms(order)
	drop := func(why string, bad func(term) bool) {
		var names []string
		terms = slices.DeleteFunc(terms, func(t term) bool {
			if bad(t) {
				names = append(names, t.name)
				return true
			}
			return false
		})
		if names != nil {
			warnings = append(warnings, fmt.Errorf("left out of the analysis of variance: %s: %s",
				strings.Join(names, ", "), why))
		}
	}
	for f, l := range d.levels {
		if len(l) == 1 {
			warnings = append(warnings, fmt.Errorf("factor %q has only the level %q, so it has no effect to estimate",
				d.names[f], l[0]))
		}
	}
	drop("every block has only one treatment, so drift between blocks cannot be told from treatments, and was not looked "+
		"for",
		func(t term) bool { return t.name == blockTerm && !d.crossed() })
	drop("some combinations of its levels have no trials",
		func(t term) bool { return len(t.factors) > 1 && !d.filled(t) })
	drop(fmt.Sprintf("the model would have more than %d columns", mostColumn),
		func(t term) bool { return t.name != blockTerm && t.df > mostColumn })
	for columns(unswept(terms)) > mostColumn && highest(terms) > 1 {
		top := highest(terms)
		drop(fmt.Sprintf("the model would have more than %d columns", mostColumn),
			func(t term) bool { return len(t.factors) == top })
	}
	_, added := d.fit(terms)
	short := map[string]bool{}
	for i, t := range terms {
		short[t.name] = added[i] < t.df
	}
	drop("its effect is confounded with that of other terms", func(t term) bool { return short[t.name] })
	for int(d.n) <= 1+columns(terms) && highest(terms) > 1 {
		top := highest(terms)
		drop("without replication the highest interaction serves as the error",
			func(t term) bool { return len(t.factors) == top })
	}
	return terms, warnings
}

// unswept are the terms that take columns.
func unswept(terms []term) []term {
	if hasBlocks(terms) {
		return terms[1:]
	}
	return terms
}

func columns(terms []term) (n int) {
	for _, t := range terms {
		n += t.df
	}
	return n
}

func highest(terms []term) (n int) {
	for _, t := range terms {
		n = max(n, len(t.factors))
	}
	return n
}

// crossed reports whether any block holds two treatments.
func (d *design) crossed() bool {
	first := map[int][]int{}
	for _, c := range d.cells {
		if l, ok := first[c.block]; ok && !slices.Equal(l, c.level) {
			return true
		}
		first[c.block] = c.level
	}
	return false
}

// filled reports whether every combination of the term's levels has a cell.
func (d *design) filled(t term) bool {
	seen, want := map[string]bool{}, 1
	for _, f := range t.factors {
		want *= len(d.levels[f])
		if want > len(d.cells) {
			return false
		}
	}
	for _, c := range d.cells {
		var words []string
		for _, f := range t.factors {
			words = append(words, d.levels[f][c.level[f]])
		}
		seen[pack(words)] = true
	}
	return len(seen) == want
}

// unbalanced says why types of sums of squares differ; "": every combination of levels, and of blocks where they are a
// term, has equally many rows, so that all agree.
func (d *design) unbalanced(terms []term) string {
	want := 1
	for _, l := range d.levels {
		if want *= len(l); want > len(d.cells) {
			break // of many factors there are more than an int may count
		}
	}
	rows, alike := map[string]float64{}, true
	for _, c := range d.cells {
		rows[fmt.Sprint(c.level)] += c.n
		alike = alike && c.n == d.cells[0].n
	}
	if len(rows) < want {
		return "some combinations of levels have no trials"
	}
	for _, n := range rows {
		if n != rows[fmt.Sprint(d.cells[0].level)] {
			return "some treatments have fewer trials than others"
		}
	}
	if hasBlocks(terms) && (!alike || len(d.cells) < want*len(d.blocks)) {
		return "some blocks lack treatments"
	}
	return ""
}
