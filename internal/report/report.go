// Package report turns a store into tables, figures and their warnings. It
// recomputes every summary from the trials and measures nothing.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"edgegauge/internal/advise/paper"
	"edgegauge/internal/measure"
	"edgegauge/internal/stat"
	"edgegauge/internal/store"
	"edgegauge/internal/study"
)

// Formats are the ways to write a report.
var Formats = map[string]func(*Report, io.Writer) error{
	"text": (*Report).Text, "csv": (*Report).CSV, "json": (*Report).JSON, "html": (*Report).HTML,
	"markdown": (*Report).Markdown, "latex": (*Report).LaTeX, "benchfmt": (*Report).Benchfmt,
}

// A Report is a results directory, summarized.
type Report struct {
	Study      study.Study
	Dir        string
	Factors    []string
	Treatments []Treatment
	Cells      []Cell // treatment by treatment, in the order of measure.Responses, client first
	Facts      Facts
	RawFacts   json.RawMessage
	Runtimes   map[string][]string // what each stack's programs ran on, "server: …", by stack
	Trials     []store.TrialState
	Warnings   []string         // about the whole, as doubts and missing trials
	Damage     []string         // how the files differ from what the lab wrote
	Effects    []Effects        // of the factors, in the order of Panels
	Published  *paper.Scorecard // what was published, and what ours say of its claims; nil: nothing is asked

	Predicted   []Predicted // what a board would do; Predict fills both
	Unpredicted []string    // where that is not known, and why

	Distributions []*Distribution // as Cells; ReadRaw fills them
	Traces        []*Trace        // trial by trial; ReadRaw fills them
}

// A Treatment is one level of every factor.
type Treatment struct {
	Levels []string
	Stack  string // full name of the server's
	Floor  int    // index of the treatment that is its floor; -1: none, or it is one
	Wanted int    // trials planned
	Valid  int

	setup *study.Setup
}

// Name is the treatment in words: its levels, or its stack where nothing varies.
func (t Treatment) Name() string {
	if len(t.Levels) == 0 {
		return t.Stack
	}
	return strings.Join(t.Levels, " ")
}

// A Point is one trial's mean.
type Point struct {
	Trial, Block int
	Mean, Median float64
	P95, SD      float64 // within the trial; NaN where it had too few requests
	Min          float64 // of the trial's requests
}

// A Cell is one response of one side of one treatment.
type Cell struct {
	Treatment  int
	Side       measure.Side
	Response   string
	Unit       string
	Method     store.Method
	Points     []Point
	Mean       stat.Summary // of trial means
	Median     stat.Summary // of trial medians
	SD         float64      // of trial means; NaN for one trial
	P95        float64      // median of the trials' p95; NaN where a trial had too few requests
	Min        float64      // least of all requests
	RequestSD  float64      // of requests within a trial, pooled over the trials; NaN where a trial has one figure
	AboveFloor stat.Comparison
	HasFloor   bool
	Published  *paper.Beside // the published figure of the same; nil: there is none
	Warnings   []string

	lacking int // trials that have no value of it
}

// Facts are the parts of facts.json that a report reads.
type Facts struct {
	Edgegauge map[string]string `json:"edgegauge"`
	Devices   map[string]struct {
		Model, Kernel, OS, Arch string
		CPUs                    int
		Doubts                  []string
		Emulation               map[string]string
	} `json:"devices"`
	Stacks map[string]StackFacts `json:"stacks"`
}

// StackFacts are a stack's.
type StackFacts struct {
	Title, Version, Language string
	Transports               []string
	Checksums                map[string]string
}

// Read summarizes an open store.
func Read(s *store.Store) (*Report, error) {
	text, overrides, err := s.Study()
	if err != nil {
		return nil, err
	}
	r := &Report{Dir: s.Dir()}
	for _, err := range s.Verify() {
		r.Damage = append(r.Damage, err.Error())
	}
	if r.Study, err = study.Parse("study.yaml", text, study.Vocabulary{}, overrides...); err != nil {
		return nil, fmt.Errorf("%s: study.yaml: %w", s.Dir(), err)
	}
	for _, f := range r.Study.Factors {
		r.Factors = append(r.Factors, f.Name)
	}
	if err := r.readFacts(s); err != nil {
		return nil, err
	}
	if r.Trials, err = s.Trials(); err != nil {
		return nil, err
	}
	r.runtimes(s)
	if err := r.treatments(); err != nil {
		return nil, err
	}
	if err := r.cells(s); err != nil {
		return nil, err
	}
	r.aboveFloor()
	if err := r.doubtTrials(s); err != nil {
		return nil, err
	}
	r.doubtPrecision()
	if err := r.published(); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Dir(), err)
	}
	if len(r.Damage) == 0 {
		r.Effects = r.effectsOfAll()
	}
	r.doubts()
	return r, nil
}

