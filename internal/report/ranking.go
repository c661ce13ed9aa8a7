package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
)

// A ranking orders cells by one statistic and compares every pair at once.
type ranking struct {
	cells  []*Cell
	median bool        // medians are compared, not means: trials are skewed or fall into clusters, or requests failed
	more   bool        // the best has the greatest figure
	losses *losses     // of requests; nil: none failed, or it is no time of a request
	rows   [][]float64 // of each cell, by block; NaN where it has none
	pairs  *stat.AllPairs
	veiled []veiledPairs // what medians do not show; none where means are compared
	late   [][]float64   // as rows, what waiting for a CPU may have made of a share of requests that failed
}

func rankCells(cells []*Cell, lost *losses, confidence float64) (ranking, error) {
	k := ranking{cells: slices.Clone(cells), more: moreIsBetter(cells[0].Response), losses: lost}
	k.median = byMedians(cells, lost)
	slices.SortStableFunc(k.cells, func(a, b *Cell) int {
		if k.more {
			a, b = b, a
		}
		return cmp.Compare(k.summary(a).Center, k.summary(b).Center)
	})
	blocks := map[int]int{}
	for _, c := range k.cells {
		for _, p := range c.replicates() {
			if _, ok := blocks[p.Block]; !ok {
				blocks[p.Block] = len(blocks)
			}
		}
	}
	for i, block := range slices.Sorted(maps.Keys(blocks)) { // in the order of time
		blocks[block] = i
	}
	rowsOf := func(value func(Point) float64) [][]float64 {
		rows := make([][]float64, len(k.cells))
		for i, c := range k.cells {
			rows[i] = slices.Repeat([]float64{math.NaN()}, len(blocks))
			for _, p := range c.replicates() {
				if rows[i][blocks[p.Block]] = c.lateOf(p); value != nil {
					rows[i][blocks[p.Block]] = value(p)
				}
			}
		}
		return rows
	}
	k.rows = rowsOf(func(p Point) float64 {
		switch {
		case lost.known():
			return p.allMedian()
		case k.median:
			return p.Median
		}
		return p.Mean
	})
	k.late = rowsOf(nil)
	var err error
	if k.pairs, err = stat.NewAllPairs(k.rows, confidence); err == nil && k.median {
		k.veiled, err = veil(k.cells, rowsOf, confidence)
	}
	if err == nil {
		hidden := make([]float64, len(k.cells))
		for i, c := range k.cells {
			hidden[i] = c.Unseen
		}
		k.pairs.Measured, k.pairs.Step = slices.ContainsFunc(cells, (*Cell).ticks), stepOf(cells)
		k.pairs.Hide(hidden)
		for _, v := range k.veiled {
			v.pairs.Measured, v.pairs.Step = k.pairs.Measured, k.pairs.Step
			v.pairs.Hide(hidden)
		}
	}
	return k, err
}

// byMedians reports whether cells are ranked by medians: they are shown so, or requests failed.
func byMedians(cells []*Cell, lost *losses) bool {
	return lost.known() || slices.ContainsFunc(cells, func(c *Cell) bool { return c.ByMedian })
}

// overBest is how many times as much the figure of a cell is as that of the best, in the blocks that both have.
func (k ranking) overBest(i int) float64 {
	if !slices.ContainsFunc(slices.Concat(k.rows[i], k.rows[0]), math.IsNaN) {
		return k.summary(k.cells[i]).Center / k.summary(k.cells[0]).Center
	}
	return advise.RatioOfCommon(k.rows[i], k.rows[0], func(xs []float64) (stat.Summary, error) {
		return stat.Mean(xs, k.pairs.Confidence)
	})
}

// medianWhy says why medians are compared.
func (k ranking) medianWhy() string {
	if k.losses.known() {
		return "requests failed: among all requests, with those as the slowest"
	}
	if slices.ContainsFunc(k.cells, func(c *Cell) bool { return c.Clustered }) {
		return "trials fall into two clusters"
	}
	return "trials are skewed"
}

// summary is the figure by which cells are ranked.
func (k ranking) summary(c *Cell) stat.Summary {
	if k.losses.known() {
		return k.losses.centers[c]
	}
	if k.median {
		return c.Median
	}
	return c.Mean
}

