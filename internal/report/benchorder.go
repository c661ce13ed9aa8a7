package report

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// A benchOrder is how far treatment A differs from B on each bench that has both.
type benchOrder struct {
	a, b    int
	benches []string
	stat.BenchOrder
}

// mostAgainst is with how many treatments each is paired, so that time grows with the treatments and not their square.
const mostAgainst = 64

// ordersOf are the orders of each two of the cells, of very many of some.
func ordersOf(cells []*Cell, value func(*Cell, Point) float64) []benchOrder {
	var out []benchOrder
	for i, b := range cells {
		if i == mostAgainst {
			break
		}
		of := map[int]float64{}
		for _, p := range b.Points {
			of[p.Block] = value(b, p)
		}
		for _, a := range cells[i+1:] {
			o := benchOrder{a: a.Treatment, b: b.Treatment}
			var differences [][]float64
			size := 1.0 // or logarithms near 0 would seem known better than they are
			for _, p := range a.Points {
				y, ok := of[p.Block]
				if !ok {
					continue
				}
				k := slices.Index(o.benches, p.Bench)
				if k < 0 {
					k = len(o.benches)
					o.benches, differences = append(o.benches, p.Bench), append(differences, nil)
				}
				x := value(a, p)
				differences[k], size = append(differences[k], x-y), max(size, math.Abs(x), math.Abs(y))
			}
			if found, ok := stat.OrderOfBenches(differences, size); ok {
				o.BenchOrder = found
				out = append(out, o)
			}
		}
	}
	return out
}

func blocksOf(cells []*Cell) int {
	seen := map[int]bool{}
	for _, c := range cells {
		for _, p := range c.Points {
			seen[p.Block] = true
		}
	}
	return len(seen)
}

// ofBench reports whether a bench has a part in a response: the bytes of messages are drawn from the seed, and no
// clock, meter or processor gives them.
func ofBench(response string) bool {
	x, ok := measure.FindResponse(response)
	return !ok || x.Unit != "B" || !x.Exact()
}

// judgeAtOnce corrects what benches differ by for looking at several responses (Holm).
func (b *Benches) judgeAtOnce() {
	var own []int
	var ps, turns []float64
	for i, p := range b.Panels {
		if !ofBench(p.Response) || math.IsNaN(float64(p.Model.P)) {
			continue
		}
		least := 1.0
		for _, o := range p.orders {
			least = min(least, o.P*float64(p.pairs))
		}
		own, ps, turns = append(own, i), append(ps, float64(p.Model.P)), append(turns, least)
	}
	ps, turns = stat.Holm(ps), stat.Holm(turns)
	for k, i := range own {
		b.Panels[i].among, b.Panels[i].holm, b.Panels[i].turns = len(own), ps[k], turns[k]
	}
}

// turned is the pair of treatments whose order turns with the bench; nil: none is shown to.
func (p BenchPanel) turned(confidence float64) *benchOrder {
	if !p.disagree(confidence) || p.among == 0 || !(p.turns < 1-confidence) {
		return nil
	}
	return p.first(func(a, b benchOrder) bool { return a.P < b.P })
}

// widest is the pair whose difference depends most on the bench.
func (p BenchPanel) widest() *benchOrder {
	return p.first(func(a, b benchOrder) bool { return a.Range > b.Range })
}

func (p BenchPanel) first(before func(a, b benchOrder) bool) *benchOrder {
	var out *benchOrder
	for i := range p.orders {
		if out == nil || before(p.orders[i], *out) {
			out = &p.orders[i]
		}
	}
	return out
}

// text says how far the two of an order differ on the benches where they do so least and most, or, where the order
// turns, on the two that are surest of that.
func (p BenchPanel) text(o *benchOrder, turns bool) string {
	a, b, from, to, sign := o.a, o.b, o.Least, o.Most, 1.0
	if turns {
		from, to = o.Below, o.Above
	}
	if !(sum64(o.Means) > 0) {
		a, b, from, to, sign = b, a, to, from, -1
	}
	much := func(k int) string {
		d := sign * o.Means[k]
		if p.Log {
			return ratioText(math.Exp(d)) + " times"
		}
		return Format(d, p.Unit) + " more than"
	}
	return fmt.Sprintf("%s is %s %s on %s, and %s on %s", p.name(a), much(from), p.name(b), o.benches[from], much(to),
		o.benches[to])
}

// warning is what a summary of the cell warns of, in words: where a bench counts once, trials are not what is too few.
func (c *Cell) warning(w error) string {
	var wide stat.WideMean
	switch {
	case c.on == nil || !errors.As(w, &wide):
		return w.Error()
	case c.on.kind == stat.RandomBenches:
		return wide.Words(plural.Count(wide.N, "bench"), "measure on more benches, or write design.benches: fixed where no "+
			"others matter")
	}
	return wide.Words(plural.Count(len(c.Points), "trial")+" on several benches", "run more blocks on each bench")
}
