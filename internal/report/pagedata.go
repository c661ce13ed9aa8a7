package report

import (
	"encoding/json"
	"html/template"
	"math"
	"slices"
	"strconv"
)

// shareSteps are the shares at which a page knows a distribution: every
// hundredth, and the tails finer.
func shareSteps() []float64 {
	out := []float64{0, 0.001, 0.002, 0.005}
	for i := 1; i <= 99; i++ {
		out = append(out, float64(i)/100)
	}
	return append(out, 0.995, 0.998, 0.999, 0.9999, 1)
}

// A figureNumber is a number of a page: five digits are more than a screen
// shows. What does not exist is null.
type figureNumber float64

func (n figureNumber) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, v, 'g', 5, 64), nil
}

func numbers(vs ...float64) []figureNumber {
	out := make([]figureNumber, len(vs))
	for i, v := range vs {
		out[i] = figureNumber(v)
	}
	return out
}

// pageData is what the page's script draws from.
type pageData struct {
	Factors    []string        `json:"factors"`
	Confidence float64         `json:"confidence"`
	Shares     []figureNumber  `json:"shares"`
	Treatments []dataTreatment `json:"treatments"`
	Panels     []dataPanel     `json:"panels"`
	Traces     []dataTrace     `json:"traces"`
}

type dataTreatment struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
	Floor  bool     `json:"floor"`
}

type dataPanel struct {
	ID    string    `json:"id"`
	Title string    `json:"title"`
	Unit  string    `json:"unit"`
	Rows  []dataRow `json:"rows"`
}

type dataRow struct {
	Treatment int              `json:"t"`
	Modelled  bool             `json:"modelled,omitempty"`
	Median    bool             `json:"median,omitempty"` // its center is the median of trials
	Value     string           `json:"value"`
	Mean      []figureNumber   `json:"mean"` // center, low, high
	Floor     figureNumber     `json:"floor"`
	Published []figureNumber   `json:"published"` // center, low, high
	Trials    [][3]any         `json:"trials"`    // trial, block, mean
	Requests  int64            `json:"requests,omitempty"`
	Lacks     string           `json:"lacks,omitempty"`  // what of the requests is in no value
	Quantiles []figureNumber   `json:"q,omitempty"`      // at Shares
	Course    [][]figureNumber `json:"course,omitempty"` // mean, least, largest
}

type dataTrace struct {
	Treatment  int              `json:"t"`
	Trial      int              `json:"trial"`
	Side       string           `json:"side"`
	Instrument string           `json:"instrument"`
	Method     string           `json:"method"`
	Phases     [][3]any         `json:"phases"` // name, from, to
	Points     [][]figureNumber `json:"points"` // s, mean W, and where they differ the least and the largest
}

func (r *Report) pageData() (template.JS, error) {
	d := pageData{Factors: orEmpty(r.Factors), Confidence: r.Study.Design.Confidence, Shares: numbers(shareSteps()...),
		Panels: []dataPanel{}, Traces: []dataTrace{}}
	for _, t := range r.Treatments {
		d.Treatments = append(d.Treatments, dataTreatment{t.Name(), orEmpty(t.Levels), r.isFloor(t.Stack)})
	}
	for _, p := range r.Panels() {
		d.Panels = append(d.Panels, r.dataPanel(p))
	}
	for _, x := range r.Traces {
		d.Traces = append(d.Traces, x.data())
	}
	b, err := json.Marshal(d) // Subtle: it escapes <, > and &, so that no text can end the script element
	return template.JS(b), err
}

func (r *Report) dataPanel(p Panel) dataPanel {
	out := dataPanel{ID: p.ID(), Title: capital(words(p.Response)) + " at the " + string(p.Side) +
		r.byMedian(p.Side, p.Response), Unit: p.Unit,
		Rows: []dataRow{}}
	for i, f := range r.Chart(p).Rows {
		c, ok := r.Cell(i, p.Side, p.Response)
		if !ok {
			continue
		}
		row := dataRow{Treatment: i, Modelled: c.modelled(), Median: c.ByMedian, Value: f.Value,
			Mean:  numbers(f.Center, f.Lo, f.Hi),
			Floor: figureNumber(f.Floor), Published: numbers(f.Published, f.PubLo, f.PubHi), Trials: [][3]any{}}
		for _, x := range c.Points {
			row.Trials = append(row.Trials, [3]any{x.Trial, x.Block, figureNumber(c.value(x))})
		}
		if x, ok := r.Distribution(i, p); ok {
			row.Requests, row.Quantiles = x.Values.n, numbers(x.Quantiles(shareSteps())...)
			row.Lacks = r.notInIt(c)
			for _, y := range x.Course {
				row.Course = append(row.Course, numbers(y.Mean, y.Lo, y.Hi))
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func (x *Trace) data() dataTrace {
	out := dataTrace{Treatment: x.Treatment, Trial: x.Trial, Side: string(x.Side), Instrument: x.Instrument,
		Method: string(x.Method), Phases: [][3]any{}}
	for _, p := range x.Phases {
		out.Phases = append(out.Phases, [3]any{p.Name, figureNumber(p.From), figureNumber(p.To)})
	}
	for _, p := range x.Points {
		if p.Lo == p.Hi {
			out.Points = append(out.Points, numbers(p.At, p.Mean))
		} else {
			out.Points = append(out.Points, numbers(p.At, p.Mean, p.Lo, p.Hi))
		}
	}
	return out
}

// Pictures are all figures of the report: bytes against time, of each response its trials, its
// distributions and its course, and the power traces.
func (r *Report) Pictures() []Picture {
	out := r.paretos()
	for _, p := range r.Panels() {
		out = append(out, r.Chart(p).Picture())
		for _, draw := range []func(Panel) (Picture, bool){r.distributions, r.courses} {
			if pic, ok := draw(p); ok {
				out = append(out, pic)
			}
		}
	}
	for _, x := range r.Traces {
		out = append(out, x.Picture(r))
	}
	return out
}

// firstTraces are one trace of each treatment and side.
func (r *Report) firstTraces() []*Trace {
	var out []*Trace
	for _, x := range r.Traces {
		if !slices.ContainsFunc(out, func(y *Trace) bool { return x.Treatment == y.Treatment && x.Side == y.Side }) {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b *Trace) int { return a.Treatment - b.Treatment })
	return out
}
