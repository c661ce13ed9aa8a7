package report

import (
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// unseen finds by how much a meter's figures may be off in all trials alike, as the lab noted it of each: Cell.Unseen.
// Results of earlier versions say nothing of it.
func (r *Report) unseen(s *store.Store) error {
	if !slices.ContainsFunc(r.Cells, func(c Cell) bool { return c.read() }) {
		return nil
	}
	keys := []string{"requests", "run_from", "run_to"}
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		keys = append(keys, string(side)+"_energy_unseen", string(side)+"_gross_unseen")
	}
	recorded, err := s.Qualities(keys...)
	if err != nil {
		return err
	}
	noted := map[int]map[string]float64{}
	for _, t := range r.Trials {
		noted[t.ID] = map[string]float64{}
		for _, q := range recorded[store.AttemptID{Trial: t.ID, Attempt: t.Attempt}] {
			noted[t.ID][q.Key] = q.Value
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		if !c.read() {
			continue
		}
		for _, p := range c.Points {
			if x := c.unseenOf(noted[p.Trial]); x > 0 {
				c.Unseen += x / float64(len(c.Points))
			}
		}
	}
	return nil
}

// unseenOf is Unseen of one trial, by what was noted of it.
func (c *Cell) unseenOf(trial map[string]float64) float64 {
	gross := trial[string(c.Side)+"_gross_unseen"]
	switch c.Response {
	case "energy":
		return trial[string(c.Side)+"_energy_unseen"] / max(1, trial["requests"])
	case "energy_gross":
		return gross / max(1, trial["requests"])
	case "power":
		return gross / (trial["run_to"] - trial["run_from"])
	}
	return gross
}

// read reports whether a meter gave the values.
func (c *Cell) read() bool { return c.Method == store.Measured && slices.Contains(metered, c.Response) }

// nothing reports whether a figure is not told from 0 by its meter, in whatever number of trials.
func (c *Cell) nothing() bool { return c.Unseen > 0 && math.Abs(c.Headline().Center) <= c.Unseen }

// allNothing says that no cell of a ranking is told from 0; empty: one is.
func (k ranking) allNothing(nameOf func(treatment int) string) string {
	var names []string
	most := 0.0
	for _, c := range k.cells {
		if !c.nothing() {
			return ""
		}
		names, most = append(names, nameOf(c.Treatment)), max(most, c.Unseen)
	}
	return fmt.Sprintf(": not ranked, since the meter, which may be off by up to %s, can distinguish none from 0: %s",
		Format(most, k.cells[0].Unit), list(names, mostNames))
}

// doubtNothing warns of figures that their meter does not tell from 0.
func (r *Report) doubtNothing() {
	for i := range r.Cells {
		if c := &r.Cells[i]; c.nothing() {
			c.Warnings = append(c.Warnings, fmt.Sprintf("not told from 0: what the meter reads may be off by %s in all trials "+
				"alike, by its resolution and by rounding; batch more requests, or take a finer meter", Format(c.Unseen, c.Unit)))
		}
	}
}

// withinUnseen says why treatments are not compared whose means differ by no more than their meter may be off; empty:
// they are.
func withinUnseen(series []advise.Series) string {
	lo, hi, unseen := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range series {
		var means []float64
		for _, t := range s.Trials {
			means = append(means, t.Mean)
		}
		m, err := stat.Mean(means, 0.95)
		if err != nil || !(s.Unseen > 0) {
			return ""
		}
		lo, hi, unseen = min(lo, m.Center), max(hi, m.Center), max(unseen, s.Unseen)
	}
	if len(series) == 0 || hi-lo > 2*unseen {
		return ""
	}
	return fmt.Sprintf("levels are not compared: their means differ by %s at most, and each may be off by %s in all "+
		"trials alike, which the meter does not show", Format(hi-lo, series[0].Unit), Format(unseen, series[0].Unit))
}
