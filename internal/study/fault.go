package study

import (
	"fmt"
	"slices"
	"strings"
)

// blame makes the fault of a treatment: it stands at the last of keys that the
// study gives, a level before a fixed value, and says how to exclude the treatment
// if others would remain. Top is where no key is given.
func blame(top Pos, factors []Factor, sets map[string]placed, what, advice string, keys []string) Error {
	pos, varied := top, false
	var clauses []string
	for _, k := range keys {
		p, ok := sets[k]
		if !ok {
			continue
		}
		if p.factor >= 0 || !varied {
			pos = p.Value.Pos
		}
		if p.factor < 0 {
			continue
		}
		varied = true
		clause := factors[p.factor].Name + ": " + p.level
		if !slices.Contains(clauses, clause) {
			clauses = append(clauses, clause)
		}
	}
	if varied {
		if advice != "" {
			advice += ", or "
		}
		advice += "exclude: [{" + strings.Join(clauses, ", ") + "}]"
	}
	return Error{Pos: pos, What: what, Advice: advice}
}

// Fault is what cannot be done of a trial, in the words of its study: what, what to
// write instead, and the settings that it follows from, the most telling last.
func (p Plan) Fault(t Trial, what, advice string, keys ...string) Error {
	return blame(Pos{File: p.Study.File}, p.Study.Factors, p.given(t), what, advice, keys)
}

// Given is the value that the study gives a setting of a trial, fixed or by a level; empty: it says none.
func (p Plan) Given(t Trial, key string) string { return p.given(t)[key].Value.Text }

// Place is where the study gives a setting of a trial; false: nowhere.
func (p Plan) Place(t Trial, key string) (Pos, bool) {
	at, ok := p.given(t)[key]
	return at.Value.Pos, ok
}

// given are the settings that the study gives a trial.
func (p Plan) given(t Trial) map[string]placed {
	sets := map[string]placed{}
	for _, s := range p.Study.Fixed {
		sets[s.Key] = placed{s, -1, ""}
	}
	for i, level := range p.Study.treatments[t.Cell].levels {
		l := p.Study.Factors[i].Levels[level]
		for _, s := range l.Sets {
			sets[s.Key] = placed{s, i, l.Text}
		}
	}
	return sets
}

// Collect puts errors in the order of their positions, each once; nil where there is none.
func Collect(list []Error) Errors {
	var f faults
	for _, x := range list {
		f.add(x)
	}
	f.list.sort()
	return f.list
}

// text is the error on one line; an advice may be missing.
func (e *Error) text() string {
	if e.Advice == "" {
		return fmt.Sprintf("%s: %s", e.Pos, e.What)
	}
	return fmt.Sprintf("%s: %s; %s", e.Pos, e.What, e.Advice)
}
