package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// Bounds of a verdict, so that it fits on a screen.
const (
	mostSentences = 9 // of all groups together
	mostNames     = 4 // in one list
	mostAlarms    = 3
)

// verdictOf are the questions a verdict answers, in their order. Of the
// responses of one question the first that was measured answers it.
var verdictOf = [][]question{
	{{"rtt", "Quickest", measure.Client}, {"total_time", "Quickest overall", measure.Client}},
	{{"wire_bytes", "Fewest bytes on the wire", measure.Client}, {"message_size", "Smallest body", measure.Client}},
	{{"energy", "Least energy", measure.Client},
		{"energy_gross", "Least energy, idle power included", measure.Client},
		{"energy", "Least energy of the server", measure.Server},
		{"energy_gross", "Least energy of the server, idle power included", measure.Server}},
	{{"cpu", "Least client CPU", measure.Client}, {"cpu", "Least server CPU", measure.Server}},
}

// A question asks for the best in one response of a side.
type question struct {
	response, words string
	side            measure.Side
}

// questions are those of a group. Behind a link bytes come first: they are what a
// device pays for.
func (r *Report) questions(g group) [][]question {
	linked := slices.ContainsFunc(g.treatments, func(i int) bool {
		s := r.Treatments[i].setup
		return s != nil && s.Link.Text != "none"
	})
	out := slices.Clone(verdictOf)
	if time := r.timeOf(g.treatments); time != "rtt" {
		out[0] = []question{{time, "Quickest, connecting included", measure.Client}}
	} else if r.connecting(g.treatments) {
		out[0] = []question{{time, "Quickest once connected", measure.Client}}
	}
	if linked {
		out[0], out[1] = out[1], out[0]
	}
	return out
}

// timeOf is the response that says how long a request takes: the RTT, or where treatments connect for
// each request what has that in it, if it was measured.
func (r *Report) timeOf(treatments []int) string {
	for _, whole := range []string{"total_time", "response_time"} {
		if r.connecting(treatments) && slices.ContainsFunc(treatments, func(i int) bool {
			_, ok := r.Cell(i, measure.Client, whole)
			return ok
		}) {
			return whole
		}
	}
	return "rtt"
}

// connecting says that some treatments connect anew for each request: their RTT begins when the
// connection is there.
func (r *Report) connecting(treatments []int) bool {
	return slices.ContainsFunc(treatments, func(i int) bool {
		s := r.Treatments[i].setup
		return s != nil && s.Connection == "per-request"
	})
}

// Verdict answers in words: first what may spoil the answer, then who is
// quickest, by how much, how surely, one verdict for each group.
func (r *Report) Verdict() []string {
	var out []string
	for _, s := range r.answer() {
		out = append(out, s.Best+s.Others)
	}
	return out
}

// A verdictLine is a sentence of the answer.
type verdictLine struct {
	Best   string // who is the best, and its figure; or the whole sentence
	Others string // what is known of the others, from the semicolon to the stop
}

// answer is the verdict, each sentence in its two parts.
func (r *Report) answer() []verdictLine {
	if len(r.Damage) > 0 {
		return []verdictLine{{Best: "No answer: these results have changed since the lab wrote them."}}
	}
	var out []verdictLine
	add := func(all ...string) {
		for _, text := range all {
			out = append(out, verdictLine{Best: text})
		}
	}
	add(r.starvedWords()...)
	if said := r.sentencesByGroup(); len(said) > 0 {
		out = append(out, said...)
	} else {
		add(r.noAnswer())
	}
	add(r.Disagreements()...)
	for i, a := range r.Alarms {
		if i == mostAlarms {
			add(fmt.Sprintf("%s failed; see the figures %s.", plural.Count(len(r.Alarms)-i, "more check"),
				plural.Verb(len(r.Alarms)-i, "it concerns", "they concern")))
			break
		}
		add("Check: " + a)
	}
	return out
}

// sentencesByGroup are at most mostSentences: all questions of the first groups
// that fit, and how many groups are left to the tables.
func (r *Report) sentencesByGroup() []verdictLine {
	groups := r.groups()
	var out []verdictLine
	for i, g := range groups {
		var own []verdictLine
		for _, all := range r.questions(g) {
			for _, q := range all {
				if v := r.sentencesOn(g, q); len(v) > 0 {
					own = append(own, v...)
					break
				}
			}
		}
		if i > 0 && len(out)+len(own) > mostSentences {
			return append(out, verdictLine{Best: fmt.Sprintf(
				"%d more groups (%s) have verdicts of their own: see the tables, or edgegauge choose.", len(groups)-i,
				list(groupNames(groups[i:]), mostNames))})
		}
		out = append(out, own...)
	}
	return out
}

func groupNames(all []group) []string {
	var out []string
	for _, g := range all {
		out = append(out, g.name)
	}
	return out
}