func (r *Report) readFacts(s *store.Store) error {
	runs, err := s.Runs()
	if err != nil {
		return err
	}
	if r.RawFacts, err = s.Facts(runs[len(runs)-1]); err != nil {
		return err
	}
	if err := json.Unmarshal(r.RawFacts, &r.Facts); err != nil {
		return fmt.Errorf("%s: facts.json: %w", s.Dir(), err)
	}
	return nil
}

// treatments lists the plan's treatments in the order of the study file.
func (r *Report) treatments() error {
	p, err := study.Expand(r.Study)
	if err != nil {
		return err
	}
	r.Treatments = make([]Treatment, r.Study.Treatments())
	for _, t := range p.Trials {
		x := &r.Treatments[t.Cell]
		if x.Levels == nil {
			for _, w := range t.Treatment {
				x.Levels = append(x.Levels, w.Text)
			}
			x.Stack, x.setup = t.Setup.Server.Stack, t.Setup
		}
	}
	for i := range r.Treatments {
		r.Treatments[i].Floor = r.floorOf(i)
	}
	for _, t := range r.Trials {
		i := r.treatmentOf(t.Treatment)
		if i < 0 {
			continue
		}
		r.Treatments[i].Wanted++ // by the ledger: a precision adds blocks that the study does not have
		if t.State == store.Valid {
			r.Treatments[i].Valid++
		}
	}
	return nil
}

const floorMark = "floor-"

func isFloor(stack string) bool { return strings.Contains(stack, floorMark) }

// floorOf finds the bare exchange over the same transport whose other factors
// are the same.
func (r *Report) floorOf(i int) int {
	t := r.Treatments[i]
	if isFloor(t.Stack) {
		return -1
	}
	kind := "tcp"
	facts, ok := r.Facts.Stacks[t.Stack]
	if !ok { // a study may use a reference stack's short name
		facts = r.Facts.Stacks["reference/"+t.Stack]
	}
	for _, tr := range facts.Transports {
		if tr == "coap" || tr == "udp" {
			kind = "udp"
		}
	}
	for j, u := range r.Treatments {
		if !strings.HasSuffix(u.Stack, floorMark+kind) {
			continue
		}
		differ := 0
		for k := range t.Levels {
			if t.Levels[k] != u.Levels[k] {
				differ++
			}
		}
		if differ <= 1 {
			return j
		}
	}
	return -1
}

func (r *Report) treatmentOf(levels []store.Level) int {
	return slices.IndexFunc(r.Treatments, func(t Treatment) bool {
		return len(t.Levels) == len(levels) && !slices.ContainsFunc(levels, func(l store.Level) bool {
			k := slices.Index(r.Factors, l.Factor)
			return k < 0 || t.Levels[k] != l.Text
		})
	})
}

type cellKey struct {
	treatment int
	side      measure.Side
	response  string
}

// cells gathers the trial table and summarizes each cell.
func (r *Report) cells(s *store.Store) error {
	index := map[cellKey]int{}
	for row, err := range s.Results() {
		if err != nil {
			return err
		}
		i := r.treatmentOf(row.Treatment)
		if i < 0 {
			return fmt.Errorf("trial %d has a treatment that study.yaml does not have; was it edited? restore it from study.yaml of the run", row.ID)
		}
		k := cellKey{i, row.Side, row.Response}
		at, ok := index[k]
		if !ok {
			at = len(r.Cells)
			index[k] = at
			r.Cells = append(r.Cells, Cell{Treatment: i, Side: row.Side, Response: row.Response, Unit: row.Unit, Method: row.Method})
		}
		c := &r.Cells[at]
		if math.IsNaN(row.Mean) || math.IsNaN(row.Median) { // a trial in which nothing was answered, or read
			c.lacking++
			continue
		}
		c.Points = append(c.Points, Point{row.ID, row.Block, row.Mean, row.Median, row.P95, row.SD, row.Min})
	}
	r.Cells = slices.DeleteFunc(r.Cells, func(c Cell) bool {
		if len(c.Points) == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: no valid trial has a value of %s at the %s", r.Treatments[c.Treatment].Name(), words(c.Response), c.Side))
		}
		return len(c.Points) == 0
	})
	for i := range r.Cells {
		if err := r.Cells[i].summarize(r.Study.Design.Confidence); err != nil {
			return err
		}
	}
	slices.SortStableFunc(r.Cells, func(a, b Cell) int { return compareCells(a, b) })
	return nil
}

