package capacitybench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/stat"
)

const (
	boundSearches = 1000 // of each server, bound and distance
	boundTruths   = 4000 // trials that a truth comes from
	mostWrong     = 0.05 // share of searches
)

// A Bound is one bound of a search, and how often searches said that the truth lies beyond it.
type Bound struct {
	Stage    stat.CapacityStage // BelowLeast, or AboveMost
	Over     float64            // the bound over the truth
	Searches int
	Said     int // that it lies beyond
	Single   int // of as many single trials at the bound, those that say so
}

// Beyond reports whether the truth lies beyond the bound.
func (b Bound) Beyond() bool { return (b.Stage == stat.BelowLeast) == (b.Over > 1) }

// CountBound searches so many times, on all CPUs, for a truth that is known, with one bound near it.
func (s Server) CountBound(ctx context.Context, truth float64, b Bound, n int, seed uint64) (Bound, error) {
	b.Searches, b.Said, b.Single = n, 0, 0
	stages, single, errs := make([]stat.CapacityStage, n), make([]bool, n), make([]error, n)
	err := each(ctx, n, func(i int) {
		r := rand.New(rand.NewPCG(seed, uint64(i)+2))
		q := asked(r, truth, uint64(i))
		if b.Stage == stat.BelowLeast {
			q.Least = b.Over * truth
		} else {
			q.Most = b.Over * truth
		}
		var step stat.CapacityStep
		step, _, errs[i] = s.Search(ctx, r, q)
		stages[i] = step.Stage
		met := s.disturbed(r, b.Over*truth, s.Block*r.NormFloat64()) >= 1
		single[i] = met == (b.Stage == stat.AboveMost)
	})
	for i := range stages {
		if errs[i] != nil && err == nil {
			err = errs[i]
		}
		if stages[i] == b.Stage {
			b.Said++
		}
		if single[i] {
			b.Single++
		}
	}
	return b, err
}

// boundServers are those of Servers whose trials differ little, much, and at a cliff.
func boundServers() []Server {
	names := []string{"M/M/1, trials ±3 %", "M/M/1, trials ±8 %", "M/G/1, lognormal, cv 2, trials ±3 %",
		"cliff: M/D/1, bound of 500 ms, trials ±3 %"}
	return slices.DeleteFunc(Servers(), func(s Server) bool { return !slices.Contains(names, s.Name) })
}

func boundRows(ctx context.Context, _ *labbench.Bench) ([]labbench.Row, error) {
	var out []labbench.Row
	for i, s := range boundServers() {
		truth := s.Truth(rand.New(rand.NewPCG(uint64(i), 1)), boundTruths)
		for _, over := range []float64{0.95, 0.9, 1.05, 1.1} {
			within := Bound{Stage: stat.BelowLeast, Over: over}
			if over > 1 {
				within.Stage = stat.AboveMost
			}
			beyond := Bound{Stage: within.Stage, Over: 2 - over}
			for _, b := range []*Bound{&within, &beyond} {
				var err error
				if *b, err = s.CountBound(ctx, truth, *b, boundSearches, uint64(i)); err != nil {
					return out, err
				}
			}
			out = append(out, boundRow(s.Name, within, beyond))
		}
	}
	out[0].How = fmt.Sprintf("%d simulated searches per row and side, of a server whose capacity lies within a bound of "+
		"the search: how often it is said to lie beyond, as after %d trials in a row there; what one trial there says; and "+
		"how often it is said of a capacity that lies as far beyond", boundSearches, stat.CapacitySure)
	return out, nil
}

func boundRow(name string, within, beyond Bound) labbench.Row {
	share := func(n int) float64 { return float64(n) / float64(within.Searches) }
	which := map[stat.CapacityStage]string{stat.BelowLeast: "lowest", stat.AboveMost: "highest"}[within.Stage]
	row := labbench.Row{Figure: fmt.Sprintf("%% wrong, %s rate %g × truth: %s", which, within.Over, name),
		Wanted: fmt.Sprintf("≤ %g", 100*mostWrong), Verdict: "met", Measured: fmt.Sprintf("%.1f; one trial %.1f; beyond %.1f",
			100*share(within.Said), 100*share(within.Single), 100*share(beyond.Said))}
	switch wrong := share(within.Said); {
	case math.Abs(wrong-mostWrong) < 2*math.Sqrt(mostWrong*(1-mostWrong)/float64(within.Searches)):
		row.Verdict = map[bool]string{true: "met, unsure", false: "not met, unsure"}[wrong <= mostWrong]
	case wrong > mostWrong:
		row.Verdict = "not met"
	}
	return row
}
