package stat

import "math"

// effects evaluates the fit at every combination of levels of every term but
// the block.
func (d *design) effects(terms []term, b *basis, residual Residual, confidence float64) []Effect {
	beta := b.coefficients(d.y)
	sigma, critical := math.NaN(), math.NaN()
	if residual.DF > 0 {
		sigma = math.Sqrt(float64(residual.SS) / float64(residual.DF))
		critical = tCritical(confidence, float64(residual.DF))
	}
	evaluate := func(name string, levels []string, from int, code []float64, offset float64) Effect {
		c := make([]float64, len(beta))
		copy(c[from:], code)
		value := offset + dot(c, beta)
		half := critical * sigma * b.spread(c)
		return Effect{name, levels, value, value - half, value + half}
	}
	out := []Effect{evaluate("", nil, 0, []float64{1}, d.mean)}
	from := 1
	for _, t := range terms {
		if t.name != blockTerm {
			for _, at := range d.combinations(t) {
				var levels []string
				for _, f := range t.factors {
					levels = append(levels, d.levels[f][at[f]])
				}
				code := d.coding(t, func(f int) int { return at[f] })
				out = append(out, evaluate(t.name, levels, from, code, 0))
			}
		}
		from += t.df
	}
	return out
}

// combinations lists the levels, by factor, of every combination in a term.
func (d *design) combinations(t term) []map[int]int {
	out := []map[int]int{{}}
	for _, f := range t.factors {
		var next []map[int]int
		for _, have := range out {
			for l := range d.levels[f] {
				with := map[int]int{f: l}
				for k, v := range have {
					with[k] = v
				}
				next = append(next, with)
			}
		}
		out = next
	}
	return out
}

// residuals are the rows' distances from the fit, in row order.
func (d *design) residuals(b *basis, t Table) []float64 {
	rest := b.rest(d.y)
	out := make([]float64, len(t.Rows))
	for i, r := range t.Rows {
		c := d.rowOf[i]
		out[i] = r.Y - d.mean - d.cells[c].mean + rest[c]/math.Sqrt(d.cells[c].n)
	}
	return out
}
