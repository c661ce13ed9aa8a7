package report

import (
	"fmt"
	"math"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
)

// A Chart shows one response of one side: every treatment's trials, its mean
// with the interval, its floor, and what was published.
type Chart struct {
	ID    string // "rtt-client": anchors and file names
	Title string
	Unit  string
	Rows  []ChartRow
}

// A ChartRow is one treatment: its headline and its trials. What does not exist is NaN.
type ChartRow struct {
	Name, Value    string
	IsFloor        bool
	Points         []float64 // trials, in the order of their blocks
	Trials         []Point   // whose they are; may be empty
	Center, Lo, Hi float64
	Floor          float64
	Published      float64
	PubLo, PubHi   float64
}

// Charts are those of the report, one per response and side.
func (r *Report) Charts() []Chart {
	var out []Chart
	for _, p := range r.Panels() {
		out = append(out, r.Chart(p))
	}
	return out
}

// A Panel is one response seen from one side.
type Panel struct {
	Side     measure.Side
	Response string
	Unit     string
}

// ID is the panel's name in anchors and file names.
func (p Panel) ID() string { return p.Response + "-" + string(p.Side) }

// Panels lists what the report has figures of: responses in the order of
// measure.Responses, client before server.
func (r *Report) Panels() []Panel {
	seen := map[Panel]bool{}
	for _, c := range r.Cells {
		seen[Panel{c.Side, c.Response, c.Unit}] = true
	}
	var out []Panel
	for _, x := range measure.Responses() {
		for _, side := range []measure.Side{measure.Client, measure.Server} {
			if p := (Panel{side, x.Name, x.Unit}); seen[p] {
				out = append(out, p)
			}
		}
	}
	return out
}

// noFigure says why a treatment has no figure of a response.
func (r *Report) noFigure(treatment int, p Panel) string {
	t := r.Treatments[treatment]
	switch {
	case t.Valid == 0:
		return "no valid trial"
	case r.leftOut(treatment, p.Side, p.Response):
		return "left out by the study"
	case r.isCut(treatment, p):
		return noWholeBlock
	}
	return "not measured here"
}

// leftOut says whether the study leaves a response of a treatment out.
func (r *Report) leftOut(treatment int, side measure.Side, response string) bool {
	s := r.Treatments[treatment].setup
	return s != nil && s.LeavesOut(string(side), response)
}

// Chart is that of a panel.
func (r *Report) Chart(p Panel) Chart {
	f := Chart{ID: p.ID(), Title: words(p.Response) + ", " + string(p.Side) +
		r.byMedian(p.Side, p.Response) + r.modelledHead(p.Side, p.Response), Unit: p.Unit}
	for i, t := range r.Treatments {
		c, ok := r.Cell(i, p.Side, p.Response)
		if !ok {
			f.Rows = append(f.Rows, ChartRow{Name: t.Name(), Value: r.noFigure(i, p), Center: math.NaN(),
				Lo: math.NaN(), Hi: math.NaN(), Floor: math.NaN(), Published: math.NaN()})
			continue
		}
		head := c.Headline()
		row := ChartRow{Name: t.Name(), IsFloor: r.isFloor(t.Stack), Center: head.Center, Lo: head.Lo, Hi: head.Hi,
			Floor: math.NaN(), Published: math.NaN(), PubLo: math.NaN(), PubHi: math.NaN()}
		if advise.TellsNothing(row.Center, row.Lo, row.Hi) { // a picture of it would show nothing else
			row.Lo, row.Hi = math.NaN(), math.NaN()
		}
		if b := c.Published; b != nil {
			row.Published, row.PubLo, row.PubHi = b.Mean, b.Mean-b.HalfWidth, b.Mean+b.HalfWidth
		}
		for _, x := range c.Points {
			row.Points, row.Trials = append(row.Points, c.value(x)), append(row.Trials, x)
		}
		row.Value = Format(head.Center, c.Unit)
		if c.modelled() {
			row.Value = "modelled " + row.Value
		}
		if half := interval(head, c.Unit); half != "" {
			row.Value += " " + half
		}
		if c.HasFloor {
			if fc, ok := r.Cell(t.Floor, p.Side, p.Response); ok {
				row.Floor = fc.Headline().Center
				row.Value += fmt.Sprintf(" · %s× floor", significant(c.AboveFloor.Estimate))
				if c.ofAll {
					row.Value += " (of all requests)"
				}
			}
		}
		row.Value += besideFigure(r.notInIt(c))
		f.Rows = append(f.Rows, row)
	}
	return f
}

// words turns a response's name into words: response_time, "response time".
// Abbreviations are written as such.
func words(name string) string {
	switch name {
	case "rtt":
		return "RTT"
	case "cpu":
		return "CPU time"
	case "peak_rss":
		return "peak RSS"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// values are all that must find a place on the axis.
func (f Chart) values() []float64 {
	var all []float64
	for _, r := range f.Rows {
		all = append(all, r.Points...)
		if r.Lo > 0 || f.lowest() <= 0 { // an interval below 0 must not bend a log axis
			all = append(all, r.Lo)
		}
		all = append(all, r.Center, r.Hi, r.Floor, r.Published)
		if !math.IsNaN(r.Published) {
			all = append(all, r.PubHi)
			if r.PubLo > 0 || f.lowest() <= 0 {
				all = append(all, r.PubLo)
			}
		}
	}
	return all
}

func (f Chart) lowest() float64 {
	lo := math.Inf(1)
	for _, r := range f.Rows {
		for _, v := range r.Points {
			lo = min(lo, v)
		}
	}
	return lo
}
