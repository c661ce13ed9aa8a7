package capacitybench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"edgegauge.example/edgegauge/internal/bench/labbench"
	"edgegauge.example/edgegauge/internal/stat"
)

const (
	searches  = 4000  // of each server
	truths    = 16000 // trials that a truth comes from
	precision = 0.025
	budget    = 60 // trials
)

// Parts are those of `edgegauge bench`.
func Parts() []labbench.Part {
	parts := []labbench.Part{
		{Name: "capacity/intervals", Says: "how often intervals hold the truth", Measure: rows},
		{Name: "capacity/bounds", Says: "how often a search is wrong to say that the truth lies beyond its bounds",
			Measure: boundRows},
	}
	return []labbench.Part{{Name: "capacity", Each: parts,
		Says: "searches for the capacity of simulated servers; for a part only: capacity/intervals, capacity/bounds",
		Measure: func(ctx context.Context, b *labbench.Bench) ([]labbench.Row, error) {
			var all []labbench.Row
			for _, p := range parts {
				rows, err := p.Measure(ctx, b)
				if all = append(all, rows...); err != nil {
					return all, err
				}
			}
			return all, nil
		}}}
}

// A Count is what many searches for one server's capacity came to.
type Count struct {
	Truth     float64 // requests/s
	Searches  int
	Held      int     // intervals that hold the truth
	None      int     // searches that ended without an interval
	Precise   int     // intervals as narrow as asked, within the budget
	Bent      int     // lines that were said not to fit
	Trials    float64 // mean of a search
	HalfWidth float64 // median, relative
	Bias      float64 // mean, relative

	Bisected     float64 // relative error that 95 % of bisections keep to
	BisectTrials float64 // mean
}

// Coverage is the share of intervals that hold the truth.
func (c Count) Coverage() float64 { return float64(c.Held) / float64(c.Searches-c.None) }

// One search of a server.
type outcome struct {
	step     stat.CapacityStep
	trials   int
	err      error
	bisected float64
	halvings int
}

// Count searches so many times, on all CPUs; the seed decides everything.
func (s Server) Count(ctx context.Context, n, truthTrials int, seed uint64) (Count, error) {
	c := Count{Searches: n}
	c.Truth = s.Truth(rand.New(rand.NewPCG(seed, 1)), truthTrials)
	all := make([]outcome, n)
	if err := each(ctx, n, func(i int) {
		r := rand.New(rand.NewPCG(seed, uint64(i)+2))
		q := asked(r, c.Truth, uint64(i))
		o := &all[i]
		o.step, o.trials, o.err = s.Search(ctx, r, q)
		o.bisected, o.halvings = s.Bisect(r, q.First, 0.02)
	}); err != nil {
		return c, err
	}
	var widths, errs []float64
	for _, o := range all {
		if o.err != nil {
			return c, o.err
		}
		c.Trials += float64(o.trials) / float64(n)
		c.BisectTrials += float64(o.halvings) / float64(n)
		errs = append(errs, math.Abs(o.bisected/c.Truth-1))
		k := o.step.Capacity
		if k.Trials == 0 || math.IsNaN(k.Lo) {
			c.None++
			continue
		}
		widths = append(widths, (k.Hi-k.Lo)/2/k.Rate)
		c.Bias += k.Rate/c.Truth - 1
		if k.Lo <= c.Truth && c.Truth <= k.Hi {
			c.Held++
		}
		if o.step.Stage == stat.Precise {
			c.Precise++
		}
		if !k.Fits() {
			c.Bent++
		}
	}
	slices.Sort(errs)
	if len(widths) > 0 {
		c.HalfWidth, c.Bias = stat.Middle(widths), c.Bias/float64(len(widths))
	}
	c.Bisected = errs[len(errs)*95/100]
	return c, nil
}

// asked is a search from somewhere below the truth, between bounds that are far away.
func asked(r *rand.Rand, truth float64, seed uint64) stat.CapacitySearch {
	return stat.CapacitySearch{First: truth * (0.1 + 0.5*r.Float64()), Least: 1, Most: 1e6, Precision: precision,
		Budget: budget, Confidence: 0.95, Seed: seed}
}

// each calls f with 0 to n − 1, on all CPUs.
func each(ctx context.Context, n int, f func(i int)) error {
	var group sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for i := worker; i < n && ctx.Err() == nil; i += runtime.GOMAXPROCS(0) {
				f(i)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

func rows(ctx context.Context, _ *labbench.Bench) ([]labbench.Row, error) {
	var out []labbench.Row
	for i, s := range Servers() {
		c, err := s.Count(ctx, searches, truths, uint64(i))
		if err != nil {
			return out, err
		}
		row := labbench.Row{Figure: "% " + s.Name, Wanted: "94 to 96", Measured: c.String(), Verdict: "met"}
		if p := c.Coverage(); p < 0.94 || p > 0.96 {
			row.Verdict = "not met"
			if math.Abs(p-0.95) < 0.01+2*math.Sqrt(0.95*0.05/searches) {
				row.Verdict = "not met, unsure"
			}
		}
		out = append(out, row)
	}
	out[0].How = fmt.Sprintf("%d simulated searches per row: intervals that hold the truth; asked are 95 %%, ±%g %%, at "+
		"most %d trials. Bisection: what 95 %% of its answers keep to, where it says ±2 %%", searches, 100*precision, budget)
	return out, nil
}

// String is the count as a row of the table has it.
func (c Count) String() string {
	n := float64(c.Searches)
	return fmt.Sprintf("%.1f; ±%.1f %%, %.0f trials; as narrow as asked %.0f %%; none %.1f %%; does not fit %.1f %%; "+
		"bias %+.2f %%; bisection ±%.1f %%, %.0f trials", 100*c.Coverage(), 100*c.HalfWidth, c.Trials,
		100*float64(c.Precise)/n, 100*float64(c.None)/n, 100*float64(c.Bent)/n, 100*c.Bias, 100*c.Bisected,
		c.BisectTrials)
}
