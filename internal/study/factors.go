package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/meant"
)

// A builder gathers what is fixed and what is varied.
type builder struct {
	*reader
	study   *Study
	fixed   map[string]Setting
	links   map[string]Setting // of treatments checked so far, by the names that the lab finds them by
	lookups map[int]lookup     // by factor
	broken  bool               // a fault that would make the checks of treatments guess
	unsure  bool               // a factor could not be read, so an exclusion may name it
}

// fix takes a setting at the top of the file.
func (b *builder) fix(p pair) {
	before := len(b.errs.list)
	sets, ok := b.assign(p.key, p.value)
	b.broken = b.broken || !ok
	isList := p.key.Text == "leave_out" || slices.Contains(groups, p.key.Text)
	if !ok && p.value.kind == list && !isList { // several values make a factor
		for i := before; i < len(b.errs.list); i++ {
			if e := b.errs.list[i]; e.Pos == p.value.pos {
				e.Advice += fmt.Sprintf("; or, to compare several, factors: {%s: %s}", p.key.Text, p.value.scalars())
			}
		}
	}
	for _, s := range sets {
		if old, twice := b.fixed[s.Key]; twice {
			b.fail(s.Value.Pos, fmt.Sprintf("%q is given twice, first %s", s.Key,
				where(old.Value.Pos, s.Value.Pos)), "remove one")
			b.broken = true
			continue
		}
		b.fixed[s.Key] = s
		b.study.Fixed = append(b.study.Fixed, s)
	}
}

// exclusive are the settings that say one thing in two ways.
var exclusive = [][2]string{{"n", "size"}, {"requests", "duration"}}

// either reports what is fixed in both ways; what is varied too, candidate.check.
func (b *builder) either() {
	for _, e := range exclusive {
		x, first := b.fixed[e[0]]
		y, second := b.fixed[e[1]]
		if !first || !second {
			continue
		}
		pos := x.Value.Pos
		if y.Value.Pos.Line > pos.Line {
			pos = y.Value.Pos
		}
		b.fail(pos, fmt.Sprintf("%s and %s are both given", e[0], e[1]), "keep one")
		b.broken = true
	}
}

// assign reads the value of a setting, or of a mapping of settings.
func (r *reader) assign(key Word, n *node) (sets []Setting, ok bool) {
	if !slices.Contains(groups, key.Text) {
		known, found := findSetting(key.Text)
		if !found {
			advice := manual
			if near := meant.Nearest(key.Text, append(settingNames(), groups...)); near != "" {
				advice = meant.Question(near)
			} else if _, name, nested := strings.Cut(key.Text, "."); nested {
				advice = cmp.Or(r.elsewhere(name), advice)
			}
			if strings.HasPrefix(key.Text, "options.") {
				advice = "name an option with a letter first, then letters, digits and . _ -"
			}
			r.fail(key.Pos, fmt.Sprintf("no setting %q", key.Text), advice)
			return nil, false
		}
		s, ok := known.read(r, key.Text, n)
		s.Key = key.Text
		if !ok {
			return nil, false
		}
		return []Setting{s}, true
	}
	if key.Text != "options" && n.kind == scalar {
		return r.assign(Word{key.Text + ".device", key.Pos}, n)
	}
	if !r.kind(key.Text, n, mapping, "a mapping such as "+groupExample(key.Text)) {
		return nil, false
	}
	ok = true
	for _, p := range n.pairs {
		more, good := r.assign(Word{key.Text + "." + p.key.Text, p.key.Pos}, p.value)
		sets, ok = append(sets, more...), ok && good
	}
	return sets, ok
}

func groupExample(group string) string {
	if group == "options" {
		return "{name: value}"
	}
	return "{device: local}"
}

func (b *builder) factors(n *node) {
	if !b.kind("factors", n, mapping, "a mapping such as {stack: [a, b]}") {
		b.broken = true
		return
	}
	varied := map[string]string{} // setting → the factor that sets it
	for _, p := range n.pairs {
		f, ok := b.factor(p.key, p.value)
		b.broken = b.broken || !ok
		if f.Name == "" {
			continue
		}
		b.collisions(f, varied)
		b.study.Factors = append(b.study.Factors, f)
	}
}

