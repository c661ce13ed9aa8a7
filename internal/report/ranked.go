package report

import (
	"slices"

	"edgegauge.example/edgegauge/internal/stat"
)

// A rankedFigure is that by which the answer, and choose, rank a cell. It may be another than tables show: where
// requests failed, tables have what the answered ones took.
type rankedFigure struct {
	stat.Summary
	by string // mean, median, median_of_all; empty: it is not ranked
}

// rankedFigures are those of all cells. Floors are not ranked.
func (r *Report) rankedFigures() map[*Cell]rankedFigure {
	out := map[*Cell]rankedFigure{}
	for _, g := range r.groups() {
		for _, p := range r.Panels() {
			var all [2][]*Cell // measured, and modelled: they are ranked apart
			for _, i := range g.treatments {
				c, ok := r.Cell(i, p.Side, p.Response)
				if !ok {
					continue
				}
				out[c] = rankedFigure{c.Headline(), c.center()}
				if k := map[bool]int{true: 1}[c.modelled()]; len(c.replicates()) > 1 {
					all[k] = append(all[k], c)
				}
			}
			for _, cells := range all {
				lost, kept, err := r.lossesOf(cells)
				if err != nil || !lost.known() {
					continue
				}
				for _, c := range cells {
					out[c] = rankedFigure{}
					if slices.Contains(kept, c) {
						out[c] = rankedFigure{lost.centers[c], "median_of_all"}
					}
				}
			}
		}
	}
	return out
}
