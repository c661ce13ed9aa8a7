package stat

import (
	"fmt"
)

// Thirds returns the means of the first and the last third of a series in
// time order. Collected from every trial, RatioPaired(lasts, firsts) tests,
// trial by trial, whether the measured part was stationary: the strictest test
// there is, since trials do not depend on each other.
func Thirds[T Value](xs []T) (first, last float64, err error) {
	n := len(xs) / 3
	if n == 0 {
		return 0, 0, fmt.Errorf("%w: %d values cannot be split into thirds; measure at least 3", ErrTooFew, len(xs))
	}
	first, _, _ = center(xs[:n])
	last, _, _ = center(xs[len(xs)-n:])
	if !isFinite(first) || !isFinite(last) {
		return 0, 0, whichNotFinite(xs)
	}
	return first, last, nil
}

// OrderEffects tests, from a table with blocks whose rows stand in the order
// they were run, whether a trial's place in its block matters, and whether the
// treatment run before it does (the first of a block has none). Both are F
// tests after treatments and blocks. log: the values are logarithms.
func OrderEffects(t Table, log bool) (place, before Test, err error) {
	if err := t.check(); err != nil {
		return Test{}, Test{}, err
	}
	if !t.Blocked() {
		return Test{}, Test{}, fmt.Errorf("%w: without blocks a trial has no place in its block; name the block of every row",
			ErrNoData)
	}
	placed, followed := t.relabel()
	if place, err = lastF(placed, log, "place in the block"); err != nil {
		return Test{}, Test{}, err
	}
	before, err = lastF(followed, log, "treatment run before")
	return place, before, err
}

// relabel makes two tables with the factors treatment and what may matter.
func (t Table) relabel() (placed, followed Table) {
	count, previous := map[string]int{}, map[string]string{}
	for _, r := range t.Rows {
		name := pack(r.Levels)
		add := func(to *Table, level string) {
			to.Rows = append(to.Rows, Row{[]string{name, level}, r.Block, r.Y})
		}
		add(&placed, fmt.Sprint(count[r.Block]))
		add(&followed, previous[r.Block])
		count[r.Block]++
		previous[r.Block] = name
	}
	placed.Factors, followed.Factors = []string{"treatment", "other"}, []string{"treatment", "other"}
	return placed, followed
}

// lastF tests the second factor after the first and the blocks.
func lastF(t Table, log bool, name string) (Test, error) {
	d := newDesign(t)
	terms := d.terms(1)
	if len(terms) == 0 || terms[len(terms)-1].name != "other" {
		return Test{}, fmt.Errorf("%s: %w: it is the same for all rows", name, ErrTooFew)
	}
	b, added := d.fit(terms)
	d1, d2 := float64(added[len(added)-1]), d.n-float64(1+sumOf(added))
	rest := b.rest(d.y)
	within := d.within + dot(rest, rest)
	if d1 == 0 || d2 <= 0 {
		return Test{}, fmt.Errorf("%s: %w: too few blocks to separate it from the treatments; run more replications",
			name, ErrTooFew)
	}
	if isRounding(within, d.n, sizeOf(log, t.ys())) {
		return Test{}, fmt.Errorf("%s: %w: treatments and blocks explain all values", name, ErrNoSpread)
	}
	f := b.explained(d.y, len(b.q)-int(d1), len(b.q)) / d1 / (within / d2)
	return Test{Name: name, Statistic: f, P: fUpper(f, d1, d2), Method: "F after treatments and blocks"}, nil
}