// columns are taken in the plan and in the tables of results.
var columns = []string{"id", "block", "replication", "side", "response", "unit", "trials", "mean",
	"ci_low", "ci_high", "sd", "median", "p95", "method", "warnings", "name",
	"published", "times_published", "times_published_low", "times_published_high", "request_min", "request_sd"}

// laterColumns are, too, since studies with factors of these names were run, whose results are still read.
var laterColumns = []string{"benches", "intervals_for", "confidence", "median_low", "median_high", "headline"}

var factorName = newForm(`^[A-Za-z][A-Za-z0-9._-]*$`, 100)

// settingsOf are the settings that other tools call so.
func settingsOf(name string) []string {
	return slices.DeleteFunc(slices.Clone(otherWords[strings.ToLower(name)]), func(w string) bool { return !isSetting(w) })
}

// factor reads one factor; its Name is empty where nothing can be said of it.
func (b *builder) factor(key Word, n *node) (Factor, bool) {
	switch {
	case isSetting(key.Text):
	case slices.Contains(columns, key.Text) || indexKey(topKeys, key.Text) >= 0 || !factorName.MatchString(key.Text),
		b.vocabulary.Stacks != nil && slices.Contains(laterColumns, key.Text):
		b.fail(key.Pos, fmt.Sprintf("%q cannot name a factor", key.Text),
			factorName.advice(key.Text, "choose another name, of letters from A to Z, digits, dots, - and _"))
		return Factor{}, false
	case n.kind == list && slices.ContainsFunc(n.items, func(l *node) bool { return l.kind != mapping }):
		advice := "give each level as {name: …, SETTING: value}"
		if names := meant.Names(key.Text, settingNames()); names != nil {
			advice = meant.Question(names...)
		} else if words := settingsOf(key.Text); len(words) > 0 {
			advice = meant.Question(words...)
		} else if names := inside(key.Text); names != nil {
			advice = names[0] + " is the same in all treatments"
		}
		b.fail(key.Pos, fmt.Sprintf("no setting %q to vary", key.Text), advice)
		return Factor{}, false
	}
	f := Factor{Name: key.Text, Pos: key.Pos}
	if !b.kind(fmt.Sprintf("factor %q", key.Text), n, list, "its levels as a list such as [a, b]") {
		return Factor{}, false
	}
	ok := b.enough(f, n)
	for _, item := range n.items {
		l, good := b.level(f.Name, item)
		l.bad = !good
		f.Levels = append(f.Levels, l)
	}
	return f, b.distinct(f) && ok
}

func (b *builder) enough(f Factor, n *node) bool {
	switch len(n.items) {
	case 0:
		b.fail(n.pos, fmt.Sprintf("factor %q has no levels", f.Name), "list at least two, or remove it")
	case 1:
		b.fail(n.pos, fmt.Sprintf("factor %q has only one level", f.Name),
			"add another, or move it out of factors, to the top of the file")
	}
	return len(n.items) > 1
}

func (b *builder) distinct(f Factor) bool {
	text, id := map[string]bool{}, map[string]string{}
	good := true
	for _, l := range f.Levels {
		if l.bad {
			continue
		}
		same, twin := id[l.id()]
		switch {
		case text[l.Text]:
			b.fail(l.Pos, fmt.Sprintf("factor %q has level %s twice", f.Name, l.Text),
				"remove one, or give it a name of its own")
			good = false
		case twin:
			b.fail(l.Pos, fmt.Sprintf("levels %s and %s of factor %q are the same", same, l.Text, f.Name), "remove one")
			good = false
		}
		text[l.Text], id[l.id()] = true, l.Text
	}
	return good
}

// mappings are settings whose value may be a mapping: a level of theirs that is one is no compound one.
var mappings = []string{"link", "request", "reconnect", "outage", "mix", "sleep"}

