package report

import (
	"fmt"
	"maps"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
)

// panelCells are the cells of each response of a side, in their order.
func (r *Report) panelCells() [][]*Cell {
	var out [][]*Cell
	at := map[cellKey]int{}
	for i := range r.Cells {
		c := &r.Cells[i]
		k := cellKey{side: c.Side, response: c.Response}
		if _, ok := at[k]; !ok {
			at[k], out = len(out), append(out, nil)
		}
		out[at[k]] = append(out[at[k]], c)
	}
	return out
}

// findWhole tells the cells of a panel which blocks are whole: a trial of each, all on one
// bench. It returns how many blocks of each bench are not.
func (b *Benches) findWhole(cells []*Cell) map[string]int {
	trials, bench := map[int]int{}, map[int]string{}
	for _, c := range cells {
		for _, p := range c.Points {
			if was, ok := bench[p.Block]; !ok || was == p.Bench {
				trials[p.Block]++
			}
			bench[p.Block] = p.Bench
		}
	}
	on := &onBenches{column: map[int]int{}}
	left := map[string]int{}
	var names []string
	for _, block := range slices.Sorted(maps.Keys(trials)) {
		if trials[block] < len(cells) {
			left[bench[block]]++
			continue
		}
		on.column[block] = len(names)
		names = append(names, bench[block])
		if !slices.Contains(b.Names, bench[block]) {
			b.Names = append(b.Names, bench[block])
		}
	}
	var err error
	if on.Benches, err = stat.NewBenches(names); err != nil {
		on.Benches = nil
	}
	for _, c := range cells {
		c.on = on
	}
	return left
}

// setAside leaves cells the trials of whole blocks alone, so that all figures of a treatment are of the same trials.
// Cells without any are cut.
func (r *Report) setAside() {
	b := r.Benches
	b.aside = map[int]bool{}
	for i := range r.Cells {
		c := &r.Cells[i]
		var whole []Point
		for _, p := range c.Points {
			if _, ok := c.on.column[p.Block]; ok {
				whole = append(whole, p)
			} else {
				c.aside, b.aside[p.Trial] = append(c.aside, p), true
			}
		}
		c.Points = whole
	}
	for _, c := range r.Cells {
		for _, p := range c.Points {
			delete(b.aside, p.Trial)
		}
	}
	r.Cells = slices.DeleteFunc(r.Cells, func(c Cell) bool {
		if len(c.Points) == 0 {
			b.cut = append(b.cut, c)
		}
		return len(c.Points) == 0
	})
	for _, cells := range r.panelCells() { // they lie elsewhere now
		if h := cells[0].on.holes; h != nil {
			h.cells = cells
		}
	}
	if len(r.Cells) > 0 { // else it is said of each bench
		r.Warnings = append(r.Warnings, r.cutWords()...)
	}
}

// cutWords say, for each response of a side, which treatments have no trial of it in a whole block.
func (r *Report) cutWords() []string {
	var panels []Panel
	names := map[Panel][]string{}
	for _, c := range r.cut() {
		p := Panel{c.Side, c.Response, c.Unit}
		if names[p] == nil {
			panels = append(panels, p)
		}
		names[p] = append(names[p], r.Treatments[c.Treatment].Name())
	}
	var out []string
	for _, p := range panels {
		out = append(out, fmt.Sprintf("%s at the %s: no bench completed a block with %s; such trials are excluded from "+
			"all figures", words(p.Response), p.Side, list(names[p], mostNames)))
	}
	return out
}

// noWholeBlock is why there is no figure of a cell that is cut.
const noWholeBlock = "no whole block"

// cut are the cells without a trial in a whole block.
func (r *Report) cut() []Cell {
	if r.Benches == nil {
		return nil
	}
	return r.Benches.cut
}

// isCut reports whether a treatment has values of a response, and none of them in a whole block.
func (r *Report) isCut(treatment int, p Panel) bool {
	return slices.ContainsFunc(r.cut(), func(c Cell) bool {
		return c.Treatment == treatment && c.Side == p.Side && c.Response == p.Response
	})
}

// isAside reports whether a trial is in no figure, since its bench did not complete its block.
func (r *Report) isAside(trial int) bool { return r.Benches != nil && r.Benches.aside[trial] }

// PointOf is what a trial had of a response, whether its block is whole or not.
func (r *Report) PointOf(trial, treatment int, side measure.Side, response string) (Point, bool) {
	for _, c := range slices.Concat(r.Cells, r.cut()) {
		if c.Treatment != treatment || c.Side != side || c.Response != response {
			continue
		}
		for _, p := range slices.Concat(c.Points, c.aside) {
			if p.Trial == trial {
				return p, true
			}
		}
	}
	return Point{}, false
}
