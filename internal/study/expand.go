package study

import (
	"fmt"
	"iter"
	"slices"
)

// MaxTrials is the largest plan, and what a ledger holds: at a second a trial, two days.
const MaxTrials = 200_000

// MostText is the size in bytes of a study file.
const MostText = 16 << 20

// manyErrors is where the check of more treatments would not help anybody.
const manyErrors = 200

// maxTreatments is the most that a study may want.
const maxTreatments = 100_000

// A treatment is one level of every factor, with all that follows from it.
type treatment struct {
	words []Word
	setup *Setup
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
		if !b.broken && len(b.errs.list) < manyErrors {
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
	return treatment{words, &setup}
}
