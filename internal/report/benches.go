package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Benches are what is known of the benches that shared a study.
type Benches struct {
	Kind   stat.BenchKind
	Names  []string // those that did whole blocks
	Panels []BenchPanel
	Moved  []BenchDrift // of control treatments
	Lacks  []BenchLack  // treatments that not every bench runs
	Facts  map[string]json.RawMessage

	of    map[int]string // trial to bench
	aside map[int]bool   // trials that are in no figure, since their blocks are not whole
	cut   []Cell         // those without a trial in a whole block
}

// A BenchDrift is a control treatment on one bench: the second half of its trials
// over the first.
type BenchDrift struct {
	Bench     string
	Treatment int
	stat.Comparison
	Moved bool
}

// movedAt is the p of a value 3 standard errors off.
const movedAt = 0.0027

// onBenches is where the trials of a panel ran.
type onBenches struct {
	*stat.Benches
	kind   stat.BenchKind
	column map[int]int // block to its place among the whole blocks
	// Where benches lack treatments, Benches are those of one cell, nil where it has but one bench.
	holes    *holes
	positive bool    // holes are judged on logarithms
	shift    float64 // see toAll
}

// findBenches sorts out, where trials ran on several benches, which blocks are whole in
// each panel, and makes of them the units that are judged.
func (r *Report) findBenches() {
	var names []string
	for _, c := range r.Cells {
		for _, p := range c.Points {
			if !slices.Contains(names, p.Bench) {
				names = append(names, p.Bench)
			}
		}
	}
	if len(names) < 2 {
		r.Warnings = append(r.Warnings, r.lackWords(r.lacks())...)
		return
	}
	slices.Sort(names)
	r.Benches = &Benches{of: map[int]string{}}
	for _, c := range r.Cells {
		for _, p := range c.Points {
			r.Benches.of[p.Trial] = p.Bench
		}
	}
	left := map[string]int{}
	find := r.Benches.findWhole
	if r.Study.Design.Incomplete {
		find = r.Benches.findOwn
	}
	for _, cells := range r.panelCells() {
		for bench, n := range find(cells) {
			left[bench] = max(left[bench], n)
		}
	}
	r.setAside()
	r.Benches.Kind = stat.KindOfBenches(r.Study.Design.Benches, len(r.Benches.Names))
	for _, cells := range r.panelCells() {
		if err := cells[0].on.share(cells, r.Benches.Kind); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s at the %s: %v; treatments are not compared",
				words(cells[0].Response), cells[0].Side, err))
		}
	}
	r.Benches.Lacks = r.lacks()
	r.Warnings = append(r.Warnings, r.lackWords(r.Benches.Lacks)...)
	for _, name := range names {
		if !slices.Contains(r.Benches.Names, name) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("bench %s completed no block: a bench must run every treatment; "+
				"its trials are excluded from all figures", name))
		} else if n := left[name]; n > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("bench %s: %s from all figures", name,
				plural.Count(n, "block")+plural.Verb(n, " lacks a trial and is excluded", " lack a trial and are excluded")))
		}
	}
	slices.Sort(r.Benches.Names)
}

// share gives the cells of a panel their units.
func (on *onBenches) share(cells []*Cell, kind stat.BenchKind) error {
	positive := true
	for _, c := range cells {
		for _, p := range c.Points {
			positive = positive && p.Mean > 0 && p.Median > 0
		}
	}
	if on.holes != nil {
		return on.holes.share(kind, positive)
	}
	on.kind = kind
	for _, c := range cells {
		c.units = on.unitsOf(c, positive)
		c.markFailed()
	}
	return nil
}

// within is the standard deviation of requests within a trial, pooled over a cell's trials.
func (on *onBenches) within(c *Cell) float64 {
	sd := on.values(c, func(p Point) float64 { return p.SD * p.SD })
	return math.Sqrt(sum64(sd) / float64(len(sd)))
}

// unitsOf are the units of a cell's trials; none where they cannot be judged.
func (on *onBenches) unitsOf(c *Cell, positive bool) []Point {
	if on.Benches == nil || on.DF(on.kind) < 1 {
		return nil
	}
	units := func(value func(Point) float64) []float64 {
		ys := on.values(c, value)
		if !positive {
			return on.Units(on.kind, ys)
		}
		for i, y := range ys {
			ys[i] = math.Log(y)
		}
		ys = on.Units(on.kind, ys)
		for i, y := range ys {
			ys[i] = math.Exp(y)
		}
		return ys
	}
	means, medians := units(func(p Point) float64 { return p.Mean }), units(func(p Point) float64 { return p.Median })
	p95 := units(func(p Point) float64 { return p.P95 })
	within := on.within(c)
	out := make([]Point, len(means))
	for i := range out {
		out[i] = Point{Trial: i + 1, Block: i + 1, Mean: means[i], Median: medians[i], P95: p95[i], SD: within,
			Min: math.NaN()}
	}
	if slices.ContainsFunc(c.Points, Point.failed) {
		allMedian := units(func(p Point) float64 { return cmp.Or(p.AllMedian, p.Median) })
		allP95 := units(func(p Point) float64 { return cmp.Or(p.AllP95, p.P95) })
		for i := range out {
			out[i].AllMedian, out[i].AllP95 = allMedian[i], allP95[i]
		}
	}
	return out
}

// failed reports whether the trial had requests that failed, of which its figures may be.
func (p Point) failed() bool { return p.AllMedian != 0 || p.AllP95 != 0 }

