package web

import (
	"fmt"
	"math"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// How many responses and treatments the table of figures so far has.
const mostColumns, mostLive = 6, 200

// summarize gives the means of the trials so far, with their intervals.
func (r *running) summarize(s *store.Store, trials []store.TrialState, y study.Study) error {
	var names []string // treatments, in the order of the study
	for _, t := range trials {
		if t.Block == trials[0].Block {
			names = append(names, levelsOf(t))
		}
	}
	slices.Sort(names)
	r.MoreRows = max(0, len(names)-mostLive)
	names = names[:len(names)-r.MoreRows]
	means := map[report.Panel]map[string]*trialsSoFar{}
	benches := map[string]bool{}
	for row, err := range s.Results() {
		if err != nil {
			return err
		}
		if row.Method == store.Modelled {
			continue // the report tells the modelled from the measured
		}
		p := report.Panel{Side: row.Side, Response: row.Response, Unit: row.Unit}
		if means[p] == nil {
			means[p] = map[string]*trialsSoFar{}
		}
		name := levelsOf(store.TrialState{PlannedTrial: row.PlannedTrial})
		if means[p][name] == nil {
			means[p][name] = new(trialsSoFar)
		}
		x := means[p][name]
		x.points, x.benches = append(x.points, row.Mean), append(x.benches, row.Bench)
		benches[row.Bench] = true
	}
	for _, of := range means {
		for _, x := range of {
			x.settle(y.Design, len(benches))
		}
	}
	r.expect(means, y.Design, stat.KindOfBenches(y.Design.Benches, len(benches)))
	var panels []report.Panel
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		for _, x := range measure.Responses() {
			if p := (report.Panel{Side: side, Response: x.Name, Unit: x.Unit}); means[p] != nil && len(panels) < mostColumns {
				panels = append(panels, p)
			}
		}
	}
	if len(panels) == 0 {
		return nil
	}
	r.Head = []string{"treatment", "trials"}
	r.Rows = make([][]string, len(names))
	for i, name := range names {
		r.Rows[i] = []string{name, itoa(len(means[panels[0]][name].or().points))}
	}
	for k, p := range panels {
		r.Head = append(r.Head, report.Words(p.Response)+", "+string(p.Side))
		f := report.Figure{ID: "so-far", Unit: p.Unit,
			Title: fmt.Sprintf("%s at the %s, so far", report.Words(p.Response), p.Side)}
		for i, name := range names {
			x := means[p][name].or()
			if x.unknown != "" {
				r.Unknown = fmt.Sprintf("%s of %s %s", report.Words(p.Response), name, x.unknown)
			}
			row := x.row(name, p.Unit)
			f.Rows = append(f.Rows, row)
			r.Rows[i] = append(r.Rows[i], row.Value)
		}
		if k == 0 {
			pic := f.Picture()
			r.Picture, r.Drawn = &pic, f.Title
		}
	}
	return nil
}

// trialsSoFar are those of a treatment in one panel.
type trialsSoFar struct {
	points  []float64
	benches []string // of each
	mean    stat.Summary
	err     error
	unknown string // why there is no interval
}

// or is no trials where there are none.
func (x *trialsSoFar) or() *trialsSoFar {
	if x == nil {
		return &trialsSoFar{err: stat.ErrTooFew}
	}
	return x
}

// settle takes the mean and its interval as the report does: where several benches measure, all of
// them in use, each counts once.
func (x *trialsSoFar) settle(d study.Design, all int) {
	units, unknown := stat.BenchUnits(d.Benches, all, x.benches, x.points)
	x.unknown = unknown
	x.mean, x.err = stat.Mean(units, d.Confidence)
}

// hasInterval reports whether it is known how sure the mean is.
func (x *trialsSoFar) hasInterval() bool {
	return x.err == nil && x.unknown == "" && x.mean.HasInterval()
}

// expect says how near the wanted precision is, and what it takes if trials vary as they did.
func (r *running) expect(means map[report.Panel]map[string]*trialsSoFar, d study.Design, kind stat.BenchKind) {
	if d.Precision == 0 {
		return
	}
	widest, at, blocks, unknown := 0.0, "", 0, ""
	for p, of := range means {
		for _, x := range of {
			if x.unknown != "" {
				unknown = max(unknown, fmt.Sprintf("%s at the %s of one treatment %s", report.Words(p.Response), p.Side, x.unknown))
			}
			if !x.hasInterval() || x.mean.Center == 0 {
				continue
			}
			if share := x.mean.HalfWidth() / math.Abs(x.mean.Center); share > widest {
				widest, at, blocks = share, report.Words(p.Response)+" at the "+string(p.Side), len(x.points)
			}
		}
	}
	if unknown != "" { // as the lab, which adds blocks as long as one is
		r.Wanted += "; so far not known: " + unknown
		return
	}
	if at == "" {
		return
	}
	r.Wanted += fmt.Sprintf("; so far %s is known within %.2g %%", at, 100*widest)
	if widest <= d.Precision || r.Blocks == 0 {
		return
	}
	if kind == stat.RandomBenches {
		r.Left = ""
		r.Wanted += ", as far as benches agree; more blocks of the same benches may not narrow it"
		return
	}
	// An interval shrinks with the root of the number of trials.
	need := math.Ceil(float64(blocks) * math.Pow(widest/d.Precision, 2))
	if d.Budget.Blocks > 0 {
		need = min(need, float64(d.Replications+d.Budget.Blocks))
	}
	more := max(0, need*float64(r.Total)/float64(r.Blocks)-float64(r.Valid)) * r.pace.Seconds()
	if d.Budget.Blocks == 0 && d.Budget.Time > 0 {
		more = min(more, d.Budget.Time.Seconds())
	}
	if need > float64(r.Blocks) {
		r.Left = "about " + time.Duration(more*float64(time.Second)).Round(time.Second).String()
		r.Wanted += fmt.Sprintf(", which takes some %.0f blocks in all", need)
	}
}

// row is the mean with its interval, as a row of a figure.
func (x *trialsSoFar) row(name, unit string) report.FigureRow {
	nan := math.NaN()
	row := report.FigureRow{Name: name, Value: "–", Points: x.points, Center: nan, Lo: nan, Hi: nan, Floor: nan,
		Published: nan, PubLo: nan, PubHi: nan}
	if x.err != nil {
		return row
	}
	row.Center, row.Value = x.mean.Center, report.Format(x.mean.Center, unit)
	if x.hasInterval() {
		row.Lo, row.Hi = x.mean.Lo, x.mean.Hi
		row.Value = fmt.Sprintf("%s (%s to %s)", row.Value, report.Format(row.Lo, unit), report.Format(row.Hi, unit))
	}
	return row
}
