package report

import (
	"fmt"
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
	{{"rtt", "Quickest", measure.Client}, {"total_time", "Quickest overall", measure.Client},
		{"response_time", fromDue, measure.Client}},
	{{"wire_bytes", "Fewest bytes on the wire", measure.Client},
		{"datagram_bytes", "Fewest bytes of datagrams", measure.Client}, {"message_size", "Smallest body", measure.Client}},
	{{"energy", "Least energy", measure.Client},
		{"energy_gross", "Least energy, idle power included", measure.Client},
		{"energy", "Least energy of the server", measure.Server},
		{"energy_gross", "Least energy of the server, idle power included", measure.Server}},
	{{"cpu", "Least client CPU", measure.Client}, {"cpu", "Least server CPU", measure.Server}},
}

// fromDue asks for the shortest response time.
const fromDue = "Quickest, from when requests were due"

// outagesOf comes first: where devices met an outage, it is what the study is about. devicesOf is asked of devices
// besides.
var (
	outagesOf = []question{{"recovery_time", "Back soonest after the outage", measure.Client}}
	devicesOf = [][]question{{{"failed_share", "Fewest failed requests", measure.Client}},
		{{"notifications_missed", "Fewest notifications missed", measure.Client}}}
)

// A question asks for the best in one response of a side.
type question struct {
	response, words string
	side            measure.Side
}

// censored says that trials which have no figure would have had to go on for one.
func (q question) censored() bool {
	x, _ := measure.FindResponse(q.response)
	return x.Censored()
}

// rare says that of a good treatment it does not happen at all.
func (q question) rare() bool {
	return slices.ContainsFunc(devicesOf, func(row []question) bool { return slices.Contains(row, q) })
}

// questions are those of a group. Behind a link bytes come first: they are what a
// device pays for.
func (r *Report) questions(g group) [][]question {
	linked := slices.ContainsFunc(g.treatments, func(i int) bool {
		s := r.Treatments[i].setup
		return s != nil && s.Link.Text != "none"
	})
	out := slices.Clone(verdictOf)
	switch time := r.timeOf(g.treatments); {
	case time == "response_time" && r.atRate(g.treatments):
		out[0] = []question{{time, fromDue, measure.Client}}
	case time != "rtt":
		out[0] = []question{{time, "Quickest, connecting included", measure.Client}}
	case r.connecting(g.treatments):
		out[0] = []question{{time, "Quickest once connected", measure.Client}}
	case r.atRate(g.treatments):
		out[0] = []question{{time, "Quickest once sent", measure.Client}, out[0][1]}
	}
	if linked {
		out[0], out[1] = out[1], out[0]
	}
	out = slices.Insert(out, 0, outagesOf)
	if slices.ContainsFunc(g.treatments, func(i int) bool {
		s := r.Treatments[i].setup
		return s != nil && s.Population.Devices > 0
	}) {
		out = slices.Insert(out, 1, devicesOf...)
	}
	return r.firstAsked(out)
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
		return []verdictLine{{Best: "No answer: these results " + r.changed() + "."}}
	}
	var out []verdictLine
	add := func(all ...string) {
		for _, text := range all {
			out = append(out, verdictLine{Best: text})
		}
	}
	add(r.starvedWords()...)
	if r.Search != "" {
		add(r.Search)
	} else if said := r.sentencesByGroup(); len(said) > 0 {
		out = append(out, said...)
	} else {
		add(r.noAnswer())
	}
	add(r.sayFailed()...)
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
		if len(own) == 0 {
			own = r.alone(g)
		}
		if i > 0 && len(out)+len(own) > mostSentences {
			n := len(groups) - i
			out = append(out, verdictLine{Best: fmt.Sprintf("%s (%s) %s: see the tables, or edgegauge choose.",
				plural.Count(n, "more group"), list(groupNames(groups[i:]), mostNames),
				plural.Verb(n, "has a verdict of its own", "have verdicts of their own"))})
			break
		}
		out = append(out, own...)
	}
	if len(out) > 0 {
		out = append(out, r.single(groups)...)
	}
	return out
}

