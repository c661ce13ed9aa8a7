package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A BenchLack is a treatment that some benches cannot run (design.benches: incomplete).
type BenchLack struct {
	Treatment  int
	Benches    []string // that run it; none: it is not measured
	Blocks, Of int
	// Efficiency is how sure comparisons of rtt, or of the first response, with it are, as a
	// share of the blocks; NaN: there are none.
	Efficiency float64
	Why        string // of one of the benches that do not
}

// holes is a panel of which benches lack treatments.
type holes struct {
	names []string // bench of each block
	cells []*Cell
	at    map[int]int // block to its place in names
}

// findOwn tells the cells of a panel which blocks are whole, as far as their bench can run
// them: a trial of each treatment that the bench ever measured. It returns how many blocks
// of each bench are not, as findWhole, which it leaves the panel to where no bench lacks one.
func (b *Benches) findOwn(cells []*Cell) map[string]int {
	runs := map[string]map[*Cell]bool{} // by bench
	trials, bench := map[int]int{}, map[int]string{}
	for _, c := range cells {
		for _, p := range c.Points {
			if runs[p.Bench] == nil {
				runs[p.Bench] = map[*Cell]bool{}
			}
			runs[p.Bench][c] = true
			if was, ok := bench[p.Block]; !ok || was == p.Bench {
				trials[p.Block]++
			}
			bench[p.Block] = p.Bench
		}
	}
	all := true
	for _, own := range runs {
		all = all && len(own) == len(cells)
	}
	if all {
		return b.findWhole(cells)
	}
	h := &holes{cells: cells, at: map[int]int{}}
	left := map[string]int{}
	for _, block := range slices.Sorted(maps.Keys(trials)) {
		name := bench[block]
		if trials[block] < len(runs[name]) {
			left[name]++
			continue
		}
		h.at[block] = len(h.names)
		h.names = append(h.names, name)
		if !slices.Contains(b.Names, name) {
			b.Names = append(b.Names, name)
		}
	}
	for _, c := range cells {
		c.on = &onBenches{column: map[int]int{}, holes: h}
		var names []string
		for _, block := range slices.Sorted(maps.Keys(h.at)) {
			if name := bench[block]; runs[name][c] {
				c.on.column[block] = len(names)
				names = append(names, name)
			}
		}
		c.on.Benches, _ = stat.NewBenches(names) // nil: one bench runs it
	}
	return left
}

// table fits the values of a panel with holes; log: their logarithms. A cell that lacks a
// value of a trial is left out, and its row is -1.
func (h *holes) table(log bool, value func(*Cell, Point) float64) (t *stat.Incomplete, row []int, err error) {
	var ys [][]float64
	row = make([]int, len(h.cells))
	for i, c := range h.cells {
		own := make([]float64, len(h.names))
		for k := range own {
			own[k] = math.NaN()
		}
		whole := true
		for _, p := range c.Points {
			at := h.at[p.Block]
			own[at] = value(c, p)
			whole = whole && !math.IsNaN(own[at])
			if log {
				own[at] = math.Log(own[at])
			}
		}
		if row[i] = -1; whole {
			row[i] = len(ys)
			ys = append(ys, own)
		}
	}
	if len(ys) == 0 {
		return nil, row, stat.ErrNoData
	}
	t, err = stat.NewIncomplete(h.names, ys)
	return t, row, err
}