// others says what is known of every treatment but the best, and which share the first place with it.
func (k ranking) others(nameOf func(treatment int) string) (same []string, text string) {
	var alike, odd, turned, slowed nameList
	var but, yet, perhaps []string
	var apart []apartness
	var untold []string
	first := nameOf(k.cells[0].Treatment)
	for i, c := range k.cells[1:] {
		name := nameOf(c.Treatment)
		x, err := k.pairs.Compare(i+1, 0)
		fails := k.losses.ofBest(k.cells[0], c, first, name)
		if err != nil {
			untold, but = append(untold, name), appendSaid(but, fails)
			continue
		}
		show, behind := &but, false
		tied := advise.SameFigure(k.summary(c).Center, k.summary(k.cells[0]).Center) && !x.Hides(x.Even())
		switch ratio := k.overBest(i + 1); { // of means: medians are held against the blocks alone
		case k.pairs.Log && !k.median && x.Lo < x.Hi && (ratio < x.Lo || ratio > x.Hi) && !k.behind(x):
			odd.add(fmt.Sprintf("%s (mean %s times as much, typical trial %s)", name, ratioText(ratio),
				timesAsMuch(x, true, "")), x)
		case tied && x.Lo <= x.Even() && x.Even() <= x.Hi:
			same = append(same, name)
		case x.Lo == x.Hi && x.Estimate == x.Even():
			alike.add(name, x)
		case x.Hi < x.Even() && !k.more || x.Lo > x.Even() && k.more:
			turned.add(name+", "+timesAsMuch(x, k.pairs.Log, c.Unit), x)
			but = appendSaid(but, fails)
			continue
		case (x.P < 1-k.pairs.Confidence || x.Lo == x.Hi) && k.waitingExplains(c, k.cells[0], x):
			slowed.add(name+", "+timesAsMuch(x, k.pairs.Log, c.Unit), x)
		case x.P < 1-k.pairs.Confidence || x.Lo == x.Hi:
			apart = append(apart, apartness{name, timesAsMuch(x, k.pairs.Log, c.Unit), k.summary(c).Center, x})
			show, behind = &yet, true
		default:
			alike.add(name, x)
		}
		k.unveil(i+1, first, name, x, behind, show, &perhaps)
		*show = appendSaid(*show, fails)
	}
	if len(alike.names) > 0 {
		text = "; no significant difference from it: " + list(alike.names, mostNames) + alike.span(k.pairs.Log)
	}
	if len(but) > 0 {
		text += map[bool]string{true: ", but ", false: "; but "}[text != ""] + clauses(but)
	}
	if len(odd.names) > 0 {
		text += "; mean and typical trial disagree, because of a few slow trials: " + list(odd.names, 2)
	}
	if len(turned.names) > 0 {
		text += blocksDisagree(k.more) + list(turned.names, 2)
	}
	if len(slowed.names) > 0 {
		text += waitingMayExplain + list(slowed.names, 2)
	}
	if len(apart) > 0 {
		// By the ratios that are said, of blocks: figures of nearly alike ones may lie the other way round.
		slices.SortStableFunc(apart, func(a, b apartness) int {
			if k.more {
				a, b = b, a
			}
			return cmp.Compare(a.x.Estimate, b.x.Estimate)
		})
		next, last := apart[0].tied(apart), apart[len(apart)-1].tied(apart)
		text += "; next is " + next
		if last != next {
			text += "; last is " + last
		}
	}
	if len(yet) > 0 {
		text += "; yet " + clauses(yet)
	}
	if len(perhaps) > 0 {
		text += "; waiting for a CPU may explain that " + clauses(perhaps)
	}
	if len(untold) > 0 {
		text += notCompared + list(untold, mostNames)
	}
	return same, text
}

// behind says that what is compared with the best is behind it, beyond doubt.
func (k ranking) behind(x stat.Comparison) bool {
	return x.Lo > x.Even() && !k.more || x.Hi < x.Even() && k.more
}

// appendSaid appends what is said, if anything is.
func appendSaid(to []string, says string) []string {
	if says == "" {
		return to
	}
	return append(to, says)
}

// clauses are at most two of those said of treatments, and of how many more the like holds.
func clauses(all []string) string {
	if n := len(all) - 2; n > 0 {
		return strings.Join(all[:2], "; ") + "; and likewise for " + plural.Count(n, "more treatment")
	}
	return strings.Join(all, "; ")
}

// An apartness is a treatment that differs from the best beyond doubt.
type apartness struct {
	name, times string
	center      float64
	x           stat.Comparison // with the best
}

// ties reports whether two have one figure and compare with the best as one does.
func (a apartness) ties(b apartness) bool {
	return advise.SameFigure(a.center, b.center) && advise.SameFigure(a.x.Lo, b.x.Lo) && advise.SameFigure(a.x.Hi, b.x.Hi)
}

// tied names those of all that tie with one of them.
func (a apartness) tied(all []apartness) string {
	var names []string
	for _, b := range all {
		if b.ties(a) {
			names = append(names, b.name)
		}
	}
	text := names[0] + ", " + a.times
	if len(names) > 1 {
		text += asMuch + list(names[1:], mostNames)
	}
	return text
}

// asMuch is what stands before treatments that share the first place.
const asMuch = ", and exactly as much: "

// notCompared is what stands before treatments of which nothing is known beside the best.
const notCompared = "; not compared with it, since fewer than two blocks have both: "

// blocksDisagree is what stands before treatments of which the figure and the blocks tell opposite
// stories: a median, beside the mean of logarithms; or trials of blocks that the best lacks.
func blocksDisagree(more bool) string {
	return "; behind it, and yet " + map[bool]string{true: "more", false: "less"}[more] + " in the blocks that both have: "
}

// waitingMayExplain is what stands before differences that are no answer, since a busy machine makes such.
const waitingMayExplain = "; cannot be distinguished from it, since waiting for a CPU may explain the difference: "

// waitingExplains reports whether waiting for a CPU may explain how two cells compare.
func (k ranking) waitingExplains(a, b *Cell, x stat.Comparison) bool {
	wide := advise.Allowance(a.Waiting, b.Waiting)
	if wide > 1 && a.Response == failedShare {
		return advise.LateExplains(k.rows, k.late, slices.Index(k.cells, a), slices.Index(k.cells, b), k.pairs.Confidence)
	}
	return wide > 1 && !(k.pairs.Log && advise.Beyond(x, wide))
}

// A nameList gathers treatments of which the same is said.
type nameList struct {
	names  []string
	lo, hi float64 // of their intervals together
}

func (l *nameList) add(name string, x stat.Comparison) {
	if len(l.names) == 0 {
		l.lo, l.hi = x.Lo, x.Hi
	}
	l.names, l.lo, l.hi = append(l.names, name), min(l.lo, x.Lo), max(l.hi, x.Hi)
}

// span is the range of all ratios that the intervals leave possible.
func (l nameList) span(ratio bool) string {
	if !ratio || !(l.lo < l.hi) {
		return ""
	}
	if advise.SaysNothing(l.lo, l.hi) {
		return " (the trials do not tell how many times as much)"
	}
	return fmt.Sprintf(" (%s to %s times as much)", ratioText(l.lo), ratioText(l.hi))
}
