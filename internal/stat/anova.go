package stat

import (
	"fmt"
	"math"
	"slices"
)

// AnovaOptions: the zero value is what a report wants.
type AnovaOptions struct {
	Type       int     // 1, 2 or 3; 0: 1 where the design is balanced (all agree), else 3, with a warning
	Order      int     // highest order of interactions; 0: all
	Confidence float64 // of the effects' intervals; 0: 0.95
	Log        bool    // values are logarithms, which are known to 1e-16 and no better however small they are
}

// An Anova says how much of the variation each factor, interaction and the
// blocks explain. The block is additive: its interactions are the error. For
// the tests of treatments it does not matter whether it is fixed or random.
type Anova struct {
	Type     string   `json:"type"`     // "I", "II" or "III"
	Terms    []Term   `json:"terms"`    // factors, interactions and blocks, in the order of the model
	Residual Residual `json:"residual"` // what no term explains

	Effects []Effect `json:"-"`
	// of random blocks (method of moments, Henderson's third); 0 where the estimate is negative, NaN without blocks
	BlockSD  Number  `json:"-"`
	Checks   []Test  `json:"-"` // of the residuals: normality, equal variance, drift
	Warnings []error `json:"-"`
}

// A Term is one line of the table. EtaSquared is SS over the total sum of
// squares. Variation is Jain's allocation (1991, section 18.5), from sums of
// squares in order, so that with the residual's the shares make 1; both agree
// in a balanced design.
type Term struct {
	Term       string `json:"term"`        // a factor, an interaction of several, or the block
	DF         int    `json:"df"`          // degrees of freedom
	SS         Number `json:"ss"`          // sum of squares, in the square of the unit of the response
	F          Number `json:"f"`           // mean square over that of the residual
	P          Number `json:"p"`           // 0 to 1
	EtaSquared Number `json:"eta_squared"` // 0 to 1
	Variation  Number `json:"variation"`   // 0 to 1
}

// Residual is what no term explains.
type Residual struct {
	DF int    `json:"df"` // degrees of freedom
	SS Number `json:"ss"` // sum of squares
}

// An Effect is how far a level (or a combination) lies from what the terms
// below it say; a term's effects sum to zero over each factor. Term "" is the
// grand mean.
type Effect struct {
	Term          string
	Levels        []string // of the term's factors, in their order
	Value, Lo, Hi float64  // in the response's unit
}

// warnAt is the p below which a check of the residuals becomes a warning:
// stricter than 0.05, since every response of every study is checked.
const warnAt = 0.01

// AnalyzeVariance does the analysis of variance of any number of factors, with
// interactions and additive blocks. Rows of one treatment and block are
// averaged first. What cannot be estimated is left out, with a warning.
func AnalyzeVariance(t Table, o AnovaOptions) (Anova, error) {
	if err := t.check(); err != nil {
		return Anova{}, err
	}
	if o.Confidence == 0 {
		o.Confidence = 0.95
	}
	if !(o.Confidence > 0 && o.Confidence < 1) || o.Type < 0 || o.Type > 3 {
		return Anova{},
			fmt.Errorf("analysis of variance of type %d at confidence %v; write type 1, 2 or 3 and 0.95 for 95 %%",
				o.Type, o.Confidence)
	}
	t = t.replicates()
	d := newDesign(t)
	terms, warnings := d.estimable(o.Order)
	if columns(terms) == 0 {
		return Anova{}, fmt.Errorf("%w: every row has the same treatment; an analysis of variance needs at least two",
			ErrTooFew)
	}
	if n := columns(unswept(terms)); n > mostColumn {
		return Anova{},
			fmt.Errorf("the factors have %d levels beyond the first of each; an analysis of variance takes at most %d "+
				"; group some", n, mostColumn)
	}
	a := Anova{Warnings: warnings, BlockSD: Number(math.NaN())}
	kind := o.Type
	if kind == 0 {
		kind = 1
		if why := d.unbalanced(terms); why != "" {
			kind = 3
			a.Warnings = append(a.Warnings, fmt.Errorf("%s: sums of squares are of type III", why))
		}
	}
	a.Type = [4]string{"", "I", "II", "III"}[kind]
	fit, added := d.fit(terms)
	a.table(d, terms, kind, t, o.Log, fit, added)
	a.Effects = d.effects(terms, fit, a.Residual, o.Confidence)
	a.check(d.residuals(fit, t), t, sizeOf(o.Log, t.ys()))
	return a, nil
}

