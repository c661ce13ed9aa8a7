package report

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// A BenchPanel is one response of one side, over the benches.
type BenchPanel struct {
	Panel
	Log       bool // judged on logarithms: contrasts are ratios, variances relative
	Model     stat.BenchModel
	Contrasts []BenchContrast
	OfAll     bool     // medians among all requests are compared, of which some failed
	Fails     []string // of which treatments more requests failed than of those that they are set against

	many   bool         // more than two benches
	blocks int          // that are whole
	among  int          // responses that are judged at once; 0: this one alone
	holm   float64      // p of the model among them
	orders []benchOrder // of two treatments each, where benches may differ at all
	pairs  int          // of treatments
	turns  float64      // least p of an order that turns, of all pairs, among the responses
	name   func(treatment int) string
}

// A BenchContrast sets a treatment against the best of its group, twice; Like has NaN where that is not known. The best
// is picked from the data, so intervals hold for all pairs of the group at once (Bonferroni).
type BenchContrast struct {
	Treatment, Best int
	These, Like     stat.Comparison
}

// benchPanel judges one response; not where nothing varies, as sizes.
func (r *Report) benchPanel(p Panel) (BenchPanel, bool) {
	cells, lost, ok := r.comparedOnBenches(p)
	if !ok {
		return BenchPanel{}, false
	}
	x := BenchPanel{Panel: p, Log: true, OfAll: lost.known(), many: len(r.Benches.Names) > 2,
		name: func(i int) string { return r.Treatments[i].Name() }}
	t := benchTable{cells: cells, lost: lost}
	for _, c := range cells {
		row := c.on.values(c, func(p Point) float64 { return lost.value(c, p) })
		t.rows = append(t.rows, row)
		x.Log = x.Log && slices.Min(row) > 0
	}
	t.log = x.Log
	scaled := t.scaled()
	var err error
	if h := cells[0].on.holes; h == nil {
		x.Model = cells[0].on.Model(scaled, r.Study.Design.Confidence)
	} else if t.holed, t.place, err = h.table(x.Log, lost.value); err != nil {
		return x, false
	} else {
		x.Model = t.holed.Model(r.Study.Design.Confidence)
	}
	size := 1.0 // of logarithms
	if !x.Log {
		size = 0
		for _, row := range scaled {
			size = max(size, -slices.Min(row), slices.Max(row))
		}
	}
	if !(float64(x.Model.Error) > 1e-24*size*size) { // nothing varies but rounding
		return x, false
	}
	x.blocks = blocksOf(cells)
	if float64(x.Model.P) < 1-r.Study.Design.Confidence {
		x.orders = ordersOf(cells, func(c *Cell, p Point) float64 { return t.scale(lost.value(c, p)) })
	}
	x.pairs = len(cells) * (len(cells) - 1) / 2
	for _, g := range r.groups() {
		r.contrastOnBenches(&x, t, g.treatments)
	}
	return x, true
}

// comparedOnBenches are the cells of a response of which benches are compared, and the requests that failed in them. A
// warning says why there are none, unless there is nothing to compare.
func (r *Report) comparedOnBenches(p Panel) ([]*Cell, *losses, bool) {
	var cells []*Cell
	for i := range r.Treatments {
		if c, ok := r.Cell(i, p.Side, p.Response); ok && c.units != nil {
			cells = append(cells, c)
		}
	}
	if len(cells) < 2 {
		return nil, nil, false
	}
	lost, ranked, err := r.lossesOf(cells)
	why := ""
	switch {
	case slices.ContainsFunc(cells, func(c *Cell) bool { return c.modelled() != cells[0].modelled() }):
		why = "some treatments are measured and others modelled"
	case err != nil:
		why = err.Error()
	case lost.unseen():
		why = "requests failed, and the exchanges that tell of all are not read here"
	case len(ranked) < 2:
		why = "so many requests failed that the median among all of a trial is one of them"
	}
	if why != "" {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s at the %s: %s, so benches are not compared by it",
			words(p.Response), p.Side, why))
	}
	return ranked, lost, why == ""
}

// A benchTable has the values of a panel: of each cell, those of its trials in the order of blocks.
type benchTable struct {
	cells []*Cell
	lost  *losses
	rows  [][]float64
	log   bool // judged on logarithms
	// Where benches lack treatments, these are compared by a model of all; place is that of a cell in it.
	holed *stat.Incomplete
	place []int
}

// scale puts a value on the scale on which it is judged.
func (t benchTable) scale(v float64) float64 {
	if t.log {
		return math.Log(v)
	}
	return v
}

// scaled are the rows on the scale on which they are judged.
func (t benchTable) scaled() [][]float64 {
	out := make([][]float64, len(t.rows))
	for i, row := range t.rows {
		for _, v := range row {
			out[i] = append(out[i], t.scale(v))
		}
	}
	return out
}

// contrast sets cell i against cell best.
func (t benchTable) contrast(kind stat.BenchKind, i, best int, confidence float64) (stat.Comparison, error) {
	on := t.cells[i].on
	switch {
	case t.holed != nil:
		in := func(i int) int { return t.place[slices.Index(t.cells[0].on.holes.cells, t.cells[i])] }
		return t.holed.Contrast(kind, in(i), in(best), confidence, t.log)
	case t.log:
		return on.Ratio(kind, t.rows[i], t.rows[best], confidence)
	}
	return on.Difference(kind, t.rows[i], t.rows[best], confidence)
}

// contrastOnBenches sets the treatments of a group against the best of them.
func (r *Report) contrastOnBenches(x *BenchPanel, t benchTable, group []int) {
	best, n := -1, 0
	for i, c := range t.cells {
		if !slices.Contains(group, c.Treatment) {
			continue
		}
		if n++; best < 0 || (t.lost.center(c) < t.lost.center(t.cells[best])) != moreIsBetter(x.Response) {
			best = i
		}
	}
	confidence := 1 - (1-r.Study.Design.Confidence)/float64(max(1, n*(n-1)/2))
	for i, c := range t.cells {
		if i == best || !slices.Contains(group, c.Treatment) {
			continue
		}
		k := BenchContrast{Treatment: c.Treatment, Best: t.cells[best].Treatment}
		var err error
		if k.These, err = t.contrast(stat.FixedBenches, i, best, confidence); err != nil {
			continue
		}
		if k.Like, err = t.contrast(stat.RandomBenches, i, best, confidence); err != nil {
			nan := math.NaN() // of benches like these, these say too little
			k.Like = stat.Comparison{Estimate: nan, Lo: nan, Hi: nan, P: nan}
		}
		x.Contrasts = append(x.Contrasts, k)
		x.Fails = appendSaid(x.Fails, t.lost.ofBest(t.cells[best], c, x.name(k.Best), x.name(k.Treatment)))
	}
}