// sentencesOn are the verdict of one response in one group: one sentence of
// what was measured, and one of what was modelled, for the two are never mixed.
func (r *Report) sentencesOn(g group, q question) []verdictLine {
	var out []verdictLine
	words := q.words
	if g.name != "" {
		words += ", " + g.name
	}
	for _, method := range []store.Method{store.Measured, store.Modelled} {
		var cells []*Cell
		for _, i := range g.treatments {
			c, ok := r.Cell(i, q.side, q.response)
			if ok && len(c.replicates()) > 1 && (c.Method == store.Modelled) == (method == store.Modelled) {
				cells = append(cells, c)
			}
		}
		head := words
		if method == store.Modelled {
			head += " (modelled, not measured)"
		}
		if len(cells) > 1 {
			out = append(out, r.ranked(g, q, head, cells))
		}
	}
	return out
}

// noAnswer says why nothing is the best.
func (r *Report) noAnswer() string {
	repeated := 0
	for _, t := range r.Treatments {
		if t.Valid > 1 && !r.isFloor(t.Stack) {
			repeated++
		}
	}
	switch {
	case r.Benches != nil && len(r.Benches.Names) < 2:
		return "No comparison: fewer than two benches completed a block with a valid trial of every treatment."
	case repeated == 0:
		return "No answer: no treatment has two valid trials."
	case repeated == 1:
		return "No comparison: only one treatment has two or more valid trials."
	}
	return "No verdict: times, message sizes, CPU and net energy were not measured."
}

// A ranking orders cells by one statistic and compares every pair at once.
type ranking struct {
	cells  []*Cell
	median bool        // trials are skewed or fall into clusters: medians are compared, not means
	rows   [][]float64 // of each cell, by block; NaN where it has none
	pairs  *stat.AllPairs
}

func rankCells(cells []*Cell, confidence float64) (ranking, error) {
	k := ranking{cells: slices.Clone(cells)}
	k.median = slices.ContainsFunc(cells, func(c *Cell) bool { return c.Clustered || c.ByMedian })
	slices.SortStableFunc(k.cells, func(a, b *Cell) int { return cmp.Compare(k.summary(a).Center, k.summary(b).Center) })
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
	k.rows = make([][]float64, len(k.cells))
	for i, c := range k.cells {
		k.rows[i] = slices.Repeat([]float64{math.NaN()}, len(blocks))
		for _, p := range c.replicates() {
			k.rows[i][blocks[p.Block]] = p.Mean
			if k.median {
				k.rows[i][blocks[p.Block]] = p.Median
			}
		}
	}
	var err error
	k.pairs, err = stat.NewAllPairs(k.rows, confidence)
	return k, err
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
	if slices.ContainsFunc(k.cells, func(c *Cell) bool { return c.Clustered }) {
		return "trials fall into two clusters"
	}
	return "trials are skewed"
}

// summary is the figure by which cells are ranked.
func (k ranking) summary(c *Cell) stat.Summary {
	if k.median {
		return c.Median
	}
	return c.Mean
}

// ranked names the best treatment, those without a significant difference from
// it, and how much the next and the last differ. The interval shown is the one
// the verdict used: it holds for all pairs at once.
func (r *Report) ranked(g group, q question, head string, cells []*Cell) verdictLine {
	k, err := rankCells(cells, r.Study.Design.Confidence)
	if err != nil {
		return verdictLine{Best: fmt.Sprintf("%s: not compared: %v.", head, err)}
	}
	best := k.cells[0]
	s := k.summary(best)
	text := fmt.Sprintf("%s: %s, %s%s", head, r.nameIn(g, best.Treatment), Format(s.Center, best.Unit),
		between(s, best.Unit))
	if k.median {
		text += " (medians, since " + k.medianWhy() + ")"
	}
	var failed []float64
	for _, c := range k.cells {
		failed = append(failed, stat.Pooled(r.Treatments[c.Treatment].failed).Of())
	}
	text += ofAnswered(q.response, failed)
	if best.HasFloor {
		text += fmt.Sprintf(", %s times its floor", significant(best.AboveFloor.Estimate))
	}
	same, others := k.others(func(treatment int) string { return r.nameIn(g, treatment) })
	if len(same) > 0 {
		text += asMuch + list(same, mostNames)
	}
	return verdictLine{text, others + r.unranked(g, q) + "."}
}

// muchFailed is the share of failed requests by which treatments differ where a ranking by those answered says so.
const muchFailed = 0.01

// ofAnswered says of which share of its requests the best one's time is, where the shares that failed differ: what is
// sent again counts in the times of one, and what was lost is in nobody's. The best one's share is the first.
func ofAnswered(response string, failed []float64) string {
	if !slices.Contains([]string{"rtt", "response_time", "total_time"}, response) || len(failed) < 2 ||
		!(slices.Max(failed)-slices.Min(failed) >= muchFailed) {
		return ""
	}
	percent := func(failed float64) string { return fmt.Sprintf("%.3g %%", 100*(1-failed)) }
	others := percent(slices.Max(failed[1:]))
	if most := percent(slices.Min(failed[1:])); most != others {
		others += " to " + most
	}
	return fmt.Sprintf(", of the %s of its requests that were answered (others: %s)", percent(failed[0]), others)
}

