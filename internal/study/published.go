package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/meant"
)

// Published names a paper's table to set beside the results, and says which of
// its columns is which of our factors.
type Published struct {
	Table     Word // empty: none
	Columns   []Column
	Responses []Renamed
	Differs   []string // in what our set-up differs from the published one, in words
}

// A Column of the published table and where a treatment's value of it stands.
type Column struct {
	Name   Word
	Source Word              // one of our factors, or a fixed setting
	Levels map[string]string // our level → the table's value; nil: the same words
}

// Renamed says what a published response is called here: rtt, server.rtt.
type Renamed struct{ Published, Ours Word }

var publishedKeys = []key{
	{"table", func(r *reader, s *Study, n *node) { r.table(s, n) }},
	{"columns", func(r *reader, s *Study, n *node) { s.Published.Columns = r.columns(n) }},
	{"responses", func(r *reader, s *Study, n *node) { s.Published.Responses = r.renamed(n) }},
	{"differs", func(r *reader, s *Study, n *node) { s.Published.Differs = r.lines("differs", n) }},
}

// published reads a table's name, or a mapping with the name and the mapping
// of its columns. It is read after the factors, which it speaks of.
func (r *reader) published(s *Study, n *node) {
	if n.kind == scalar {
		r.table(s, n)
	} else {
		r.keys("published", s, n, publishedKeys)
		if n.kind == mapping && n.get("table") == nil {
			r.fail(n.pos, "published names no table", "write table: NAME")
		}
	}
	r.checkColumns(s)
}

func (r *reader) table(s *Study, n *node) {
	v, ok := r.name("published", n)
	s.Published.Table = Word{v, n.pos}
	if ok && r.vocabulary.Published != nil {
		r.known("published table", s.Published.Table, slices.Sorted(maps.Keys(r.vocabulary.Published)))
	}
}

func (r *reader) columns(n *node) []Column {
	if !r.kind("columns", n, mapping, "a mapping such as {framework: stack}") {
		return nil
	}
	var out []Column
	for _, p := range n.pairs {
		c := Column{Name: p.key}
		switch {
		case p.value.kind == mapping && len(p.value.pairs) == 1:
			c.Source = p.value.pairs[0].key
			if c.Levels = r.levelMap(c, p.value.pairs[0].value); c.Levels == nil {
				continue
			}
		case r.scalar(fmt.Sprintf("column %q", c.Name.Text), p.value, "a factor, or {FACTOR: {our level: published value}}"):
			c.Source = Word{p.value.text, p.value.pos}
		default:
			continue
		}
		out = append(out, c)
	}
	return out
}

func (r *reader) levelMap(c Column, n *node) map[string]string {
	what := fmt.Sprintf("column %q", c.Name.Text)
	if !r.kind(what, n, mapping, "our levels and the published values, such as {100kB: 100}") {
		return nil
	}
	out := map[string]string{}
	for _, p := range n.pairs {
		if r.scalar(what, p.value, "the published value") {
			out[p.key.Text] = p.value.text
		}
	}
	return out
}

func (r *reader) renamed(n *node) []Renamed {
	if !r.kind("responses", n, mapping, "published names and ours, such as {transmission_rtt: rtt}") {
		return nil
	}
	var out []Renamed
	for _, p := range n.pairs {
		ours, ok := r.name("a response", p.value)
		w := Word{ours, p.value.pos}
		bare := strings.TrimPrefix(strings.TrimPrefix(ours, "client."), "server.")
		if ok && r.response(Word{bare, p.value.pos}) {
			out = append(out, Renamed{p.key, w})
		}
	}
	return out
}

func (r *reader) lines(what string, n *node) []string {
	items := []*node{n}
	if n.kind == list {
		items = n.items
	}
	var out []string
	for _, x := range items {
		if v, ok := r.text(what, x); ok {
			out = append(out, v)
		}
	}
	return out
}

// checkColumns holds the mapping against the table's columns and our factors.
func (r *reader) checkColumns(s *Study) {
	table, known := r.vocabulary.Published[s.Published.Table.Text]
	for _, c := range s.Published.Columns {
		if known && !slices.Contains(table, c.Name.Text) {
			r.fail(c.Name.Pos, fmt.Sprintf("table %s has no column %q", s.Published.Table.Text, c.Name.Text),
				meant.Advice(c.Name.Text, table, manual))
		}
		i := slices.IndexFunc(s.Factors, func(f Factor) bool { return f.Name == c.Source.Text })
		fixed := slices.ContainsFunc(s.Fixed, func(f Setting) bool { return f.Key == c.Source.Text })
		if i < 0 && !fixed {
			if !r.overridden[c.Source.Text] {
				r.fail(c.Source.Pos, fmt.Sprintf("the study neither varies nor fixes %q", c.Source.Text),
					"name a factor or a setting of this file")
			}
			continue
		}
		if i < 0 || r.overridden[c.Source.Text] {
			continue
		}
		var levels []string
		for _, l := range s.Factors[i].Levels {
			levels = append(levels, l.Text)
		}
		for _, l := range slices.Sorted(maps.Keys(c.Levels)) {
			if !slices.Contains(levels, l) {
				r.fail(c.Name.Pos, fmt.Sprintf("factor %q has no level %q", c.Source.Text, l), meant.Advice(l, levels, manual))
			}
		}
	}
}
