package study

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// WriteIn writes what --set changes into the text of a study, so that it says the same alone. All else stays as it
// stands (Edit). Its error is ErrEdit where the text cannot say the same, as where an exclusion or a published figure
// names a level that went with the --set.
func WriteIn(text []byte, sets ...string) ([]byte, error) {
	var errs faults
	was, now := parseYAML("", text, true, &errs), parseYAML("", text, true, &errs)
	if was == nil || was.kind != mapping {
		return nil, ErrEdit
	}
	r := &reader{errs: &errs, elsewhere: elsewhere, overridden: map[string]bool{}}
	r.override(&Study{}, now, sets)
	if len(errs.list) > 0 || len(r.overridden) > 0 && (now.get("exclude") != nil || now.get("published") != nil) {
		return nil, ErrEdit
	}
	out := text
	var err error
	for _, x := range changes(was, now, nil) {
		if out, err = Edit(out, x.value, x.path...); err != nil {
			return nil, err
		}
	}
	if got := parseYAML("", out, true, &errs); got == nil || got.kind != mapping || !sayTheSame(got, now) {
		return nil, ErrEdit
	}
	return out, nil
}

// A written value is one of a text, as Edit takes it; empty: it goes.
type written struct {
	path  []string
	value string
}

// changes make one mapping another.
func changes(was, now *node, above []string) (all []written) {
	at := func(key string) []string { return append(slices.Clone(above), key) }
	for _, p := range was.pairs {
		if now.get(p.key.Text) == nil {
			all = append(all, written{at(p.key.Text), ""})
		}
	}
	for _, p := range now.pairs {
		old := was.get(p.key.Text)
		switch {
		case old != nil && sameValue(old, p.value):
		case above == nil && p.value.kind == mapping && (old == nil || old.kind == mapping):
			if old == nil {
				old = &node{kind: mapping}
			}
			all = append(all, changes(old, p.value, at(p.key.Text))...)
		default:
			all = append(all, written{at(p.key.Text), p.value.onLine(false)})
		}
	}
	return all
}

// sayTheSame says whether two studies do: the order of their keys does not count, and a mapping without any is none.
func sayTheSame(a, b *node) bool {
	says := func(a, b *node) bool {
		for _, p := range a.pairs {
			if other := b.get(p.key.Text); (other == nil || !sameValue(p.value, other)) &&
				(p.value.kind != mapping || len(p.value.pairs) > 0) {
				return false
			}
		}
		return true
	}
	return says(a, b) && says(b, a)
}

func sameValue(a, b *node) bool {
	return a.kind == b.kind && a.tag == b.tag && (a.text == b.text || a.tag == "!!null") &&
		slices.EqualFunc(a.items, b.items, sameValue) &&
		slices.EqualFunc(a.pairs, b.pairs, func(x, y pair) bool {
			return x.key.Text == y.key.Text && sameValue(x.value, y.value)
		})
}

// onLine is a value as YAML has it on one line; inside another's brackets more needs quotes.
func (n *node) onLine(inside bool) string {
	var parts []string
	switch {
	case n.kind == list:
		for _, x := range n.items {
			parts = append(parts, x.onLine(true))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case n.kind == mapping:
		for _, p := range n.pairs {
			key := &node{tag: "!!str", text: p.key.Text}
			parts = append(parts, key.onLine(true)+": "+p.value.onLine(true))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case n.tag == "!!null":
		return "null"
	case n.tag != "!!str":
		return n.text
	}
	if plain, err := oneLine(n.text); err == nil && plain.Kind == yaml.ScalarNode && plain.ShortTag() == "!!str" &&
		plain.Style == 0 && plain.Value == n.text && !(inside && strings.ContainsAny(n.text, ",[]{}:#")) {
		return n.text
	}
	quoted, _ := json.Marshal(n.text) // a string always can be
	return string(quoted)
}