// markFailed marks the units of a cell of which the figure of a trial is a request that failed (+Inf), or nobody knows
// it (NaN).
func (c *Cell) markFailed() {
	mark := func(of func(Point) float64, to func(*Point) *float64) {
		v := 0.0
		for _, p := range c.Points {
			if x := of(p); math.IsInf(x, 1) || math.IsNaN(x) && v == 0 {
				v = x
			}
		}
		for i := range c.units {
			if v != 0 {
				*to(&c.units[i]) = v
			}
		}
	}
	mark(func(p Point) float64 { return p.AllMedian }, func(p *Point) *float64 { return &p.AllMedian })
	mark(func(p Point) float64 { return p.AllP95 }, func(p *Point) *float64 { return &p.AllP95 })
}

// answeredOrNone is a figure of a trial; NaN where it is a request that failed.
func answeredOrNone(v float64) float64 {
	if math.IsInf(v, 1) {
		return math.NaN()
	}
	return v
}

func sum64(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// values are those of a cell's trials, in the order of blocks.
func (on *onBenches) values(c *Cell, value func(Point) float64) []float64 {
	ys := make([]float64, len(on.column))
	for _, p := range c.Points {
		ys[on.column[p.Block]] = value(p)
	}
	return ys
}

// replicates are what is judged: trials, or units where there are several benches.
func (c *Cell) replicates() []Point {
	if c.on != nil {
		return c.units
	}
	return c.Points
}

// summands are what a cell's own figure is the mean of: its trials' values, or their
// units on the scale of the values.
func (c *Cell) summands(values []float64) []float64 {
	if c.on == nil {
		return values
	}
	whole := c.on.Benches != nil && c.on.Benches.DF(c.on.kind) > 0
	if !whole && (c.on.holes == nil || c.on.kind == stat.RandomBenches) {
		return []float64{c.on.toAll(sum64(values) / float64(len(values)))} // no interval
	}
	ys := make([]float64, len(c.on.column))
	for i, p := range c.Points {
		ys[c.on.column[p.Block]] = c.on.toAll(values[i])
	}
	if !whole { // one bench runs it: its blocks are what is replicated
		return ys
	}
	return c.on.Units(c.on.kind, ys)
}

// apartFromBenches takes out of the trials' values what their benches differ by, a factor
// where all are positive: two benches are no two clusters, nor are the trials of a slow one
// outliers, since they spread as much as it is slower.
func (c *Cell) apartFromBenches(values []float64) []float64 {
	if c.on == nil {
		return values
	}
	sums, counts := map[string]float64{}, map[string]float64{}
	for i, p := range c.Points {
		sums[p.Bench] += values[i]
		counts[p.Bench]++
	}
	all := sum64(values) / float64(len(values))
	out := make([]float64, len(values))
	positive := slices.Min(values) > 0
	for i, p := range c.Points {
		own := sums[p.Bench] / counts[p.Bench]
		if out[i] = values[i] - own + all; positive {
			out[i] = values[i] / own * all
		}
	}
	return out
}

// OfBenches reports whether a bench is what counts once, not a trial.
func (r *Report) OfBenches() bool { return r.Benches != nil && r.Benches.Kind == stat.RandomBenches }

// nameBlocks calls the blocks of an analysis benches where each of them is one.
func (r *Report) nameBlocks(terms []stat.Term) {
	for i := range terms {
		if r.OfBenches() && terms[i].Term == "block" {
			terms[i].Term = "bench"
		}
	}
}

// judgeBenches compares the benches, and counts attempts that were superseded.
func (r *Report) judgeBenches(s *store.Store) error {
	attempts, err := s.Attempts(0)
	if err != nil {
		return err
	}
	superseded := 0
	for _, a := range attempts {
		if a.State == store.Superseded {
			superseded++
		}
	}
	if superseded > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s superseded: their trials were valid, but their "+
			"blocks had been reassigned before anyone saw a value; they are excluded from all figures",
			plural.Count(superseded, "attempt")+plural.Verb(superseded, " was", " were")))
	}
	if r.Benches == nil {
		return nil
	}
	if r.Benches.Facts, err = s.BenchFacts(); err != nil {
		return err
	}
	if r.Benches.Kind == stat.RandomBenches && len(r.Benches.Names) == 2 {
		r.Warnings = append(r.Warnings, "two benches leave one degree of freedom for benches like these: intervals are "+
			"wide; measure on a third, or write design.benches: fixed")
	}
	for _, p := range r.Panels() {
		if x, ok := r.benchPanel(p); ok {
			r.Benches.Panels = append(r.Benches.Panels, x)
		}
	}
	r.Benches.judgeAtOnce()
	r.watchControls()
	return nil
}

// watchControls looks whether a floor changed on a bench while the study ran.
func (r *Report) watchControls() {
	for i, t := range r.Treatments {
		c, ok := r.Cell(i, measure.Client, "rtt")
		if !ok || !r.isFloor(t.Stack) {
			continue
		}
		lost, kept, err := r.lossesOf([]*Cell{c})
		if err != nil || lost.unseen() || len(kept) == 0 {
			continue // its table says how many of its requests failed
		}
		for _, bench := range r.Benches.Names {
			var own []float64
			for _, p := range c.Points { // in the order of the plan
				if p.Bench == bench {
					own = append(own, lost.value(c, p))
				}
			}
			half := len(own) / 2
			x, err := stat.RatioWelch(own[half:], own[:half], r.Study.Design.Confidence)
			if err != nil {
				continue // too few blocks to tell
			}
			r.Benches.Moved = append(r.Benches.Moved, BenchDrift{bench, i, x, x.P < movedAt})
			if x.P < movedAt {
				r.Warnings = append(r.Warnings, fmt.Sprintf("bench %s: its control %s moved by more than 3 standard errors: the "+
					"second half of its trials takes %s times as long as the first (%s); check the bench", bench, t.Name(),
					ratioText(x.Estimate), ratioRange(x)))
			}
		}
	}
}
