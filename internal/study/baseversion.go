package study

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// baseSuffix marks the base version of a stack.
const baseSuffix = "@base"

// Base is the name of a stack's base version.
func Base(stack string) string { return stack + baseSuffix }

// IsBase takes the name of a stack's base version apart.
func IsBase(name string) (stack string, ok bool) { return strings.CutSuffix(name, baseSuffix) }

// OfVersions reports whether a stack is measured in its base version, too: edgegauge
// compare --base, or confirm, put that beside it; nothing else knows such a stack.
func (s Study) OfVersions() bool {
	return slices.ContainsFunc(s.treatments, func(t treatment) bool {
		_, client := IsBase(t.setup.Client.Stack)
		_, server := IsBase(t.setup.Server.Stack)
		return client || server
	})
}

// WithoutBase are those of a study's overrides that its user gave, without those of WithBase and what came with them.
func WithoutBase(sets []string) []string {
	i := slices.IndexFunc(sets, func(set string) bool {
		path, value, _ := cutOverride(set)
		factor, varied := strings.CutPrefix(path, "factors.")
		return varied && slices.Contains(stackKeys, factor) && strings.Contains(value, baseSuffix+`"`)
	})
	switch {
	case i < 0:
		return sets
	case i > 0 && sets[i-1] == "design.precision=off":
		i--
	}
	return sets[:i:i]
}

// Versioned is the setting of which WithBase puts another version beside each level,
// and the names of the stacks there, as the study has them.
func (p Plan) Versioned() (key string, stacks []string, err error) {
	running := func(t treatment) bool { return t.setup.URL != "" }
	switch {
	case !slices.ContainsFunc(p.Study.treatments, running):
	case slices.ContainsFunc(p.Study.treatments, func(t treatment) bool { return !running(t) }):
		return "", nil, errors.New("the study also measures a service that edgegauge does not start (server.url), and of " +
			"that cannot start another version; exclude these treatments to compare versions of the stacks")
	default:
		return "", nil, errors.New("the study measures a service that edgegauge does not start (server.url), so it cannot " +
			"start another version; run the study while the old version runs there (edgegauge run STUDY --out old), again " +
			"while the new one does (--out new), and compare both: edgegauge compare old new; or, if both versions can run " +
			"at once, at two addresses, vary server.url: their trials then alternate in one study")
	}
	for _, s := range p.Study.Fixed {
		if slices.Contains(stackKeys, s.Key) {
			if key != "" {
				return "", nil, fmt.Errorf("the study sets both %s and %s; it is unclear which of the two has another version; "+
					"write stack alone", key, s.Key)
			}
			key, stacks = s.Key, []string{s.Value.Text}
		}
	}
	for _, f := range p.Study.Factors {
		for _, l := range f.Levels {
			for _, s := range l.Sets {
				switch {
				case !slices.Contains(stackKeys, s.Key):
				case f.Name != s.Key || len(l.Sets) > 1:
					return "", nil, fmt.Errorf("factor %q sets %s together with other settings, so no other version can be added to "+
						"it; write factors: {%s: [...]}", f.Name, s.Key, s.Key)
				case key != "" && key != s.Key:
					return "", nil, fmt.Errorf("the study sets both %s and %s; it is unclear which of the two has another version; "+
						"write stack alone", key, s.Key)
				default:
					key, stacks = s.Key, append(stacks, s.Value.Text)
				}
			}
		}
	}
	if key == "" {
		return "", nil, errors.New("the study names no stack")
	}
	return key, stacks, nil
}

// WithBase are the overrides that put another version of each stack beside it, as
// one more level of the factor key: in every block each is then measured in both.
// other is empty for a stack that has none. A level with a name of its own keeps it.
func (p Plan) WithBase(key string, stacks []string, other func(stack string) string) []string {
	names := stacks
	if i := slices.IndexFunc(p.Study.Factors, func(f Factor) bool { return f.Name == key }); i >= 0 {
		names = nil
		for _, l := range p.Study.Factors[i].Levels {
			names = append(names, l.Text)
		}
	}
	var levels []string
	both := map[string][]string{} // by the name of a level, those of both versions
	add := func(level, name, stack string) {
		text := strconv.Quote(stack)
		if name != stack {
			text = fmt.Sprintf("{name: %q, %q: %s}", name, key, text)
		}
		levels, both[level] = append(levels, text), append(both[level], name)
	}
	for i, s := range stacks {
		if b := other(s); b != "" && names[i] == s {
			add(s, b, b)
		} else if b != "" {
			add(names[i], Base(names[i]), b)
		}
		add(names[i], names[i], s)
	}
	sets := []string{fmt.Sprintf("factors.%s=[%s]", key, strings.Join(levels, ", "))}
	if slices.ContainsFunc(p.Study.Factors, func(f Factor) bool { return f.Name == key }) && len(p.Study.Exclude) > 0 {
		sets = append(sets, "exclude=["+strings.Join(p.Study.exclusionsWith(func(factor, level string) []string {
			if factor == key {
				return both[level]
			}
			return []string{level}
		}), ", ")+"]")
	}
	return sets
}
