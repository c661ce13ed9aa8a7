package lab

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// MoreBlocks adds up to n blocks to a plan that is measured elsewhere, and wholly so by now,
// where the wanted precision is not reached and the budget allows more. It returns how many;
// if none, unmet says why the precision was not reached, unless it was.
func (l *Lab) MoreBlocks(n int, began time.Time) (added int, unmet string, err error) {
	c := conductor{Lab: l, began: began, trials: map[int]study.Trial{}}
	for _, t := range l.Plan.Trials {
		c.trials[t.ID] = t
	}
	if done, err := c.enough(); done || err != nil {
		return 0, c.outcome.Unmet, err
	}
	d := l.Plan.Study.Design
	last := l.Plan.Trials[len(l.Plan.Trials)-1].Block
	for added = 1; added < n && (d.Budget.Blocks == 0 || last-d.Replications < d.Budget.Blocks); added++ {
		if err := c.extend(); err != nil {
			return added, "", err
		}
		last++
	}
	return added, "", nil
}

// enough decides, when every planned trial is done, whether the wanted
// precision is reached; if not and the budget allows, it adds a block. It looks at
// the intervals' widths and never at significance: who repeats until a difference
// is significant finds one where there is none.
func (c *conductor) enough() (bool, error) {
	d := c.Plan.Study.Design
	if d.Precision == 0 || len(c.outcome.Missing) > 0 {
		return true, nil
	}
	wide, err := c.widest()
	if err != nil || wide == "" {
		return err == nil, err
	}
	blocks := c.Plan.Trials[len(c.Plan.Trials)-1].Block
	switch {
	case d.Budget.Blocks > 0 && blocks-d.Replications >= d.Budget.Blocks:
		c.outcome.Unmet = fmt.Sprintf("the requested precision of %.4g %% was not reached within the budget of %d more "+
			"blocks: %s", 100*d.Precision, d.Budget.Blocks, wide)
		return true, nil
	case d.Budget.Blocks == 0 && time.Since(c.began) >= d.Budget.Time:
		c.outcome.Unmet = fmt.Sprintf("the requested precision of %.4g %% was not reached within the budget of %v: %s",
			100*d.Precision, d.Budget.Time, wide)
		return true, nil
	}
	return false, c.extend()
}

// extend adds one block to the plan and to the ledger.
func (c *conductor) extend() error {
	longer, err := c.Plan.Extend(1)
	if err != nil {
		return err
	}
	added := longer.Trials[len(c.Plan.Trials):]
	var csv bytes.Buffer
	if err := (study.Plan{Study: longer.Study, Trials: added}).WriteCSV(&csv); err != nil {
		return err
	}
	_, lines, _ := strings.Cut(csv.String(), "\n")
	if err := c.Store.AddTrials([]byte(lines), Records(study.Plan{Study: longer.Study, Trials: added})); err != nil {
		return err
	}
	c.Plan = longer
	for _, t := range added {
		c.trials[t.ID] = t
	}
	return nil
}

// Records are a plan's trials as the store keeps them.
func Records(p study.Plan) []store.PlannedTrial {
	out := make([]store.PlannedTrial, len(p.Trials))
	for i, t := range p.Trials {
		out[i] = store.PlannedTrial{ID: t.ID, Block: t.Block, Replication: t.Replication}
		for j, w := range t.Treatment {
			out[i].Treatment = append(out[i].Treatment, store.Level{Factor: p.Study.Factors[j].Name, Text: w.Text})
		}
	}
	return out
}

type cell struct {
	treatment int
	side      measure.Side
	response  string
}

// widest says which interval is widest in relation to its mean, if it is wider
// than wanted; "" if none is.
func (c *conductor) widest() (string, error) {
	means, benches := map[cell][]float64{}, map[cell][]string{}
	for row, err := range c.Store.Results() {
		if err != nil {
			return "", err
		}
		k := cell{c.trials[row.ID].Cell, row.Side, row.Response}
		means[k], benches[k] = append(means[k], row.Mean), append(benches[k], row.Bench)
	}
	worst, text := c.Plan.Study.Design.Precision, ""
	all := map[string]bool{}
	for _, names := range benches {
		for _, name := range names {
			all[name] = true
		}
	}
	for k, xs := range means {
		units, unknown := stat.BenchUnits(c.Plan.Study.Design.Benches, len(all), benches[k], xs)
		if unknown != "" {
			return fmt.Sprintf("%s of one treatment %s", k.response, unknown), nil
		}
		s, err := stat.Mean(units, c.Plan.Study.Design.Confidence)
		if err != nil || !s.HasInterval() || s.Center == 0 {
			continue // constant, or all zero: more trials add nothing
		}
		if share := s.HalfWidth() / math.Abs(s.Center); share > worst {
			worst = share
			text = fmt.Sprintf("%s of the %s is known within %.1f %%", k.response, k.side, 100*share)
		}
	}
	return text, nil
}
