package study

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"edgegauge.example/edgegauge/internal/printable"
)

// A Plan is a study's trials in the order to run them. The same file gives the
// same plan, byte for byte, on every platform.
type Plan struct {
	Study  Study
	Trials []Trial
}

// A Trial is one run of one treatment in fresh processes.
type Trial struct {
	ID, Block, Replication int    // from 1; a replication is a block
	Treatment              []Word // one level of each of Study.Factors
	Cell                   int    // which treatment, from 0, in the order of the file
	Setup                  *Setup // the same for all trials of the treatment
	// MessageSeed makes the messages. It is the same for all treatments of a
	// block, so that they are compared on the same work, and below 2^53, so
	// that every reader of JSON keeps it whole.
	MessageSeed uint64
}

// Expand makes the plan of a study that Parse returned without error: every
// wanted treatment once in each block, in random order (randomized complete
// blocks), one block per replication.
func Expand(s Study) (Plan, error) {
	if len(s.treatments) == 0 {
		return Plan{}, errors.New("a study without treatments cannot be planned; use one that Parse returned without error")
	}
	return Plan{Study: s}.Extend(s.Design.Replications)
}

// Extend returns the plan with more blocks at its end, the same that a plan
// made longer at once would have there. It fails above MaxTrials.
func (p Plan) Extend(blocks int) (Plan, error) {
	size := len(p.Study.treatments)
	if trials := int64(len(p.Trials)) + int64(size)*int64(min(blocks, MaxTrials)); trials > MaxTrials {
		return p, fmt.Errorf("the plan of %s would have %d trials, more than %d; lower replications, or exclude treatments",
			p.Study.Name, trials, MaxTrials)
	}
	last := 0
	if len(p.Trials) > 0 {
		last = p.Trials[len(p.Trials)-1].Block
	}
	p.Trials = slices.Clone(p.Trials)
	for b := last + 1; b <= last+blocks; b++ {
		p.Trials = append(p.Trials, p.Study.block(b)...)
	}
	return p, nil
}

// ExtendBy returns the plan with one more block, of these treatments only. Their order in it is that
// of the whole block, the others left out, and so random; their trials have the numbers they would
// have there.
func (p Plan) ExtendBy(treatments []int) (Plan, error) {
	longer, err := p.Extend(1)
	if err != nil {
		return p, err
	}
	had := len(p.Trials)
	longer.Trials = append(longer.Trials[:had], slices.DeleteFunc(longer.Trials[had:], func(t Trial) bool {
		return !slices.Contains(treatments, t.Cell)
	})...)
	return longer, nil
}

// block is one replication of every wanted treatment.
func (s Study) block(b int) []Trial {
	order := make([]int, len(s.treatments))
	for i := range order {
		order[i] = i
	}
	g := stream(s.Design.Seed, b, forOrder)
	shuffle(&g, order)
	g = stream(s.Design.Seed, b, forMessages)
	seed := g.next() >> 11
	trials := make([]Trial, len(order))
	for i, cell := range order {
		t := s.treatments[cell]
		trials[i] = Trial{ID: (b-1)*len(order) + i + 1, Block: b, Replication: b, Treatment: t.words, Cell: cell,
			Setup: t.setup, MessageSeed: seed}
	}
	return trials
}

// Sequence is a plan whose blocks hold chosen levels of the study's last factor, each block in the
// order given: for searches, whose trials follow from those before. A level that the study does not have is an error,
// and so is one with several treatments: of the other factors, exclusions leave one.
func Sequence(s Study, blocks [][]string) (Plan, error) {
	p := Plan{Study: s}
	last := len(s.Factors) - 1
	if last < 0 {
		return p, fmt.Errorf("%s varies nothing; a sequence varies one factor", s.Name)
	}
	cells := map[string]int{}
	for i, t := range s.treatments {
		level := t.words[last].Text
		if _, twice := cells[level]; twice {
			return p, fmt.Errorf("%s varies more than %s; a sequence varies one factor", s.Name, s.Factors[last].Name)
		}
		cells[level] = i
	}
	for b, levels := range blocks {
		g := stream(s.Design.Seed, b+1, forMessages)
		seed := g.next() >> 11
		for _, level := range levels {
			cell, ok := cells[level]
			if !ok {
				return p, fmt.Errorf("%s has no level %s of %s", s.Name, level, s.Factors[last].Name)
			}
			t := s.treatments[cell]
			p.Trials = append(p.Trials, Trial{ID: len(p.Trials) + 1, Block: b + 1, Replication: b + 1, Treatment: t.words,
				Cell: cell, Setup: t.setup, MessageSeed: seed})
		}
	}
	return p, nil
}

// WriteCSV writes id, block, replication, and a column for each factor, one
// row a trial in the order to run them. Levels are printable.Cell, as in all CSV.
func (p Plan) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	row := []string{"id", "block", "replication"}
	for _, f := range p.Study.Factors {
		row = append(row, f.Name)
	}
	if err := c.Write(printable.Row(row)); err != nil {
		return err
	}
	for _, t := range p.Trials {
		row = append(row[:0], strconv.Itoa(t.ID), strconv.Itoa(t.Block), strconv.Itoa(t.Replication))
		for _, w := range t.Treatment {
			row = append(row, w.Text)
		}
		if err := c.Write(printable.Row(row)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}
