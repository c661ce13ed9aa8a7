package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// fitColumns is fit with a column for the grand mean and for each block.
func fitColumns(d *design, terms []term) (*basis, []int) {
	b := &basis{}
	one := make([]float64, len(d.cells))
	for i, c := range d.cells {
		one[i] = math.Sqrt(c.n)
	}
	b.add(one)
	return b, d.enter(b, terms)
}

// anovaByColumns is AnalyzeVariance, of the terms that it kept, with a column for each
// block: sums of squares, the deviation of blocks, and the value and standard error of
// each effect, the grand mean first.
func anovaByColumns(d *design, terms []term, kind int) (sequential, last []float64, residual, blockSD float64,
	effects [][2]float64) {
	all, added := fitColumns(d, terms)
	rest := all.rest(d.y)
	residual = dot(rest, rest)
	mse := residual / (d.n - float64(len(all.q)))
	alone := func(order []term) float64 {
		b, added := fitColumns(d, order)
		return b.explained(d.y, len(b.q)-added[len(added)-1], len(b.q))
	}
	from := 1
	for i, tm := range terms {
		sequential = append(sequential, all.explained(d.y, from, from+added[i]))
		from += added[i]
		last = append(last, alone(append(others(terms, i, kind), tm)))
	}
	blockSD = math.NaN()
	if hasBlocks(terms) {
		without, _ := fitColumns(d, terms[1:])
		var trace float64
		for b := range d.blocks {
			z := make([]float64, len(d.cells))
			for i, c := range d.cells {
				if c.block == b {
					z[i] = math.Sqrt(c.n)
				}
			}
			r := without.rest(z)
			trace += dot(r, r)
		}
		v := (alone(append(others(terms, 0, 3), terms[0])) - float64(terms[0].df)*mse) / trace
		blockSD = math.Sqrt(max(0, v))
	}
	beta := all.coefficients(d.y)
	add := func(from int, code []float64, offset float64) {
		c := make([]float64, len(beta))
		copy(c[from:], code)
		effects = append(effects, [2]float64{offset + dot(c, beta), math.Sqrt(mse) * all.spread(c)})
	}
	add(0, []float64{1}, d.mean)
	from = 1
	for i, tm := range terms {
		if tm.name != blockTerm {
			for _, at := range d.combinations(tm) {
				add(from, d.coding(tm, func(f int) int { return at[f] }), 0)
			}
		}
		from += added[i]
	}
	return sequential, last, residual, blockSD, effects
}

// Blocks that are swept out give what a column for each gives, on balanced designs, with
// missing trials and with factors that only some blocks have.
func TestAnovaSweepsBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	blocked := 0
	for round := range 200 {
		table := Table{}
		sizes := []int{}
		for f := range 1 + r.IntN(3) {
			table.Factors = append(table.Factors, string(rune('a'+f)))
			sizes = append(sizes, 2+r.IntN(3))
		}
		missing := []float64{0, 0.1, 0.4}[round%3]
		blocks := 1 + r.IntN(9)
		for b := range blocks {
			shift := r.NormFloat64()
			for at := range sizes[0] * max(1, append(sizes, 1)[1]) * max(1, append(sizes, 1, 1)[2]) {
				var levels []string
				y, rest := 100+shift, at
				for _, size := range sizes {
					levels = append(levels, fmt.Sprint(rest%size))
					y += 0.5 * float64(rest%size)
					rest /= size
				}
				if r.Float64() >= missing {
					table.Rows = append(table.Rows, Row{levels, fmt.Sprint(b), y + 0.3*r.NormFloat64()})
				}
			}
		}
		kind := []int{0, 1, 2, 3}[r.IntN(4)]
		a, err := AnalyzeVariance(table, AnovaOptions{Type: kind})
		if len(table.Rows) == 0 || errors.Is(err, ErrTooFew) || err == nil && a.Residual.DF == 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		d := newDesign(table.replicates())
		terms := slices.DeleteFunc(d.terms(0), func(tm term) bool {
			return !slices.ContainsFunc(a.Terms, func(l Term) bool { return l.Term == tm.name })
		})
		if hasBlocks(terms) {
			blocked++
		}
		kind = map[string]int{"I": 1, "II": 2, "III": 3}[a.Type]
		sequential, last, residual, blockSD, effects := anovaByColumns(d, terms, kind)
		total := dot(d.y, d.y)
		near := func(what string, got, want, scale float64) {
			if !(math.Abs(got-want) <= 1e-9*scale) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("round %d, type %s, %s: got %v, by columns %v", round, a.Type, what, got, want)
			}
		}
		near("residual", float64(a.Residual.SS), residual, total)
		near("deviation of blocks", float64(a.BlockSD), blockSD, math.Sqrt(total))
		for i, l := range a.Terms {
			want := last[i]
			if kind == 1 {
				want = sequential[i]
			}
			near(l.Term, float64(l.SS), want, total)
			near("variation of "+l.Term, float64(l.Variation), sequential[i]/total, 1)
		}
		if len(a.Effects) != len(effects) {
			t.Fatalf("round %d: %d effects, by columns %d", round, len(a.Effects), len(effects))
		}
		critical := tCritical(0.95, float64(a.Residual.DF))
		for i, e := range a.Effects {
			what := fmt.Sprintf("effect %q %q", e.Term, e.Levels)
			near(what, e.Value, effects[i][0], 100)
			near("half of "+what, (e.Hi-e.Lo)/2, critical*effects[i][1], 1+critical*effects[i][1])
		}
	}
	if blocked < 100 {
		t.Errorf("only %d of 200 designs have blocks", blocked)
	}
}
