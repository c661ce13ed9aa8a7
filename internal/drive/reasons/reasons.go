// Package reasons keeps why requests failed: each text once, so that a row needs a number only.
package reasons

import "unicode/utf8"

// Most bounds a table: a server may put a different number into every text.
const Most = 1000

// longest is what is kept of a text, in B.
const longest = 200

// others is the number of what a full table has no room for.
const others = 1

// A Table numbers texts. 0 is the empty one: the request did not fail.
type Table struct {
	Texts []string // by number
	index map[string]uint32
}

// New is a table without failures.
func New() Table {
	return Table{Texts: []string{"", "other failures"}, index: map[string]uint32{"": 0}}
}

// Of is the number of a text, which is cut at 200 B, and not within a character.
func (t *Table) Of(text string) uint32 {
	if len(text) > longest {
		n := longest
		for ; n > 0 && !utf8.RuneStart(text[n]); n-- {
		}
		text = text[:n]
	}
	if i, ok := t.index[text]; ok {
		return i
	}
	if len(t.Texts) >= Most {
		return others
	}
	i := uint32(len(t.Texts))
	t.Texts = append(t.Texts, text)
	t.index[text] = i
	return i
}
