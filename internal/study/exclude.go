package study

import (
	"fmt"
	"slices"

	"edgegauge.example/edgegauge/internal/meant"
)

// An Exclusion removes the treatments that match all of its clauses.
type Exclusion struct {
	Clauses []Clause
	Pos     Pos
}

// A Clause matches a treatment whose level of one factor is among Levels.
// Both are indices: into Study.Factors, and into that factor's Levels.
type Clause struct {
	Factor int
	Levels []int
}

func (x Exclusion) matches(cell []int) bool {
	for _, c := range x.Clauses {
		if !slices.Contains(c.Levels, cell[c.Factor]) {
			return false
		}
	}
	return true
}

func (b *builder) exclude(n *node) {
	if !b.kind("exclude", n, list, "a list such as [{stack: a, link: b}]") {
		b.broken = true
		return
	}
	b.unsure = b.broken
	for _, item := range n.items {
		x, void, ok := b.exclusion(item)
		b.broken = b.broken || !ok
		if ok && !void {
			b.study.Exclude = append(b.study.Exclude, x)
		}
	}
}

// exclusion reads one; void is true if a --set left it nothing to remove.
func (b *builder) exclusion(n *node) (x Exclusion, void, ok bool) {
	if !b.kind("an exclusion", n, mapping, "a mapping of factors to levels, such as {stack: a}") {
		return x, false, false
	}
	if len(n.pairs) == 0 {
		b.fail(n.pos, "the exclusion names no factor", "write {FACTOR: level}, or remove it")
		return x, false, false
	}
	x.Pos, ok = n.pos, true
	for _, p := range n.pairs {
		values := []*node{p.value}
		if p.value.kind == list {
			values = p.value.items
		}
		if len(values) == 0 {
			b.fail(p.value.pos, "the exclusion matches nothing", "name a level, or leave the factor out")
			ok = false
			continue
		}
		f := slices.IndexFunc(b.study.Factors, func(f Factor) bool { return f.Name == p.key.Text })
		switch {
		case f >= 0:
			c, good := b.clause(f, values)
			x.Clauses = append(x.Clauses, c)
			void, ok = void || good && len(c.Levels) == 0, ok && good
		case b.overridden[p.key.Text]:
			void = void || !slices.ContainsFunc(values, func(v *node) bool { return b.isFixed(p.key.Text, v) })
		default:
			ok = b.noFactor(p.key)
		}
	}
	return x, void, ok
}

func (b *builder) noFactor(name Word) bool {
	var names []string
	for _, f := range b.study.Factors {
		names = append(names, f.Name)
	}
	if !b.unsure {
		b.fail(name.Pos, fmt.Sprintf("%q is not a factor, so the exclusion matches nothing", name.Text),
			meant.Advice(name.Text, names, manual))
	}
	return false
}

func (b *builder) clause(f int, values []*node) (Clause, bool) {
	factor, c, ok := b.study.Factors[f], Clause{Factor: f}, true
	for _, v := range values {
		if len(b.errs.list) >= MostShown {
			return c, false
		}
		i := b.levelIndex(f, v)
		switch {
		case i >= 0 && slices.Contains(c.Levels, i):
			b.fail(v.pos, fmt.Sprintf("the exclusion names level %s twice", factor.Levels[i].Text), "remove one")
			ok = false
		case i >= 0:
			c.Levels = append(c.Levels, i)
		case b.overridden[factor.Name]: // the level went with the --set
		case slices.ContainsFunc(factor.Levels, func(l Level) bool { return l.bad }):
			ok = false
		default:
			var names []string
			for _, l := range factor.Levels[:min(len(factor.Levels), manyLevels)] {
				names = append(names, l.Text)
			}
			b.fail(v.pos, fmt.Sprintf("factor %q has no such level, so the exclusion matches nothing", factor.Name),
				meant.Advice(v.text, names, manual))
			ok = false
		}
	}
	return c, ok
}

// manyLevels is of how many levels a mistyped one may be meant to be one.
const manyLevels = 500

// A lookup finds a factor's levels, of which there may be very many.
type lookup struct{ text, id map[string]int }

func (b *builder) lookup(f int) lookup {
	if l, made := b.lookups[f]; made {
		return l
	}
	l := lookup{map[string]int{}, map[string]int{}}
	for i, x := range b.study.Factors[f].Levels {
		l.text[x.Text] = i
		if !x.bad {
			l.id[x.id()] = i
		}
	}
	b.lookups[f] = l
	return l
}

// levelIndex finds a level of a factor by its text, or by a value that means the same; -1
// if there is none.
func (b *builder) levelIndex(f int, n *node) int {
	levels := b.lookup(f)
	if i, ok := levels.text[n.text]; ok && n.kind == scalar {
		return i
	}
	if want, ok := b.mute().level(b.study.Factors[f].Name, n); ok {
		if i, ok := levels.id[want.id()]; ok {
			return i
		}
	}
	return -1
}

// isFixed reports whether the value is the one a --set gave to the key.
func (b *builder) isFixed(key string, n *node) bool {
	l, ok := b.mute().level(key, n)
	for _, s := range l.Sets {
		f, is := b.fixed[s.Key]
		ok = ok && is && f.id == s.id
	}
	return ok
}
