package study

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/printable"
)

// override applies each PATH=VALUE to the file as read, before anything is
// judged. A path is a key with its parents before it (design.seed); the value
// is YAML. To set a setting fixes it: a factor of that name goes. To set
// factors.NAME varies it: a fixed value of that name goes. n and size are one
// thing said in two ways, so each replaces the other; so do a duration, and requests or
// a least duration. How long a trial is, fixed, is so for levels that bring their own too.
// An exclusion of a factor set this way keeps what still applies. Who says how many
// replications to make gets so many: the file's precision goes, unless it or its budget is set too.
func (r *reader) override(s *Study, root *node, sets []string) {
	for i, text := range sets {
		pos := overridePos(i+1, r.vocabulary.Kept)
		path, value, ok := cutOverride(text)
		if !ok {
			r.fail(pos, fmt.Sprintf("%q sets nothing", printable.Redact(text)), "write KEY=VALUE, such as requests=100")
			continue
		}
		n := parseYAML(pos.File, []byte(value), false, r.errs)
		if n == nil {
			continue
		}
		s.Overrides = append(s.Overrides, Override{path, printable.Redact(value)})
		r.put(root, Word{path, pos}, n)
	}
	set := func(key string) bool {
		return slices.ContainsFunc(s.Overrides, func(o Override) bool { return o.Path == key })
	}
	asked := set("design.precision") || set("design.budget")
	if d := root.get("design"); d != nil && set("design.replications") && !asked {
		d.drop("precision")
		d.drop("budget")
	}
}

// overridePos is where what the nth override says stands, if so many of them, the first, are kept ones: a --set
// counts from the first one of the command line.
func overridePos(n, kept int) Pos {
	if n <= kept {
		return Pos{File: fmt.Sprintf("override %d", n)}
	}
	return Pos{File: fmt.Sprintf("--set %d", n-kept)}
}

func cutOverride(text string) (path, value string, ok bool) {
	path, value, ok = strings.Cut(text, "=")
	path, value = strings.TrimSpace(path), strings.TrimSpace(value)
	return path, value, ok && path != "" && value != ""
}

// ReadOverride is PATH=VALUE as Study.Overrides has it; false: it sets nothing.
func ReadOverride(text string) (Override, bool) {
	path, value, ok := cutOverride(text)
	return Override{path, printable.Redact(value)}, ok
}

// OverrideAt is the override that stands at a position, and its number from 1; 0: none does.
func (s Study) OverrideAt(at Pos) (o Override, n int) {
	for i, o := range s.Overrides {
		if at == overridePos(i+1, s.kept) {
			return o, i + 1
		}
	}
	return Override{}, 0
}

func (r *reader) put(root *node, path Word, n *node) {
	head, tail, nested := strings.Cut(path.Text, ".")
	factor, _ := strings.CutPrefix(path.Text, "factors.")
	switch {
	case head == "factors" && nested:
		r.clear(root, factor, true)
		r.overridden[factor] = true
		r.putIn(root, Word{"factors", path.Pos}, Word{factor, path.Pos}, n)
	case isSetting(path.Text):
		r.clear(root, path.Text, false)
		root.put(path, n)
	case nested && (isSetting(head) || indexKey(topKeys, head) >= 0):
		r.putIn(root, Word{head, path.Pos}, Word{tail, path.Pos}, n)
	default:
		if f := root.get(path.Text); path.Text == "factors" && f != nil {
			for _, p := range f.pairs { // all those of the file go
				r.overridden[p.key.Text] = true
			}
		}
		root.put(path, n)
	}
}

// deep are groups whose keys may be mappings: link.up.delay, mix.sensor.period, request.headers.Accept.
var deep = []string{"link", "mix", "request"}

// putIn sets a key of a mapping that stands under a key of n, at any depth.
func (r *reader) putIn(n *node, group, path Word, value *node) {
	in := n.get(group.Text)
	if in == nil {
		in = &node{pos: group.Pos, kind: mapping}
		n.put(group, in)
	}
	if in.kind != mapping {
		r.fail(path.Pos, fmt.Sprintf("%s is %s, so it has no key %q to set", group.Text, in.kind, path.Text),
			"set all of it: "+group.Text+"=…")
		return
	}
	head, tail, nested := strings.Cut(path.Text, ".")
	if nested && slices.Contains(deep, group.Text) {
		r.putIn(in, Word{head, path.Pos}, Word{tail, path.Pos}, value)
		return
	}
	in.put(path, value)
}

func (n *node) put(key Word, value *node) {
	for i := range n.pairs {
		if n.pairs[i].key.Text == key.Text {
			n.pairs[i] = pair{key, value}
			return
		}
	}
	n.pairs = append(n.pairs, pair{key, value})
}

func (n *node) drop(key string) bool {
	before := len(n.pairs)
	n.pairs = slices.DeleteFunc(n.pairs, func(p pair) bool { return p.key.Text == key })
	return len(n.pairs) < before
}

// clear removes whatever else gives the setting: its fixed value and factor.
// With keepPlace a factor of that very name stays, to be replaced where it stands.
func (r *reader) clear(root *node, name string, keepPlace bool) {
	for _, key := range alike(name) {
		root.drop(key)
		r.clearGroup(root, key)
		f := root.get("factors")
		if f == nil || f.kind != mapping {
			continue
		}
		for _, p := range slices.Clone(f.pairs) {
			switch {
			case keepPlace && p.key.Text == name:
			case covers(p.key.Text, key):
				f.drop(p.key.Text)
				r.overridden[p.key.Text] = true
			case !keepPlace && slices.Contains(lengths, key):
				p.value.dropInLevels(key)
			}
		}
	}
}

// lengths say how long a trial is. Fixed, they are so for levels that bring their
// own too: no level is named after them, as one is after its link.
var lengths = []string{"requests", "duration", "min_duration"}

func (n *node) dropInLevels(key string) {
	for _, level := range n.items {
		if level.kind == mapping {
			level.drop(key)
		}
	}
}

// clearGroup removes client.device from client: {device: …}, and the dotted
// keys of a group that is set whole.
func (r *reader) clearGroup(root *node, key string) {
	for _, p := range slices.Clone(root.pairs) {
		if p.key.Text != key && covers(p.key.Text, key) && strings.HasPrefix(p.key.Text, key+".") {
			root.drop(p.key.Text)
		}
	}
	head, tail, nested := strings.Cut(key, ".")
	group := root.get(head)
	switch {
	case !nested || group == nil:
	case group.kind == mapping:
		group.drop(tail)
	case group.kind == scalar && tail == "device":
		root.drop(head)
	}
}

// covers reports whether one of two keys is the other or its group.
func covers(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// alike are the settings that one takes the place of: a duration that of requests and of a least duration, which in
// turn take that of a duration and go together.
func alike(name string) []string {
	switch name {
	case "duration":
		return lengths
	case "min_duration":
		return []string{name, "duration"}
	}
	for _, e := range exclusive {
		if slices.Contains(e[:], name) {
			return e[:]
		}
	}
	return []string{name}
}