// unranked names the treatments of a group that have no figure to be ranked by: one of them may be the best.
func (r *Report) unranked(g group, q question) string {
	var few, lacking []string
	for _, i := range g.treatments {
		c, ok := r.Cell(i, q.side, q.response)
		switch t := r.Treatments[i]; {
		case ok && len(c.replicates()) > 1 || t.Wanted < 2:
		case t.Valid < 2:
			few = append(few, r.nameIn(g, i))
		default:
			lacking = append(lacking, r.nameIn(g, i))
		}
	}
	text := ""
	if len(few) > 0 {
		text = "; not ranked, since fewer than two of its trials are valid: " + list(few, mostNames)
	}
	if len(lacking) > 0 {
		text += "; not ranked, since fewer than two of its trials have the figure: " + list(lacking, mostNames)
	}
	return text
}

// others says what is known of every treatment but the best, and which share the first place with it.
func (k ranking) others(nameOf func(treatment int) string) (same []string, text string) {
	var alike, odd, turned, slowed nameList
	var apart []apartness
	var untold []string
	for i, c := range k.cells[1:] {
		name := nameOf(c.Treatment)
		x, err := k.pairs.Compare(i+1, 0)
		if err != nil {
			untold = append(untold, name)
			continue
		}
		tied := advise.SameFigure(k.summary(c).Center, k.summary(k.cells[0]).Center)
		switch ratio := k.overBest(i + 1); { // of means: medians are held against the blocks alone
		case k.pairs.Log && !k.median && x.Lo < x.Hi && (ratio < x.Lo || ratio > x.Hi) && !(x.Lo > 1):
			odd.add(fmt.Sprintf("%s (mean %s times as much, typical trial %s)", name, ratioText(ratio),
				timesAsMuch(x, true, "")), x)
		case tied && x.Lo <= x.Even() && x.Even() <= x.Hi:
			same = append(same, name)
		case x.Lo == x.Hi && x.Estimate == x.Even():
			alike.add(name, x)
		case x.Hi < x.Even():
			turned.add(name+", "+timesAsMuch(x, k.pairs.Log, c.Unit), x)
		case (x.P < 1-k.pairs.Confidence || x.Lo == x.Hi) && k.waitingExplains(c, x):
			slowed.add(name+", "+timesAsMuch(x, k.pairs.Log, c.Unit), x)
		case x.P < 1-k.pairs.Confidence || x.Lo == x.Hi:
			apart = append(apart, apartness{name, timesAsMuch(x, k.pairs.Log, c.Unit), k.summary(c).Center, x})
		default:
			alike.add(name, x)
		}
	}
	if len(alike.names) > 0 {
		text = "; no significant difference from it: " + list(alike.names, mostNames) + alike.span(k.pairs.Log)
	}
	if len(odd.names) > 0 {
		text += "; mean and typical trial disagree, because of a few slow trials: " + list(odd.names, 2)
	}
	if len(turned.names) > 0 {
		text += blocksDisagree(false) + list(turned.names, 2)
	}
	if len(slowed.names) > 0 {
		text += waitingMayExplain + list(slowed.names, 2)
	}
	if len(apart) > 0 {
		next, last := apart[0].tied(apart), apart[len(apart)-1].tied(apart)
		text += "; next is " + next
		if last != next {
			text += "; last is " + last
		}
	}
	if len(untold) > 0 {
		text += notCompared + list(untold, mostNames)
	}
	return same, text
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
const waitingMayExplain = "; not told apart, since waiting for a CPU may explain the difference: "

// waitingExplains reports whether waiting for a CPU may explain how a cell compares with the best.
func (k ranking) waitingExplains(c *Cell, x stat.Comparison) bool {
	wide := advise.Allowance(c.Waiting, k.cells[0].Waiting)
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
	return fmt.Sprintf(" (%s to %s times as much)", ratioText(l.lo), ratioText(l.hi))
}

func between(s stat.Summary, unit string) string {
	lo, hi := Format(s.Lo, unit), Format(s.Hi, unit)
	if !(s.Hi > s.Lo) || lo == hi { // or narrower than its digits
		return ""
	}
	return fmt.Sprintf(" (%s to %s)", lo, hi)
}

// timesAsMuch is a ratio in words, or a difference in its unit.
func timesAsMuch(x stat.Comparison, ratio bool, unit string) string {
	says := " times as much"
	figure := ratioText // 1.007 (1.003 to 1.011), where 1.01 (1.00 to 1.01) would seem to hold 1
	if !ratio {
		says, figure = " more", func(v float64) string { return Format(v, unit) }
	}
	if !(x.Hi > x.Lo) {
		return figure(x.Estimate) + says
	}
	return fmt.Sprintf("%s%s (%s to %s)", figure(x.Estimate), says, figure(x.Lo), figure(x.Hi))
}