// isCompound says that a mapping sets several settings, or names its factor's: {name: slow, link: nb-iot, requests: 5}.
// Else it is the value of the factor's setting itself: {delay: 40ms}.
func isCompound(factor string, n *node) bool {
	name := n.get("name")
	switch {
	case !slices.Contains(mappings, factor):
		return true
	case factor == "sleep": // whose mappings have a mode
		return n.get("mode") == nil
	case factor == "mix": // whose classes have any name
		return n.get(factor) != nil && name != nil && name.kind == scalar
	}
	return n.get(factor) != nil
}

// level reads one level of the factor named. Its text is its name, or its
// value, or its settings as "axis2 encoding=xml".
func (r *reader) level(factor string, n *node) (Level, bool) {
	raw := Level{Word: Word{n.text, n.pos}}
	if n.kind == list {
		r.fail(n.pos, fmt.Sprintf("a level of %q is a list", factor), "write one value, or {name: …, SETTING: value}")
		return raw, false
	}
	if n.kind == scalar || !isCompound(factor, n) {
		sets, ok := r.assign(Word{factor, n.pos}, n)
		if !ok {
			return raw, false
		}
		return Level{Word: Word{sets[0].Value.Text, n.pos}, Sets: sets}, true
	}
	return r.compound(factor, n)
}

func (r *reader) compound(factor string, n *node) (Level, bool) {
	l, ok := Level{Word: Word{Pos: n.pos}}, true
	for _, p := range n.pairs {
		if p.key.Text == "name" {
			v, good := r.name("the name of a level", p.value)
			l.Text, ok = v, ok && good
			continue
		}
		key := p.key
		if slices.Contains(groups, factor) {
			key.Text = factor + "." + key.Text // factors: {client: [{device: a}, …]}
		}
		sets, good := r.assign(key, p.value)
		l.Sets, ok = append(l.Sets, sets...), ok && good
	}
	if ok && len(l.Sets) == 0 {
		r.fail(n.pos, fmt.Sprintf("a level of %q sets nothing", factor), "write {name: …, SETTING: value}")
		return l, false
	}
	ok = ok && r.once(l)
	if l.Text == "" {
		l.Text = l.spelled(factor)
	}
	return l, ok
}

// once refuses {client: a, client.device: b}.
func (r *reader) once(l Level) bool {
	seen := map[string]bool{}
	for _, s := range l.Sets {
		if seen[s.Key] {
			r.fail(s.Value.Pos, fmt.Sprintf("the level gives %q twice", s.Key), "remove one")
			return false
		}
		seen[s.Key] = true
	}
	return true
}

// spelled names a level by what it sets, the factor's own value first.
func (l Level) spelled(factor string) string {
	var own, rest []string
	for _, s := range l.Sets {
		if s.Key == factor || s.Key == factor+".device" {
			own = append(own, s.Value.Text)
		} else {
			rest = append(rest, strings.TrimPrefix(s.Key, factor+".")+"="+s.Value.Text)
		}
	}
	return strings.Join(append(own, rest...), " ")
}

// collisions reports settings that something else gives too.
func (b *builder) collisions(f Factor, varied map[string]string) {
	mine := map[string]bool{}
	for _, l := range f.Levels {
		for _, s := range l.Sets {
			if mine[s.Key] {
				continue
			}
			mine[s.Key] = true
			pos := f.Pos
			if s.Key != f.Name {
				pos = s.Value.Pos
			}
			if old, ok := b.fixed[s.Key]; ok {
				b.fail(pos, fmt.Sprintf("%q is varied here and fixed %s", s.Key, where(old.Value.Pos, pos)), "remove one")
				b.broken = true
			}
			if other := varied[s.Key]; other != "" {
				b.fail(pos, fmt.Sprintf("%q is varied by factors %q and %q", s.Key, other, f.Name), "remove it from one of them")
				b.broken = true
			}
			varied[s.Key] = f.Name
		}
	}
}
