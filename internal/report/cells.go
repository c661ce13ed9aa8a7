package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// A Point is one trial's mean.
type Point struct {
	Trial, Block int
	Mean, Median float64
	P95, SD      float64 // within the trial; NaN where it had too few requests
	Min          float64 // of the trial's requests
	n            int64   // requests that Mean is of
	Bench        string  // that it ran on; empty: the one bench of a study run alone
	// AllMedian and AllP95 are those of all its requests, as advise.TrialSummary has them.
	AllMedian, AllP95 float64

	share     stat.Share // of a share of requests that failed, the requests it is of; none: not known
	late      float64    // of such a share, that of the ones without an answer in time
	lateKnown bool
}

// A Cell is one response of one side of one treatment.
type Cell struct {
	Treatment  int
	Side       measure.Side
	Response   string
	Unit       string
	Method     store.Method
	Points     []Point      // where there are several benches, of whole blocks alone
	Mean       stat.Summary // of trial means
	Median     stat.Summary // of trial medians
	SD         float64      // of trial means; NaN for one trial
	P95        float64      // median of the trials' p95; NaN where a trial had too few requests
	Min        float64      // least of all requests
	RequestSD  float64      // of requests within a trial, pooled over the trials; NaN where a trial has one figure
	AboveFloor stat.Comparison
	HasFloor   bool
	Published  *paper.Beside // the published figure of the same; nil: there is none
	Clustered  bool          // its trials fall into two clusters: the median tells more than the mean
	Skewed     bool          // a few slow requests or trials weigh much in its mean
	ByMedian   bool          // the median of trial medians is its headline, not the mean of trial means
	Unseen     float64       // in Unit, by how much all its trials may be off alike: what the meter does not see
	Waiting    float64       // s its side's threads were ready and had no CPU, in each s of the run; median of trials
	Warnings   []string

	step    float64    // of the clock of its program, the largest that it can have by all figures; 0: nobody knows
	noFloor string     // why it is not set against its floor, where requests failed
	ofAll   bool       // AboveFloor is of medians among all requests, of which some failed
	lacking int        // trials that have no value of it
	mixed   bool       // some of its trials are measured, others modelled
	aside   []Point    // of blocks that a bench did not complete
	on      *onBenches // where its trials ran; nil: one bench
	units   []Point    // what is judged where there are several benches
}

// failedShare is the response that is a share of requests that failed.
const failedShare = "failed_share"

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
		i := r.TreatmentOf(row.Treatment)
		if i < 0 {
			return fmt.Errorf("trial %d has a treatment that is not in study.yaml; was that file edited? restore it from "+
				"study.yaml of the run", row.ID)
		}
		k := cellKey{i, row.Side, row.Response}
		at, ok := index[k]
		if !ok {
			at = len(r.Cells)
			index[k] = at
			r.Cells = append(r.Cells, Cell{Treatment: i, Side: row.Side, Response: row.Response, Unit: row.Unit})
		}
		c := &r.Cells[at]
		if math.IsNaN(row.Mean) || math.IsNaN(row.Median) { // a trial in which nothing was answered, or read
			c.lacking++
			continue
		}
		if len(c.Points) == 0 {
			c.Method = row.Method
		}
		if c.Method != row.Method && (c.Method == store.Modelled || row.Method == store.Modelled) {
			c.Method, c.mixed = store.Modelled, true
		}
		c.Points = append(c.Points, Point{Trial: row.ID, Block: row.Block, Mean: row.Mean, Median: row.Median, P95: row.P95,
			SD: row.SD, Min: row.Min, Bench: row.Bench, n: row.N})
	}
	for i := range r.Cells { // the trials of earlier versions have no row where there was no recovery
		c := &r.Cells[i]
		if x, _ := measure.FindResponse(c.Response); x.Censored() {
			t := &r.Treatments[c.Treatment]
			t.recovered = [2]int{len(c.Points), max(t.Valid, len(c.Points)+c.lacking)}
			c.lacking = t.recovered[1] - t.recovered[0]
		}
	}
	r.Cells = slices.DeleteFunc(r.Cells, func(c Cell) bool {
		if len(c.Points) == 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: no valid trial has a value of %s at the %s",
				r.Treatments[c.Treatment].Name(), words(c.Response), c.Side))
		}
		return len(c.Points) == 0
	})
	slices.SortStableFunc(r.Cells, func(a, b Cell) int { return compareCells(a, b) })
	r.findBenches() // it remembers where cells lie
	if err := r.unseen(s); err != nil {
		return err
	}
	if err := r.countFailed(s); err != nil {
		return err
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		r.Treatments[c.Treatment].sharesOf(c)
		if err := c.summarize(r.Study.Design.Confidence); err != nil {
			return err
		}
		if c.Clustered && c.Unit == "s" {
			c.Warnings = append(c.Warnings, "two clusters of times: "+r.clusterCause(c.Treatment))
		}
	}
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

