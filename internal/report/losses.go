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
	"edgegauge.example/edgegauge/internal/study"
)

// The time of a request that failed is nobody's: who loses the slow ones would look quick by those that were answered.
// So where requests of a treatment failed, treatments are ranked by medians among all requests, of which those that
// failed are the slowest, as choose and compare have it; and where more of the requests of one failed than of another,
// the same sentence says so.

// losses are the requests that failed of cells of one time of requests. nil: none did.
type losses struct {
	failed     map[*Cell]advise.Attempts // of which only the requests that failed are told, and the wait
	centers    map[*Cell]stat.Summary    // of medians among all requests; none: nobody knows them
	confidence float64
}

// lossesOf finds the losses of cells of one response. It leaves out the cells whose median is a request that failed.
func (r *Report) lossesOf(cells []*Cell) (*losses, []*Cell, error) {
	failed := false
	unseen := false
	for _, c := range cells {
		failed = failed || c.ofAnswered() && stat.Pooled(r.Treatments[c.Treatment].failed).Hits > 0
		unseen = unseen || slices.ContainsFunc(c.replicates(), func(p Point) bool { return math.IsNaN(p.AllMedian) })
	}
	if !failed {
		return nil, cells, nil
	}
	l := &losses{failed: map[*Cell]advise.Attempts{}, confidence: r.Study.Design.Confidence}
	for _, c := range cells {
		t := r.Treatments[c.Treatment]
		l.failed[c] = advise.Attempts{Failed: t.failed, Late: t.late, Waiting: c.Waiting}
	}
	if unseen {
		return l, cells, nil
	}
	cells = slices.DeleteFunc(slices.Clone(cells), (*Cell).medianFails)
	l.centers = map[*Cell]stat.Summary{}
	for _, c := range cells {
		s, err := c.medianOfAll(l.confidence)
		if err != nil {
			return nil, nil, err
		}
		l.centers[c] = s
	}
	return l, cells, nil
}

// groupLosses are those of a response of the clients of a group.
func (r *Report) groupLosses(g group, response string) *losses {
	var cells []*Cell
	for _, i := range g.treatments {
		if c, ok := r.Cell(i, measure.Client, response); ok {
			cells = append(cells, c)
		}
	}
	l, _, err := r.lossesOf(cells)
	if err != nil {
		return nil
	}
	return l
}

// ofAnswered reports whether only requests that were answered have a value of a cell.
func (c *Cell) ofAnswered() bool { return c.Side == measure.Client && advise.OfAnswered(c.Response) }

// medianFails reports whether the median of some trial, among all its requests, is one that failed.
func (c *Cell) medianFails() bool {
	return slices.ContainsFunc(c.replicates(), func(p Point) bool { return math.IsInf(p.AllMedian, 1) })
}

// allMedian and allP95 are those among all requests of a trial.
func (p Point) allMedian() float64 { return cmp.Or(p.AllMedian, p.Median) }
func (p Point) allP95() float64    { return cmp.Or(p.AllP95, p.P95) }

// medianOfAll is the median of trial medians among all requests; of benches the mean of their units, as Cell.Median.
func (c *Cell) medianOfAll(confidence float64) (stat.Summary, error) {
	var values []float64
	for _, p := range c.replicates() {
		values = append(values, p.allMedian())
	}
	if c.on != nil {
		return stat.PositiveMeanOfUnits(values, confidence)
	}
	return stat.Median(values, confidence)
}

// value is that of a trial by which cells are compared: where requests failed, the median among all of them, NaN where
// that is one that failed.
func (l *losses) value(c *Cell, p Point) float64 {
	if l.known() {
		return answeredOrNone(p.allMedian())
	}
	return c.value(p)
}

// center is the figure of a cell by which cells are compared.
func (l *losses) center(c *Cell) float64 {
	if l.known() {
		return l.centers[c].Center
	}
	return c.Headline().Center
}

// known reports whether treatments are ranked by medians among all requests.
func (l *losses) known() bool { return l != nil && l.centers != nil }

// unseen reports whether requests failed, and nobody knows where among all of them a median lies.
func (l *losses) unseen() bool { return l != nil && l.centers == nil }

