package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/stat"
)

// A median does not show what a few requests of each trial take: one in twenty may be a hundred times as slow. So where
// medians are ranked, means and p95 of the same trials are compared too, and what they say otherwise is said in the
// same sentence.

// farMore is by how much a mean or p95 exceeds what the median says of a treatment behind the best where that is said.
const farMore = 2

// A veiledPairs compares, over all pairs at once, a figure that a median does not show.
type veiledPairs struct {
	figure string
	pairs  *stat.AllPairs
}

// veil compares means and p95, Bonferroni over the two. Where the p95 of some trial is a request that failed, the
// others are the luckier trials, and tell nothing.
func veil(cells []*Cell, rowsOf func(func(Point) float64) [][]float64, confidence float64) ([]veiledPairs, error) {
	out := []veiledPairs{{figure: "mean"}, {figure: "p95"}}
	for i, value := range []func(Point) float64{
		func(p Point) float64 { return p.Mean }, Point.allP95} {
		rows := rowsOf(value)
		for j, c := range cells {
			if i == 1 && slices.ContainsFunc(c.replicates(), func(p Point) bool { return math.IsInf(p.AllP95, 1) }) {
				rows[j] = slices.Repeat([]float64{math.NaN()}, len(rows[j]))
			}
		}
		var err error
		if out[i].pairs, err = stat.NewAllPairs(rows, 1-(1-confidence)/float64(len(out))); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// against is how a cell's figure compares with that of the best, and whether they differ beyond doubt.
func (v veiledPairs) against(i int) (x stat.Comparison, apart bool) {
	x, err := v.pairs.Compare(i, 0)
	if err != nil { // too few trials have the figure
		return x, false
	}
	return x, x.P < 1-v.pairs.Confidence || x.Lo == x.Hi && math.Abs(x.Estimate-x.Even()) > 1e-9*x.Even()
}

// unveil adds what medians do not show of a cell beside the best: to perhaps where waiting for a CPU may explain it. Of
// one that is behind it, it is what says the contrary of its median, or far more. Only what the interval of its median
// does not contain is due to a part of the requests.
func (k ranking) unveil(i int, best, name string, median stat.Comparison, behind bool, certain, perhaps *[]string) {
	var parts []string
	slow, waited := "", true
	for _, v := range k.veiled {
		x, apart := v.against(i)
		if v.figure == "mean" && k.losses.flatters(k.cells[i], k.cells[0], x.Estimate > x.Even()) {
			continue
		}
		worse, far := x.Estimate > x.Even(), v.pairs.Log && x.Lo > farMore*median.Hi
		if k.more {
			worse, far = x.Estimate < x.Even(), v.pairs.Log && x.Hi < median.Lo/farMore
		}
		if !apart || worse && behind && !far {
			continue
		}
		of := " of a typical trial of " + name + " is "
		if len(parts) > 0 {
			of = " "
		}
		parts = append(parts, "the "+v.figure+of+timesAsMuch(x, v.pairs.Log, k.cells[i].Unit))
		waited = waited && k.waitingExplains(k.cells[i], k.cells[0], x)
		if slow == "" && v.pairs.Log && math.Max(x.Estimate, 1/x.Estimate) >= 1+skewFrom &&
			(x.Estimate < median.Lo || x.Estimate > median.Hi) {
			slow = map[bool]string{true: name, false: best}[x.Estimate > 1]
		}
	}
	switch says := strings.Join(parts, " and "); {
	case len(parts) == 0:
	case waited:
		*perhaps = append(*perhaps, says)
	case slow != "" && k.cells[i].Unit == "s":
		*certain = append(*certain, fmt.Sprintf("%s: a part of the requests of %s is slow", says, slow))
	default:
		*certain = append(*certain, says)
	}
}
