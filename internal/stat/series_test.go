package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// The fit inside the blocks is the fit with a column for each block, also where
// cells have several rows and terms are not orthogonal.
func TestFitInBlocksIsTheFitWithBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		table := Table{Factors: []string{"treatment", "other"}}
		for range 40 + r.IntN(40) {
			levels := []string{fmt.Sprint(r.IntN(4)), fmt.Sprint(r.IntN(3))}
			table.Rows = append(table.Rows, Row{levels, fmt.Sprint(r.IntN(5)), r.NormFloat64()})
		}
		d := newDesign(table)
		terms := d.terms(1)
		whole, added := fitColumns(d, terms)
		inside, also := d.fit(terms)
		if len(inside.q)+len(d.blocks) != len(whole.q) || fmt.Sprint(added) != fmt.Sprint(also) {
			t.Fatalf("%d columns and %d blocks, %v; want %d columns, %v",
				len(inside.q), len(d.blocks), also, len(whole.q), added)
		}
		last := also[len(also)-1]
		got := inside.explained(d.y, len(inside.q)-last, len(inside.q))
		want := whole.explained(d.y, len(whole.q)-last, len(whole.q))
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("the last term explains %v, want %v", got, want)
		}
		a, b := inside.rest(d.y), whole.rest(d.y)
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-9 {
				t.Fatalf("row %d: residual %v, want %v", i, a[i], b[i])
			}
		}
	}
	nested := Table{Factors: []string{"treatment", "other"}} // the blocks span the second factor
	for i := range 24 {
		levels := []string{fmt.Sprint(i % 2), fmt.Sprint(i / 12)}
		nested.Rows = append(nested.Rows, Row{levels, fmt.Sprint(i / 4), r.NormFloat64()})
	}
	d := newDesign(nested)
	if _, added := d.fit(d.terms(1)); fmt.Sprint(added) != "[5 1 0]" {
		t.Errorf("what the blocks span added columns: %v", added)
	}
}

// OrderEffects of a study of 20 treatments in 200 blocks.
func BenchmarkOrderEffects(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	table := Table{Factors: []string{"treatment"}}
	for block := range 200 {
		for _, level := range r.Perm(20) {
			table.Rows = append(table.Rows, Row{[]string{fmt.Sprint(level)}, fmt.Sprint(block), r.NormFloat64()})
		}
	}
	for b.Loop() {
		if _, _, err := OrderEffects(table, false); err != nil {
			b.Fatal(err)
		}
	}
}