func compareCells(a, b Cell) int {
	if a.Treatment != b.Treatment {
		return a.Treatment - b.Treatment
	}
	if ra, rb := rank(a.Response), rank(b.Response); ra != rb {
		return ra - rb
	}
	return strings.Compare(string(a.Side), string(b.Side))
}

// rank is the place of a response in a report.
func rank(name string) int {
	return slices.IndexFunc(measure.Responses(), func(r measure.Response) bool { return r.Name == name })
}

// within summarizes the requests: their variances are averaged over the trials,
// all of about one size.
func (c *Cell) within() {
	variance := 0.0
	c.Min = math.Inf(1)
	for _, p := range c.Points {
		variance += p.SD * p.SD / float64(len(c.Points))
		c.Min = min(c.Min, p.Min)
	}
	c.RequestSD = math.Sqrt(variance)
}

func (c *Cell) summarize(confidence float64) error {
	means, medians := make([]float64, len(c.Points)), make([]float64, len(c.Points))
	p95 := make([]float64, 0, len(c.Points))
	for i, p := range c.Points {
		means[i], medians[i] = p.Mean, p.Median
		if !math.IsNaN(p.P95) {
			p95 = append(p95, p.P95)
		}
	}
	var err error
	if c.Mean, err = stat.Mean(means, confidence); err != nil {
		return fmt.Errorf("%s of the %s: %w", c.Response, c.Side, err)
	}
	if c.Median, err = stat.Median(medians, confidence); err != nil {
		return fmt.Errorf("%s of the %s: %w", c.Response, c.Side, err)
	}
	if c.lacking > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d valid trials have no value of it: what is shown is of the others", c.lacking, c.lacking+len(c.Points)))
	}
	c.SD, c.P95 = stat.SD(means), math.NaN()
	if len(p95) == len(c.Points) {
		slices.Sort(p95)
		c.P95 = (p95[(len(p95)-1)/2] + p95[len(p95)/2]) / 2
	}
	c.within()
	for _, w := range c.Mean.Warnings {
		c.Warnings = append(c.Warnings, w.Error())
	}
	for _, w := range c.Median.Warnings {
		c.Warnings = append(c.Warnings, "median: "+w.Error())
	}
	if far, err := stat.Outliers(means); err == nil && len(far) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d trials lie far out (modified z above %g): they are kept", len(far), len(means), stat.OutlierLimit))
	}
	return nil
}

// Cell finds a cell.
func (r *Report) Cell(treatment int, side measure.Side, response string) (*Cell, bool) {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool {
		return c.Treatment == treatment && c.Side == side && c.Response == response
	})
	if i < 0 {
		return nil, false
	}
	return &r.Cells[i], true
}

// aboveFloor compares each stack's times with its floor's, paired by block.
func (r *Report) aboveFloor() {
	for i := range r.Cells {
		c := &r.Cells[i]
		floor := r.Treatments[c.Treatment].Floor
		if floor < 0 || c.Response != "rtt" && c.Response != "response_time" {
			continue
		}
		f, ok := r.Cell(floor, c.Side, c.Response)
		if !ok {
			continue
		}
		if x, err := Ratio(c, f, r.Study.Design.Confidence); err == nil {
			c.AboveFloor, c.HasFloor = x, true
		}
	}
}

// Ratio is a/b with its interval, on the blocks that both have.
func Ratio(a, b *Cell, confidence float64) (stat.Comparison, error) {
	var xs, ys []float64
	for _, p := range a.Points {
		for _, q := range b.Points {
			if p.Block == q.Block {
				xs, ys = append(xs, p.Mean), append(ys, q.Mean)
			}
		}
	}
	return stat.RatioPaired(xs, ys, confidence)
}

// doubts gathers what a reader must know of the whole.
func (r *Report) doubts() {
	for name, d := range r.Facts.Devices {
		for _, x := range d.Doubts {
			r.Warnings = append(r.Warnings, "device "+name+": "+x)
		}
	}
	slices.Sort(r.Warnings)
	for _, t := range r.Treatments {
		if t.Valid < t.Wanted {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d of %d trials are valid", t.Name(), t.Valid, t.Wanted))
		}
	}
	shown := 0
	for _, t := range r.Trials {
		if t.Reason == "" || t.State == store.Valid {
			continue
		}
		if shown++; shown > 5 {
			r.Warnings = append(r.Warnings, "further invalid trials are in the ledger")
			break
		}
		r.Warnings = append(r.Warnings, t.Reason)
	}
}

// damage is the warning that stands above everything else.
func (r *Report) damage() []string {
	if len(r.Damage) == 0 {
		return nil
	}
	out := []string{"These results are not as the lab wrote them; do not trust what follows."}
	return append(out, r.Damage...)
}