func (a *Anova) table(d *design, terms []term, kind int, t Table, log bool, all *basis, added []int) {
	rest := all.rest(d.y)
	within := d.within + dot(rest, rest)
	total := dot(d.y, d.y) + d.within
	a.Residual = Residual{int(d.n) - 1 - sumOf(added), Number(within)}
	size := sizeOf(log, t.ys())
	rounding := func(squares float64) bool { return isRounding(squares, d.n, size) }
	if rounding(within) {
		a.Residual.SS = 0
	}
	switch {
	case a.Residual.DF == 0:
		a.Residual.SS = 0
		a.Warnings = append(a.Warnings, fmt.Errorf("%w: no trials are left to estimate the error from; run more replications",
			ErrTooFew))
	case a.Residual.SS == 0:
		a.Warnings = append(a.Warnings,
			fmt.Errorf("%w: replicates do not differ; effects are known to the measurement's resolution, and are not tested",
				ErrNoSpread))
	}
	mse := float64(a.Residual.SS) / float64(a.Residual.DF) // NaN for 0/0
	from := 1                                              // after the grand mean
	if hasBlocks(terms) {
		from = 0
	}
	for i, tm := range terms {
		var sequential float64
		if tm.name == blockTerm {
			sequential = d.blockSS()
		} else {
			sequential = all.explained(d.y, from, from+added[i])
			from += added[i]
		}
		ss := sequential
		if kind > 1 {
			ss = d.lastSS(terms, i, kind)
		}
		for _, sum := range []*float64{&ss, &sequential} {
			if rounding(*sum) {
				*sum = 0
			}
		}
		line := Term{Term: tm.name, DF: tm.df, SS: Number(ss), F: Number(math.NaN()), P: Number(math.NaN()),
			EtaSquared: Number(ss / total), Variation: Number(sequential / total)}
		if rounding(total) {
			line.SS, line.EtaSquared, line.Variation = 0, Number(math.NaN()), Number(math.NaN())
		}
		if mse > 0 {
			f := ss / float64(tm.df) / mse
			line.F, line.P = Number(f), Number(fUpper(f, float64(tm.df), float64(a.Residual.DF)))
		}
		a.Terms = append(a.Terms, line)
		if tm.name == blockTerm && mse > 0 {
			a.BlockSD = Number(d.blockSD(terms, i, mse))
		}
	}
}

// others are the terms that term i is judged after.
func others(terms []term, i, kind int) []term {
	var out []term
	for j, t := range terms {
		contains := !slices.ContainsFunc(terms[i].factors, func(f int) bool { return !slices.Contains(t.factors, f) })
		if j != i && (kind == 3 || !contains) {
			out = append(out, t)
		}
	}
	return out
}

// blockSD solves for the variance of blocks: SS(block | rest) is expected to
// be (blocks-1)·σ² plus the variance times the trace of what of the block
// indicators the other terms do not explain.
func (d *design) blockSD(terms []term, block int, mse float64) float64 {
	rest, _ := d.fit(others(terms, block, 3))
	trace := d.n
	for _, q := range rest.q {
		sums := make([]float64, len(d.blocks))
		for i, c := range d.cells {
			sums[c.block] += q[i] * math.Sqrt(c.n)
		}
		trace -= dot(sums, sums)
	}
	v := (d.lastSS(terms, block, 3) - float64(terms[block].df)*mse) / trace
	return math.Sqrt(max(0, v))
}

func sumOf(xs []int) (n int) {
	for _, x := range xs {
		n += x
	}
	return n
}
