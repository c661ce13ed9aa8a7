package study

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// MaxTrials is the largest plan, and what a ledger holds: at a second a trial, two days.
const MaxTrials = 200_000

// MostText is the size in bytes of a study file.
const MostText = 16 << 20

// maxTreatments is the most that a study may want.
const maxTreatments = 100_000

// A treatment is one level of every factor, with all that follows from it.
type treatment struct {
	words     []Word
	levels    []int // of each factor, the word's
	setup     *Setup
	placement string // as the study gives it
}

// expand lists the wanted treatments and checks each.
func (b *builder) expand(root *node) {
	cells := 1
	for _, f := range b.study.Factors {
		if cells *= max(1, len(f.Levels)); cells > MaxTrials {
			b.fail(f.Pos, fmt.Sprintf("the factors make more than %d treatments", MaxTrials), "use fewer factors or levels")
			return
		}
	}
	wanted := 0
	for cell := range b.cells() {
		if wanted++; wanted > maxTreatments {
			b.fail(root.get("factors").pos, fmt.Sprintf("the study has more than %d treatments", maxTreatments),
				"use fewer factors or levels, or exclude more")
			return
		}
		if !b.broken && len(b.errs.list) < MostShown {
			b.study.treatments = append(b.study.treatments, b.treatment(root.pos, cell))
		}
	}
	if b.broken {
		return
	}
	if wanted == 0 {
		b.fail(root.get("exclude").pos, "every treatment is excluded", "remove an exclusion")
	}
	if len(b.study.treatments) == wanted {
		b.sizeless()
	}
	d := b.study.Design
	if trials := int64(wanted) * int64(d.Replications+d.Budget.Blocks); trials > MaxTrials {
		pos := root.pos
		if n := root.get("design"); n != nil {
			pos = n.pos
		}
		b.fail(pos, fmt.Sprintf("%d treatments in %d blocks are %d trials, more than %d", wanted,
			d.Replications+d.Budget.Blocks, trials, MaxTrials),
			"lower replications or budget, or exclude treatments")
	}
}

// cells yields the wanted treatments as an index of a level for each factor,
// the last factor varying fastest. The slice is reused.
func (b *builder) cells() iter.Seq[[]int] {
	factors := b.study.Factors
	return func(yield func([]int) bool) {
		cell := make([]int, len(factors))
		for {
			excluded := slices.ContainsFunc(b.study.Exclude, func(x Exclusion) bool { return x.matches(cell) })
			if !excluded && !yield(cell) {
				return
			}
			i := len(cell) - 1
			for ; i >= 0; i-- {
				if cell[i]++; cell[i] < len(factors[i].Levels) {
					break
				}
				cell[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}

func (b *builder) treatment(top Pos, cell []int) treatment {
	t := candidate{builder: b, top: top, sets: map[string]placed{}}
	setup := defaultSetup()
	t.setup = &setup
	for _, s := range b.study.Fixed {
		t.set(s, -1, "")
	}
	words, bad := make([]Word, len(cell)), false
	for i, l := range cell {
		level := b.study.Factors[i].Levels[l]
		words[i], bad = level.Word, bad || level.bad
		for _, s := range level.Sets {
			t.set(s, i, level.Text)
		}
	}
	if !bad {
		t.check()
	}
	return treatment{words, slices.Clone(cell), &setup, t.sets["placement"].Value.Text}
}

// twins reports treatments that differ in no setting: one level says what is the default, and another nothing; or one
// says in other words what another says. They are one, measured twice. Results that have them are still read.
func (b *builder) twins() {
	if b.vocabulary.Stacks == nil || len(b.errs.list) > 0 {
		return
	}
	all, first, twins := b.study.treatments, map[string]int{}, map[int]int{}
	alike := map[outline]int{}
	for _, t := range all {
		alike[t.setup.outline()]++
	}
	for i, t := range all {
		if alike[t.setup.outline()] == 1 { // as a rule, and a key takes longer
			continue
		}
		key := t.setup.key() + " " + t.placement // one that is given in vain the testbed knows
		if one, seen := first[key]; seen {
			twins[i] = one
		} else {
			first[key] = i
		}
	}
	for i, t := range all {
		if one, twin := twins[i]; twin && len(b.errs.list) < MostShown {
			b.twin(all[one], t, twins)
		}
	}
}

// twin reports a treatment that is the same as another. The levels in which they differ say which to exclude if all
// that have these are such.
func (b *builder) twin(other, t treatment, twins map[int]int) {
	var pos Pos
	var one, two, whole, clauses []string
	differ := map[int]bool{} // factors
	for i, w := range t.words {
		clause := b.study.Factors[i].Name + ": " + w.Text
		whole = append(whole, clause)
		if w.Text != other.words[i].Text {
			differ[i] = true
			pos, one, two = w.Pos, append(one, other.words[i].Text), append(two, w.Text)
			clauses = append(clauses, clause)
		}
	}
	for i, x := range b.study.treatments {
		_, twin := twins[i]
		has := true
		for f := range differ {
			has = has && x.words[f].Text == t.words[f].Text
		}
		if has && !twin {
			clauses = whole
			break
		}
	}
	b.fail(pos, fmt.Sprintf("%s and %s are the same treatment: no setting of theirs differs", strings.Join(one, " "),
		strings.Join(two, " ")), "remove one, or exclude: [{"+strings.Join(clauses, ", ")+"}]")
}
