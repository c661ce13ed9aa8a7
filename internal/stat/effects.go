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
	effect := func(name string, levels []string, value, spread float64) Effect {
		half := critical * sigma * spread
		return Effect{name, levels, value, value - half, value + half}
	}
	evaluate := func(name string, levels []string, from int, code []float64) Effect {
		c := make([]float64, len(beta))
		copy(c[from:], code)
		return effect(name, levels, dot(c, beta), b.spread(c))
	}
	var out []Effect
	from := 0
	if hasBlocks(terms) {
		mean, spread := d.meanOverBlocks(terms[1:], b, beta)
		out = append(out, effect("", nil, d.mean+mean, spread))
		terms = terms[1:]
	} else {
		grand := evaluate("", nil, 0, []float64{1})
		out = append(out, Effect{"", nil, d.mean + grand.Value, d.mean + grand.Lo, d.mean + grand.Hi})
		from = 1
	}
	for _, t := range terms {
		for _, at := range d.combinations(t) {
			var levels []string
			for _, f := range t.factors {
				levels = append(levels, d.levels[f][at[f]])
			}
			code := d.coding(t, func(f int) int { return at[f] })
			out = append(out, evaluate(t.name, levels, from, code))
		}
		from += t.df
	}
	return out
}

// meanOverBlocks is the grand mean of a fit in blocks, each counted once, less d.mean,
// and its standard error in units of the residual standard deviation. A block's mean
// and what its rows differ by are independent.
func (d *design) meanOverBlocks(terms []term, b *basis, beta []float64) (mean, spread float64) {
	blocks := float64(len(d.blocks))
	var code []float64
	variance := 0.0
	for _, t := range terms {
		for _, column := range d.columns(t) {
			code = append(code, meanOf(d.blockMeans(column)))
		}
	}
	for _, size := range d.blockSizes() {
		variance += 1 / (size * blocks * blocks)
	}
	return meanOf(d.blockMeans(d.y)) - dot(code, beta), math.Hypot(math.Sqrt(variance), b.spread(code))
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
