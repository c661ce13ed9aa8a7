package stat

import (
	"math"
	"slices"
	"strings"
)

const (
	blockTerm  = "block"
	blockIndex = -1 // stands for the block among factor indices
)

// A design is a table collapsed to its cells (equal levels and block), which
// is all that a fit needs.
type design struct {
	names  []string
	levels [][]string // of each factor
	blocks []string
	cells  []cell
	rowOf  []int // row to cell
	n      float64
	mean   float64
	within float64 // sum of squares inside the cells
	y      []float64
}

type cell struct {
	level []int // of each factor
	block int
	n     float64
	mean  float64 // less the grand mean
}

// A term is a set of factors: one is a main effect, more are an interaction.
type term struct {
	name    string
	factors []int
	df      int
}

func newDesign(t Table) *design {
	d := &design{names: t.Factors, n: float64(len(t.Rows))}
	var rank []map[string]int
	for f := range t.Factors {
		d.levels = append(d.levels, t.levels(f))
		rank = append(rank, positions(d.levels[f]))
	}
	d.blocks = t.blocks()
	blockRank := positions(d.blocks)
	for _, r := range t.Rows {
		d.mean += r.Y / d.n
	}
	at := map[string]int{}
	for _, r := range t.Rows {
		key := pack(append(slices.Clone(r.Levels), r.Block))
		i, ok := at[key]
		if !ok {
			i = len(d.cells)
			at[key] = i
			c := cell{block: blockRank[r.Block]}
			for f, l := range r.Levels {
				c.level = append(c.level, rank[f][l])
			}
			d.cells = append(d.cells, c)
		}
		c := &d.cells[i]
		// Welford 1962: no difference of large sums of squares.
		c.n++
		delta := r.Y - d.mean - c.mean
		c.mean += delta / c.n
		d.within += delta * (r.Y - d.mean - c.mean)
		d.rowOf = append(d.rowOf, i)
	}
	d.y = make([]float64, len(d.cells))
	for i, c := range d.cells {
		d.y[i] = math.Sqrt(c.n) * c.mean
	}
	return d
}

// terms lists the block, the main effects and the interactions up to an order,
// as they enter the model.
func (d *design) terms(order int) []term {
	var out []term
	if len(d.blocks) > 1 {
		out = append(out, term{blockTerm, []int{blockIndex}, len(d.blocks) - 1})
	}
	k := len(d.names)
	if order <= 0 || order > k {
		order = k
	}
	for size := 1; size <= order; size++ {
		for _, set := range subsets(k, size) {
			t := term{df: 1}
			var words []string
			for _, f := range set {
				words = append(words, d.names[f])
				t.df *= len(d.levels[f]) - 1
			}
			t.name, t.factors = strings.Join(words, ":"), set
			if t.df > 0 {
				out = append(out, t)
			}
		}
	}
	return out
}

// subsets lists the subsets of 0..k-1 of one size, in order.
func subsets(k, size int) [][]int {
	if size == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for last := size - 1; last < k; last++ {
		for _, s := range subsets(last, size-1) {
			out = append(out, append(slices.Clone(s), last))
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// contrast is the coding of a level in one column: sum to zero.
func contrast(level, column, levels int) float64 {
	switch level {
	case column:
		return 1
	case levels - 1:
		return -1
	}
	return 0
}

// coding writes a term's columns for one combination of levels; at gives the
// level of a factor (or of the block).
func (d *design) coding(t term, at func(factor int) int) []float64 {
	out := []float64{1}
	for _, f := range t.factors {
		levels := len(d.blocks)
		if f != blockIndex {
			levels = len(d.levels[f])
		}
		var next []float64
		for _, x := range out {
			for c := range levels - 1 {
				next = append(next, x*contrast(at(f), c, levels))
			}
		}
		out = next
	}
	return out
}

func (c cell) at(factor int) int {
	if factor == blockIndex {
		return c.block
	}
	return c.level[factor]
}

// columns are a term's columns over the cells, weighted by the root of their
// sizes, so that least squares over cells is least squares over rows.
func (d *design) columns(t term) [][]float64 {
	out := make([][]float64, t.df)
	for j := range out {
		out[j] = make([]float64, len(d.cells))
	}
	for i, c := range d.cells {
		for j, x := range d.coding(t, c.at) {
			out[j][i] = x * math.Sqrt(c.n)
		}
	}
	return out
}

// fit enters the terms in order after the grand mean. It returns the basis and
// the number of columns each term added. Where blocks are among the terms, they
// come first, and neither they nor the grand mean are columns of the basis: a column
// less its mean in each block is what they do not span (Frisch and Waugh 1933). With
// hundreds of blocks that is many times quicker, and the fit is the same.
func (d *design) fit(terms []term) (*basis, []int) {
	if hasBlocks(terms) {
		b := &basis{sweep: d.sweepBlocks}
		return b, append([]int{terms[0].df}, d.enter(b, terms[1:])...)
	}
	b := &basis{}
	one := make([]float64, len(d.cells))
	for i, c := range d.cells {
		one[i] = math.Sqrt(c.n)
	}
	b.add(one)
	return b, d.enter(b, terms)
}

func hasBlocks(terms []term) bool { return len(terms) > 0 && terms[0].name == blockTerm }

// enter adds the terms' columns to b and returns how many each added.
func (d *design) enter(b *basis, terms []term) []int {
	added := make([]int, len(terms))
	for i, t := range terms {
		for _, column := range d.columns(t) {
			if b.add(column) {
				added[i]++
			}
		}
	}
	return added
}

// sweepBlocks makes the sum of a weighted column 0 in each block.
func (d *design) sweepBlocks(v []float64) {
	means := d.blockMeans(v)
	for i, c := range d.cells {
		v[i] -= means[c.block] * math.Sqrt(c.n)
	}
}

// blockMeans are the means over each block's rows of a weighted column.
func (d *design) blockMeans(v []float64) []float64 {
	means, sizes := make([]float64, len(d.blocks)), d.blockSizes()
	for i, c := range d.cells {
		means[c.block] += v[i] * math.Sqrt(c.n) / sizes[c.block]
	}
	return means
}

// blockSizes are the rows of each block.
func (d *design) blockSizes() []float64 {
	sizes := make([]float64, len(d.blocks))
	for _, c := range d.cells {
		sizes[c.block] += c.n
	}
	return sizes
}

// blockSS is the sum of squares that blocks explain after the grand mean.
func (d *design) blockSS() float64 {
	var ss, grand float64
	means, sizes := d.blockMeans(d.y), d.blockSizes()
	for b, m := range means {
		grand += m * sizes[b] / d.n
	}
	for b, m := range means {
		ss += sizes[b] * (m - grand) * (m - grand)
	}
	return ss
}

// lastSS is the sum of squares that term i explains after those that it is judged after.
func (d *design) lastSS(terms []term, i, kind int) float64 {
	rest := others(terms, i, kind)
	if i == 0 && hasBlocks(terms) {
		without, _ := d.fit(rest)
		with, _ := d.fit(append([]term{terms[0]}, rest...))
		part, after := without.rest(d.y), with.rest(d.y)
		for k := range part {
			part[k] -= after[k]
		}
		return dot(part, part)
	}
	b, added := d.fit(append(rest, terms[i]))
	return b.explained(d.y, len(b.q)-added[len(added)-1], len(b.q))
}

func (b *basis) explained(y []float64, from, to int) float64 {
	var ss float64
	for _, q := range b.q[from:to] {
		part := dot(q, y)
		ss += part * part
	}
	return ss
}