// share is that of the requests of a cell that failed.
func (l *losses) share(c *Cell) float64 { return stat.Pooled(l.failed[c].Failed).Of() }

// flatters reports whether means of the answered requests call the worse one of two so that fails fewer of its
// requests: the other one may have given up the slow ones.
func (l *losses) flatters(c, best *Cell, worse bool) bool {
	if l == nil {
		return false
	}
	if worse {
		return l.share(c) < l.share(best)
	}
	return l.share(best) < l.share(c)
}

// ofBest says that a larger share of the requests of the best failed than of another, beyond chance as compare judges
// it; empty: it did not.
func (l *losses) ofBest(best, c *Cell, name, other string) string {
	if l == nil {
		return ""
	}
	judged := advise.FailuresOfTrials([]advise.Attempts{l.failed[c]}, []advise.Attempts{l.failed[best]}, l.confidence)
	if len(judged) == 0 || judged[0].Verdict == stat.Contradicted {
		return ""
	}
	text := fmt.Sprintf("%s of the requests of %s failed, and %s of those of %s", percentFailed(l.share(best)), name,
		percentFailed(l.share(c)), other)
	switch {
	case judged[0].Verdict != stat.Undecided:
	case judged[0].Waits():
		text += " (" + judged[0].Open() + ")"
	default:
		text += " (perhaps by chance: " + judged[0].Open() + ")"
	}
	return text
}

func percentFailed(share float64) string {
	if share == 0 {
		return "none"
	}
	return fmt.Sprintf("%.3g %%", 100*share)
}

// failedOf is the share of the requests of a cell that failed, and so have no value of it; 0: none did, or each has
// one.
func (r *Report) failedOf(c *Cell) float64 {
	if all := stat.Pooled(r.Treatments[c.Treatment].failed); c.ofAnswered() && all.Hits > 0 {
		return all.Of()
	}
	return 0
}

// notInIt says how many requests failed, and so are not in a figure; empty: none.
func (r *Report) notInIt(c *Cell) string {
	if share := r.failedOf(c); share > 0 {
		return percentFailed(share) + " failed, not in it"
	}
	return ""
}

// besideFigure is what stands in pictures behind a figure.
func besideFigure(says string) string {
	if says == "" {
		return ""
	}
	return " · " + says
}

// rankAll makes the analysis of a time that of medians among all requests where some failed, those as the slowest;
// false: it has none, which it says.
func (r *Report) rankAll(e *Effects, t *stat.Table, series []advise.Series) bool {
	if !slices.ContainsFunc(series, advise.Series.OfAnswered) {
		return true
	}
	for i, s := range series {
		of, why := s.OfAll()
		if why != "" {
			e.Warnings = append(e.Warnings, "levels are not compared: "+why)
			return false
		}
		series[i] = of
	}
	e.Medians = true
	e.Warnings = append(e.Warnings, "requests failed: medians among all requests are compared, with those as the slowest")
	for i := range t.Rows {
		x := &t.Rows[i]
		at := slices.IndexFunc(series, func(s advise.Series) bool { return slices.Equal(s.Levels, x.Levels) })
		k := slices.IndexFunc(series[at].Trials, func(y advise.TrialSummary) bool { return fmt.Sprint(y.Block) == x.Block })
		x.Y = series[at].Trials[k].Mean
	}
	return true
}

// levelLosses says whether levels are compared by medians among all requests, and that more of those of the best one
// failed.
func (r *Report) levelLosses(series []advise.Series, factor string, x LevelContrast) (ofAll bool, fails string) {
	if !slices.ContainsFunc(series, advise.Series.OfAnswered) {
		return false, ""
	}
	l := losses{failed: map[*Cell]advise.Attempts{}, confidence: r.Study.Design.Confidence}
	best, other := &Cell{}, &Cell{}
	for _, s := range series {
		at := map[string]*Cell{x.Best: best, x.Other: other}[s.Level(factor)]
		if at == nil {
			continue
		}
		for _, t := range r.Treatments {
			if slices.Equal(t.Levels, s.Levels) {
				l.failed[at] = l.failed[at].With(advise.Attempts{Failed: t.failed, Late: t.late, Waiting: s.Waiting})
			}
		}
	}
	return true, l.ofBest(best, other, x.best(), x.other())
}