// within summarizes the requests: the variances within trials are pooled, each with its degrees of freedom, since
// trials of a duration have as many requests as were answered in it.
func (c *Cell) within() {
	squares, freedom := 0.0, 0.0
	c.Min = math.Inf(1)
	for _, p := range c.Points {
		squares += p.SD * p.SD * float64(p.n-1)
		freedom += float64(p.n - 1)
		c.Min = min(c.Min, p.Min)
	}
	c.RequestSD = math.Sqrt(squares / freedom)
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
	judged, judgedMedians := c.summands(means), c.summands(medians)
	if c.Mean, err = c.meanOf(judged, confidence); errors.Is(err, stat.ErrSign) {
		c.Mean, err = stat.Mean(judged, confidence)
		c.Warnings = append(c.Warnings, "a trial has a negative value, which is impossible here; look at the trial")
	}
	if err != nil {
		return fmt.Errorf("%s of the %s: %w", c.Response, c.Side, err)
	}
	if c.on != nil { // order statistics would take benches for trials
		c.Median, err = c.meanOf(judgedMedians, confidence)
	} else {
		c.Median, err = stat.Median(medians, confidence)
	}
	if err != nil {
		return fmt.Errorf("%s of the %s: %w", c.Response, c.Side, err)
	}
	c.Mean, c.Median = c.Mean.Hiding(c.Unseen), c.Median.Hiding(c.Unseen)
	if c.on != nil && len(judged) == 1 { // it is of many trials
		none := []error{fmt.Errorf("%w: the benches that ran it, or their blocks, are too few to show a spread, so there is "+
			"no interval", stat.ErrTooFew)}
		c.Mean.Warnings, c.Median.Warnings = none, none
	}
	if c.lacking > 0 {
		others := "the others"
		if len(c.aside) > 0 {
			others += " in whole blocks"
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d valid trials have no value; the figures are of %s", c.lacking,
			c.lacking+len(c.Points)+len(c.aside), others))
	}
	if c.mixed {
		c.Warnings = append(c.Warnings, "measured in some trials and modelled in others, as on benches of which not all "+
			"have a meter: the figure is of both and counts as modelled")
	}
	c.SD, c.P95 = stat.SD(means), math.NaN()
	if len(p95) == len(c.Points) {
		c.P95 = stat.Middle(p95)
	}
	c.within()
	for _, w := range c.Mean.Warnings {
		c.Warnings = append(c.Warnings, c.warning(w))
	}
	for _, w := range c.Median.Warnings {
		c.Warnings = append(c.Warnings, "median: "+c.warning(w))
	}
	means = c.apartFromBenches(means)
	if far, err := stat.Outliers(means); err == nil && len(far) > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("outliers (modified z above %g): %d of %d trials; kept in every figure",
			stat.OutlierLimit, len(far), len(means)))
	}
	c.cluster(means)
	c.Skewed = c.skewed(means)
	return nil
}

// meanOf is the mean of the values of its first trials, or of units.
func (c *Cell) meanOf(values []float64, confidence float64) (stat.Summary, error) {
	var of []stat.Share
	for i := range values {
		if c.on != nil || c.Points[i].share.N == 0 {
			of = nil
			break
		}
		of = append(of, c.Points[i].share)
	}
	return advise.MeanOf(c.Response, values, of, c.on != nil, confidence)
}

// sharesOf gives the trials of a share of requests that failed the requests it is of.
func (t Treatment) sharesOf(c *Cell) {
	if c.Response != failedShare {
		return
	}
	for i, p := range c.Points {
		j := slices.Index(t.trials, p.Trial)
		if j >= 0 && math.Abs(t.failed[j].Of()-p.Mean) < 1e-9 {
			c.Points[i].share = t.failed[j]
		}
	}
}

// lateOf is, of a share of requests that failed, that of the ones without an answer in time; of all, where nobody
// knows, as of units of benches.
func (c *Cell) lateOf(p Point) float64 {
	if c.Response != failedShare || p.lateKnown {
		return p.late
	}
	return p.Mean
}

// ticks reports whether a clock or a meter gave the values, which have its steps. What a model makes of bytes has none.
func (c *Cell) ticks() bool {
	r, _ := measure.FindResponse(c.Response)
	return c.Method == store.Measured && !r.Counted()
}

// cluster notes whether the trials fall into two clusters.
func (c *Cell) cluster(means []float64) {
	k, ok := stat.FindClusters(means)
	if c.Clustered = ok; ok {
		read := ": read the median, since the mean lies between them"
		if x, _ := measure.FindResponse(c.Response); x.Share() { // a median hides what happens in a few trials
			read = ""
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("trials fall into two clusters, %d around %s and %d around %s%s", k.NLow,
			Format(k.Low, c.Unit), k.NHigh, Format(k.High, c.Unit), read))
	}
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