// single names the treatments that are compared with none, as they alone have what one does not choose.
func (r *Report) single(groups []group) []verdictLine {
	var names []string
	for _, g := range groups {
		if len(groups) > 1 && len(g.treatments) == 1 {
			names = append(names, r.Treatments[g.treatments[0]].Name())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []verdictLine{{Best: fmt.Sprintf("Not compared: %s, since no other treatment has the same link, devices, load "+
		"and message.", list(names, mostNames))}}
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
		if q.rare() && !slices.ContainsFunc(cells, func(c *Cell) bool { return c.Mean.Center > 0 }) {
			continue // it happened to none
		}
		head := words
		if method == store.Modelled {
			head += " (modelled, not measured)"
		}
		if len(cells) > 1 || q.censored() && len(cells) > 0 && len(g.treatments) > 1 {
			out = append(out, r.ranked(g, q, head, cells))
		}
	}
	return out
}

// repeated is how many treatments, floors aside, have two valid trials or more.
func (r *Report) repeated() (n int) {
	for _, t := range r.Treatments {
		if t.Valid > 1 && !r.isFloor(t.Stack) {
			n++
		}
	}
	return n
}

// alone says why one of several groups has no verdict where it was to have one, and others have trials.
func (r *Report) alone(g group) []verdictLine {
	planned := 0
	var valid []string
	for _, i := range g.treatments {
		if r.Treatments[i].Wanted > 1 {
			planned++
		}
		if r.Treatments[i].Valid > 1 {
			valid = append(valid, r.nameIn(g, i))
		}
	}
	why := "no treatment has two valid trials"
	switch {
	case g.name == "" || planned < 2 || len(valid) > 1 || r.repeated() < 2:
		return nil
	case len(valid) == 1:
		why = fmt.Sprintf("only %s has two or more valid trials", valid[0])
	}
	return []verdictLine{{Best: fmt.Sprintf("No comparison, %s: %s.", g.name, why)}}
}

// noAnswer says why nothing is the best.
func (r *Report) noAnswer() string {
	repeated := r.repeated()
	main, _ := r.MainResponse()
	switch {
	case r.Benches != nil && len(r.Benches.Names) < 2:
		return "No comparison: fewer than two benches completed a block with a valid trial of every treatment."
	case repeated == 0 && r.asksForOne():
		return "No answer: the study asks for one trial of each treatment, and one shows no spread: set " +
			"design.replications to 2 or more, preferably 10."
	case repeated == 0:
		return "No answer: no treatment has two valid trials."
	case repeated == 1:
		return "No comparison: only one treatment has two or more valid trials."
	case main != "":
		return "No comparison: for no figure do two treatments have two or more valid trials that can be compared."
	}
	return "No verdict: no time of a whole request was measured, nor bytes, CPU or energy."
}

// asksForOne says whether each treatment has the one trial that the study asks for.
func (r *Report) asksForOne() bool {
	return r.Study.Design.Replications == 1 && !slices.ContainsFunc(r.Treatments, func(t Treatment) bool {
		return t.Valid != 1
	})
}

// ranked names the best treatment, those without a significant difference from
// it, and how much the next and the last differ. The interval shown is the one
// the verdict used: it holds for all pairs at once.
func (r *Report) ranked(g group, q question, head string, cells []*Cell) verdictLine {
	if q.censored() { // trials that have a figure are the better ones: of whom some lack it, it is too small
		cells = slices.DeleteFunc(cells, func(c *Cell) bool { return c.lacking > 0 })
		if len(cells) == 1 {
			c := cells[0]
			s := c.Headline()
			return verdictLine{fmt.Sprintf("%s: %s, the only one with a figure in each trial, %s%s%s", head,
				r.nameIn(g, c.Treatment), Format(s.Center, c.Unit), inMedian(c), between(s, c.Unit)), r.unranked(g, q) + "."}
		}
	}
	lost, cells, err := r.lossesOf(cells)
	if err == nil && len(cells) < 2 {
		return verdictLine{Best: fmt.Sprintf("%s: not compared%s.", head, r.unranked(g, q))}
	}
	var k ranking
	if err == nil {
		k, err = rankCells(cells, lost, r.Study.Design.Confidence)
	}
	if err != nil {
		return verdictLine{Best: fmt.Sprintf("%s: not compared: %v.", head, err)}
	}
	if text := k.allNothing(func(treatment int) string { return r.nameIn(g, treatment) }); text != "" {
		return verdictLine{Best: head + text + r.unranked(g, q) + "."}
	}
	best := k.cells[0]
	s := k.summary(best)
	text := fmt.Sprintf("%s: %s, %s%s", head, r.nameIn(g, best.Treatment), Format(s.Center, best.Unit),
		between(s, best.Unit))
	if k.median {
		text += " (medians, since " + k.medianWhy() + ")"
	}
	if lost.unseen() {
		var failed []float64
		for _, c := range k.cells {
			failed = append(failed, lost.share(c))
		}
		text += ofAnswered(q.response, failed) + " (by answered requests alone: the exchanges that tell of all are not " +
			"read here)"
	}
	if q.response == "throughput" {
		var failed []float64
		for _, c := range k.cells {
			failed = append(failed, stat.Pooled(r.Treatments[c.Treatment].failed).Of())
		}
		text += ofAnswered(q.response, failed)
	}
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

// ofAnswered says of which share of its requests the best one's time or throughput is, where the shares that failed
// differ: what is sent again counts in the times of one, and what was lost is in nobody's. The best one's share is the
// first.
func ofAnswered(response string, failed []float64) string {
	if !advise.OfAnswered(response) && response != "throughput" || len(failed) < 2 ||
		!(slices.Max(failed)-slices.Min(failed) >= muchFailed) {
		return ""
	}
	others := answeredPercent(slices.Max(failed[1:]))
	if most := answeredPercent(slices.Min(failed[1:])); most != others {
		others += " to " + most
	}
	return fmt.Sprintf(", of the %s of its requests that were answered (others: %s)", answeredPercent(failed[0]), others)
}

func answeredPercent(failed float64) string { return fmt.Sprintf("%.3g %%", 100*(1-failed)) }

// unranked names the treatments of a group that have no figure to be ranked by: one of them may be the best.
func (r *Report) unranked(g group, q question) string {
	var few, left, lacking, failing, down []string
	for _, i := range g.treatments {
		c, ok := r.Cell(i, q.side, q.response)
		switch t := r.Treatments[i]; {
		case q.censored() && t.Valid > 1 && t.recovered[0] < t.recovered[1]:
			down = append(down, fmt.Sprintf("%s (%d of %d)", r.nameIn(g, i), t.recovered[1]-t.recovered[0], t.recovered[1]))
		case ok && len(c.replicates()) > 1 && c.medianFails():
			failing = append(failing, fmt.Sprintf("%s (%s failed)", r.nameIn(g, i), percentFailed(stat.Pooled(t.failed).Of())))
		case ok && len(c.replicates()) > 1 || t.Wanted < 2:
		case t.Valid < 2:
			few = append(few, r.nameIn(g, i))
		case r.leftOut(i, q.side, q.response):
			left = append(left, r.nameIn(g, i))
		default:
			lacking = append(lacking, r.nameIn(g, i))
		}
	}
	text := ""
	if len(down) > 0 {
		text = "; not ranked, since devices were not back by the end of trials: " + list(down, mostNames)
	}
	if len(few) > 0 {
		text += "; not ranked, since fewer than two of its trials are valid: " + list(few, mostNames)
	}
	if len(left) > 0 {
		text += "; not ranked, since the study leaves this figure out: " + list(left, mostNames)
	}
	if len(lacking) > 0 {
		text += "; not ranked, since fewer than two of its trials have the figure: " + list(lacking, mostNames)
	}
	if len(failing) > 0 {
		text += "; not ranked, since the median among all requests of a trial is one that failed: " + list(failing, mostNames)
	}
	return text
}

func between(s stat.Summary, unit string) string {
	if !(s.Hi > s.Lo) || Format(s.Lo, unit) == Format(s.Hi, unit) { // or narrower than its digits
		return ""
	}
	return " (" + span(s, unit) + ")"
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
	within := figure(x.Lo) + " to " + figure(x.Hi)
	if ratio {
		within = ratioRange(x)
	}
	return fmt.Sprintf("%s%s (%s)", figure(x.Estimate), says, within)
}