// lostInBlocks finds, of each block of each treatment, the share of the requests that failed, of the trial that counts
// and of the attempts at it that did not count for that; and how many attempts timeouts.trial ended.
func (r *Report) lostInBlocks(recorded map[store.AttemptID][]store.Quality, attempts []store.AttemptState) {
	at := map[int]store.TrialState{}
	for _, t := range r.Trials {
		at[t.ID] = t
	}
	for id, qualities := range recorded {
		m := map[string]float64{}
		for _, q := range qualities {
			m[q.Key] = q.Value
		}
		t := at[id.Trial]
		i := r.TreatmentOf(t.Treatment)
		counts := t.State == store.Valid && id.Attempt == t.Attempt
		if i < 0 || r.isAside(id.Trial) || !counts && !(m[store.FailuresRefused] > 0) {
			continue
		}
		x := &r.Treatments[i]
		if x.lost == nil {
			x.lost = map[int]stat.Share{}
		}
		x.lost[t.Block] = stat.Pooled([]stat.Share{x.lost[t.Block], {Hits: int(m["failures"]), N: int(m["requests"])}})
	}
	for _, a := range attempts {
		t := at[a.Trial]
		if i := r.TreatmentOf(t.Treatment); i >= 0 && !r.isAside(a.Trial) && a.State == store.Invalid &&
			study.WasTooLong(a.Reason) {
			x := &r.Treatments[i]
			if x.ended == nil {
				x.ended = map[int]int{}
			}
			x.ended[t.Block]++
		}
	}
}

// doubtEnded warns where attempts took longer than a trial may, and the treatment has trials that did not.
func (r *Report) doubtEnded() {
	for i, t := range r.Treatments {
		if n := t.endedAttempts(); n > 0 && t.Valid > 0 {
			text := fmt.Sprintf("%s ended by timeouts.trial: what counts are the trials that were over sooner, and their times "+
				"look better than the service is; raise timeouts.trial, and measure again into a new directory",
				plural.Count(n, "attempt")+plural.Verb(n, " was", " were"))
			r.Alarms = append(r.Alarms, t.Name()+": "+text)
			r.warnCells(i, measure.Client, nil, text)
		}
	}
}

// endedAttempts is how many attempts timeouts.trial ended.
func (t Treatment) endedAttempts() (n int) {
	for _, of := range t.ended {
		n += of
	}
	return n
}

// lostOf are the shares of the requests, by block, that have no value of a cell, which may be a long one, 1 where a
// trial has none for that; nil: each has a value. They are those that failed, of a time that only answered ones have,
// and all of the attempts that took too long, of any time of requests. Units of benches have the share of all.
func (t Treatment) lostOf(c Cell) map[int]float64 {
	x, _ := measure.FindResponse(c.Response)
	if !x.OfRequests() || x.Unit != "s" {
		return nil
	}
	out := map[int]float64{}
	has := map[int]bool{}
	for _, p := range c.Points {
		has[p.Block] = true
	}
	blocks := map[int]bool{}
	for block := range t.lost {
		blocks[block] = true
	}
	for block := range t.ended {
		blocks[block] = true
	}
	sum := 0.0
	for _, block := range slices.Sorted(maps.Keys(blocks)) {
		all := t.lost[block]
		if !c.ofAnswered() {
			all.Hits = 0
		}
		late := t.ended[block] * t.each()
		all.Hits, all.N = all.Hits+late, all.N+late
		if all.Hits == 0 {
			continue
		}
		if out[block] = all.Of(); !has[block] {
			out[block] = 1
		}
		sum += out[block]
	}
	if c.on == nil || len(out) == 0 {
		return out
	}
	out = map[int]float64{}
	for _, p := range c.replicates() {
		out[p.Block] = sum / float64(len(blocks))
	}
	return out
}

// each is how many requests an attempt that was ended would have had, about: those of the trials that count.
func (t Treatment) each() int {
	if all := stat.Pooled(t.failed); all.N > 0 {
		return max(1, all.N/len(t.failed))
	}
	return 1
}
