package web

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// How many responses and treatments the table of figures so far has.
const mostColumns, mostLive = 6, 200

// summarize gives the report's figures of the trials so far.
func (r *running) summarize(s *store.Store) error {
	x, err := report.ReadFigures(s)
	if err != nil {
		return err
	}
	r.expect(x)
	panels := x.Panels()
	slices.SortStableFunc(panels, func(a, b report.Panel) int { // the client's first, as in a terminal
		return strings.Compare(string(a.Side), string(b.Side))
	})
	panels = panels[:min(len(panels), mostColumns)]
	if len(panels) == 0 {
		return nil
	}
	shown := min(len(x.Treatments), mostLive)
	r.MoreRows = len(x.Treatments) - shown
	r.Head = []string{"treatment", "trials"}
	r.Rows = make([][]string, shown)
	for i, t := range x.Treatments[:shown] {
		r.Rows[i] = []string{t.Name(), itoa(t.Valid)}
	}
	for k, p := range panels {
		f := x.Chart(p)
		f.Rows = f.Rows[:shown]
		r.Head = append(r.Head, f.Title)
		for i, row := range f.Rows {
			r.Rows[i] = append(r.Rows[i], row.Value)
		}
		if k == 0 {
			f.ID, f.Title = "so-far-"+r.place.id, f.Title+", so far"
			pic := f.Picture()
			r.Picture, r.Drawn = &pic, f.Title
		}
	}
	return nil
}

// expect says how near the wanted precision is, by the figure that is known least, and what it takes if trials vary as
// they did.
func (r *running) expect(x *report.Report) {
	c, share, why := x.Widest()
	if c == nil {
		return
	}
	of := fmt.Sprintf("%s of %s at the %s", report.Words(c.Response), x.Treatments[c.Treatment].Name(), c.Side)
	if why != "" {
		r.Unknown = fmt.Sprintf("%s (%s)", of, why)
	}
	d := x.Study.Design
	switch {
	case d.Precision == 0:
		return
	case why != "": // as the lab, which adds blocks as long as one is
		r.Wanted += "; so far not known: " + r.Unknown
		return
	}
	r.Wanted += fmt.Sprintf("; so far %s is known %s", of, report.Known(c.Headline(), c.Unit))
	if share <= d.Precision || r.Blocks == 0 {
		return
	}
	if x.OfBenches() {
		r.Left = ""
		r.Wanted += ", as far as benches agree; more blocks of the same benches may not narrow it"
		return
	}
	// An interval shrinks with the root of the number of trials.
	need := math.Ceil(float64(len(c.Points)) * math.Pow(share/d.Precision, 2))
	if d.Budget.Blocks > 0 {
		need = min(need, float64(d.Replications+d.Budget.Blocks))
	}
	more := max(0, need*float64(r.Total)/float64(r.Blocks)-float64(r.Valid)) * r.pace.Seconds()
	if d.Budget.Blocks == 0 && d.Budget.Time > 0 {
		more = min(more, d.Budget.Time.Seconds())
	}
	if need > float64(r.Blocks) {
		r.Left = "about " + study.DurationText(time.Duration(more*float64(time.Second)).Round(time.Second))
		r.Wanted += fmt.Sprintf(", which takes some %.0f blocks in all", need)
	}
}
