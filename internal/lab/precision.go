package lab

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// MoreBlocks adds up to n blocks to a plan that is measured elsewhere, and wholly so by now,
// where the wanted precision is not reached and the budget allows more. It returns how many;
// if none, the study has ended, and unmet says why the precision was not reached, unless it was. The
// blocks are whole, since benches are compared by whole blocks.
func (l *Lab) MoreBlocks(n int, began time.Time) (added int, unmet string, err error) {
	c := conductor{Lab: l, began: began, trials: map[int]study.Trial{}}
	for _, t := range l.Plan.Trials {
		c.trials[t.ID] = t
	}
	wide, err := c.wide()
	if err != nil {
		return 0, "", err
	}
	if len(wide) == 0 {
		return 0, c.outcome.Unmet, l.Store.End(c.outcome.Unmet)
	}
	for ; added < n && c.spent() == ""; added++ {
		longer, err := c.Plan.Extend(1)
		if err == nil {
			err = c.extend(longer)
		}
		if err != nil {
			return added, "", err
		}
	}
	return added, "", nil
}

// enough decides, when every planned trial is done, whether the wanted precision is
// reached; if not and the budget allows, it adds a block of the treatments that lack it. It
// looks at the intervals' widths and never at significance: who repeats until a difference
// is significant finds one where there is none.
func (c *conductor) enough() (bool, error) {
	wide, err := c.wide()
	if err != nil || len(wide) == 0 {
		return err == nil, err
	}
	longer, err := c.Plan.ExtendBy(wide)
	if err != nil {
		return false, err
	}
	return false, c.extend(longer)
}

// wide are the treatments to measure once more: none if nobody asks for a precision, all have
// it, or the budget is used. What was decided when the study ended stays decided.
func (c *conductor) wide() ([]int, error) {
	d := c.Plan.Study.Design
	if d.Precision == 0 || c.Wide == nil || len(c.outcome.Missing) > 0 {
		return nil, nil
	}
	ending, err := c.Store.Ending()
	if err != nil {
		return nil, err
	}
	if ending != nil && !ending.At.IsZero() {
		c.outcome.Unmet = ending.Unmet
		return nil, nil
	}
	wide, widest, err := c.Wide()
	if err != nil || len(wide) == 0 {
		return nil, err
	}
	if c.before, err = c.Store.Spent(); err != nil {
		return nil, err
	}
	budget := c.spent()
	if budget == "" {
		return wide, nil
	}
	if widest != "" {
		c.outcome.Unmet = fmt.Sprintf("the requested precision of %.4g %% was not reached within the budget of %s: %s",
			100*d.Precision, budget, widest)
	}
	return nil, nil
}

// spent is the budget, if it is used.
func (c *conductor) spent() string {
	d := c.Plan.Study.Design
	switch blocks := c.Plan.Trials[len(c.Plan.Trials)-1].Block - d.Replications; {
	case d.Budget.Blocks > 0 && blocks >= d.Budget.Blocks:
		return fmt.Sprintf("%d more blocks", d.Budget.Blocks)
	case d.Budget.Blocks == 0 && c.before+time.Since(c.began) >= d.Budget.Time:
		return d.Budget.Time.String()
	}
	return ""
}

// extend adds what a longer plan has to the plan and to the ledger.
func (c *conductor) extend(longer study.Plan) error {
	added := longer.Trials[len(c.Plan.Trials):]
	if len(added) == 0 {
		return errors.New("a block that has no trial cannot be added")
	}
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