// share gives the cells their units, and the share by which their own figures are made those
// of all benches.
func (h *holes) share(kind stat.BenchKind, positive bool) error {
	type figure struct {
		of  func(*Cell, Point) float64
		put func(*Point, float64)
	}
	for i, f := range []figure{
		{func(_ *Cell, p Point) float64 { return p.Mean }, func(p *Point, v float64) { p.Mean = v }},
		{func(_ *Cell, p Point) float64 { return p.Median }, func(p *Point, v float64) { p.Median = v }},
		{func(_ *Cell, p Point) float64 { return p.P95 }, func(p *Point, v float64) { p.P95 = v }},
		{func(_ *Cell, p Point) float64 { return answeredOrNone(p.allMedian()) },
			func(p *Point, v float64) { p.AllMedian = v }},
		{func(_ *Cell, p Point) float64 { return answeredOrNone(p.allP95()) }, func(p *Point, v float64) { p.AllP95 = v }},
	} {
		t, row, err := h.table(positive, f.of)
		if err != nil && i == 0 {
			return err
		}
		var units [][]float64
		if err == nil {
			units = t.Units(kind)
		}
		for k, c := range h.cells {
			if i == 0 {
				c.on.kind, c.on.positive = kind, positive
				c.on.shift = t.ToAll(row[k], positive)
				c.units = make([]Point, len(first(units)))
				for u := range c.units {
					c.units[u] = Point{Trial: u + 1, Block: u + 1, P95: math.NaN(), SD: c.on.within(c), Min: math.NaN()}
				}
				if units == nil {
					c.units = nil
				}
			}
			if units == nil || row[k] < 0 || len(c.units) != len(units[row[k]]) {
				continue
			}
			for u, v := range units[row[k]] {
				if positive {
					v = math.Exp(v)
				}
				f.put(&c.units[u], v)
			}
		}
	}
	for _, c := range h.cells {
		c.markFailed()
	}
	return nil
}

func first(units [][]float64) []float64 {
	if len(units) == 0 {
		return nil
	}
	return units[0]
}

// toAll makes a value of a cell's own benches that of all, by what the others differ by there.
func (on *onBenches) toAll(v float64) float64 {
	switch {
	case on.holes == nil:
		return v
	case on.positive:
		return v * on.shift
	}
	return v + on.shift
}

// lacks lists the treatments that not every bench runs.
func (r *Report) lacks() []BenchLack {
	reasons := map[int]string{}
	for _, t := range r.Trials {
		if i := r.TreatmentOf(t.Treatment); t.State == store.Lacking && i >= 0 {
			reasons[i] = t.Reason
		}
	}
	var out []BenchLack
	for i := range r.Treatments {
		l := BenchLack{Treatment: i, Efficiency: math.NaN(), Why: reasons[i]}
		at := slices.IndexFunc(r.Cells, func(c Cell) bool {
			return c.Treatment == i && c.on != nil && c.on.holes != nil && c.Side == measure.Client
		})
		if at < 0 {
			if l.Why != "" && r.Treatments[i].Valid == 0 {
				out = append(out, l)
			}
			continue
		}
		c := &r.Cells[at]
		for block := range c.on.column {
			if name := c.on.holes.names[c.on.holes.at[block]]; !slices.Contains(l.Benches, name) {
				l.Benches = append(l.Benches, name)
			}
		}
		if l.Blocks, l.Of = len(c.on.column), len(c.on.holes.names); l.Blocks == l.Of {
			continue
		}
		slices.Sort(l.Benches)
		if t, row, err := c.on.holes.table(c.on.positive, (*Cell).value); err == nil {
			l.Efficiency = t.Efficiency(row[slices.Index(c.on.holes.cells, c)])
		}
		out = append(out, l)
	}
	return out
}

// lackWords say what is estimated from fewer blocks.
func (r *Report) lackWords(all []BenchLack) []string {
	var out []string
	for _, l := range all {
		name, why := r.Treatments[l.Treatment].Name(), ""
		if l.Why != "" {
			why = ": " + l.Why
		}
		if len(l.Benches) == 0 {
			out = append(out, fmt.Sprintf("%s ran on no bench%s", name, why))
			continue
		}
		text := fmt.Sprintf("%s ran on %d of %s (%s), in %d of %s%s; its figures are scaled to all benches by what these "+
			"did elsewhere", name, len(l.Benches), plural.Count(len(r.Benches.Names), "bench"),
			strings.Join(l.Benches, ", "), l.Blocks, plural.Count(l.Of, "block"), why)
		if !math.IsNaN(l.Efficiency) {
			text += fmt.Sprintf(", and comparisons with it are as sure as with %.0f %% of the blocks", 100*l.Efficiency)
		}
		out = append(out, text)
	}
	return out
}

// holed reports whether benches lack treatments of a panel.
func (r *Report) holed(p Panel) bool {
	return slices.ContainsFunc(r.Cells, func(c Cell) bool {
		return c.Response == p.Response && c.Side == p.Side && c.on != nil && c.on.holes != nil
	})
}
