package report

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/plural"
	"edgegauge.example/edgegauge/internal/store"
)

// A Distribution is one response of one side of one treatment, over all
// requests of the trials of its figures. Requests of one trial are not independent: it
// shows what a request may meet, and gives no interval.
type Distribution struct {
	Treatment int
	Panel
	Trials  int
	Values  histogram // ns or B
	Course  []CoursePoint
	perUnit float64 // stored numbers in one Unit

	mu      sync.Mutex
	courses []*[courseParts]float64 // by place of the trial in the plan; nil: not read
	aside   map[int]bool            // trials that do not count, since their blocks are not whole
}

// A CoursePoint is one stretch of the recorded run, in the order of requests:
// the mean of the trials' means there, the least of them and the largest.
type CoursePoint struct{ Mean, Lo, Hi float64 }

// courseParts is into how many stretches a run is cut.
const courseParts = 60

// ReadRaw adds what only the raw files show: distributions, courses and power
// traces, these of about as many trials and sides as asked for. A file that cannot be read leaves a warning, not an
// error: the trial
// table stands without it. Of a copy, what it leaves out is not looked for.
func (r *Report) ReadRaw(s *store.Store, traces int) error {
	if !slices.Contains(r.LeftOut, "exchanges") {
		if err := r.readDistributions(s); err != nil {
			return err
		}
	}
	if slices.Contains(r.LeftOut, "samples") {
		return nil
	}
	return r.readTraces(s, traces)
}

// readDistributions reads all valid trials' exchanges, on all CPUs.
func (r *Report) readDistributions(s *store.Store) error {
	index := map[cellKey]*Distribution{}
	for _, c := range r.Cells {
		if !slices.ContainsFunc(measure.Summaries(c.Side),
			func(f *measure.Field) bool { return f.Response.Name == c.Response }) {
			continue
		}
		d := &Distribution{Treatment: c.Treatment, Panel: Panel{c.Side, c.Response, c.Unit}, perUnit: 1,
			courses: make([]*[courseParts]float64, len(r.Trials)), aside: map[int]bool{}}
		for _, p := range c.aside {
			d.aside[p.Trial] = true
		}
		if c.Unit == "s" {
			d.perUnit = 1e9
		}
		index[cellKey{c.Treatment, c.Side, c.Response}] = d
	}
	failed := r.eachTrial(func() func(int) error {
		x := trialScratch{r: r, s: s, index: index}
		return x.read
	})
	for _, c := range r.Cells {
		if d := index[cellKey{c.Treatment, c.Side, c.Response}]; d != nil && d.Trials > 0 {
			d.settle()
			r.Distributions = append(r.Distributions, d)
		}
	}
	if len(failed) > 0 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("distributions leave out %s whose exchanges cannot be read; the first error: %v",
				plural.Count(len(failed), "trial"), failed[0]))
	}
	return nil
}

// eachTrial gives the valid trials to as many readers as there are CPUs, and
// returns why trials failed, in the order of the plan.
func (r *Report) eachTrial(reader func() func(place int) error) []error {
	var group sync.WaitGroup
	next := make(chan int)
	errs := make([]error, len(r.Trials))
	for range runtime.NumCPU() {
		read := reader()
		group.Go(func() {
			for i := range next {
				errs[i] = read(i)
			}
		})
	}
	for i, t := range r.Trials {
		if t.State == store.Valid {
			next <- i
		}
	}
	close(next)
	group.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// A trialScratch is one reader with its memory.
type trialScratch struct {
	r      *Report
	s      *store.Store
	index  map[cellKey]*Distribution
	values []int64
	one    histogram
}

// read adds both sides' exchanges of the trial at a place in the plan.
func (x *trialScratch) read(place int) error {
	t := x.r.Trials[place]
	treatment := x.r.TreatmentOf(t.Treatment)
	for _, side := range []measure.Side{measure.Client, measure.Server} {
		wanted := map[string]*Distribution{} // by the name of the field
		for _, f := range measure.Summaries(side) {
			if d := x.index[cellKey{treatment, side, f.Response.Name}]; d != nil && !d.aside[t.ID] {
				wanted[f.Name] = d
			}
		}
		if len(wanted) == 0 {
			continue
		}
		if err := x.readSide(place, t.ID, side, wanted); err != nil && !errors.Is(err, store.ErrNoData) {
			return err
		}
	}
	return nil
}

func (x *trialScratch) readSide(place, trial int, side measure.Side, wanted map[string]*Distribution) error {
	c, err := x.s.Columns(trial, side)
	if err != nil {
		return err
	}
	defer c.Close()
	for field, d := range wanted {
		x.values, err = c.Read(x.values[:0], field)
		switch {
		case errors.Is(err, store.ErrNoData): // this side does not see it
		case err != nil:
			return err
		case len(x.values) > 0:
			x.one.reset()
			x.one.add(x.values)
			d.take(place, &x.one, x.values)
		}
	}
	return nil
}

// take adds a trial: its values in the order of requests, and the same counted.
func (d *Distribution) take(place int, counted *histogram, values []int64) {
	var means [courseParts]float64
	for i := range means {
		from, to := i*len(values)/courseParts, (i+1)*len(values)/courseParts
		if from == to { // fewer requests than parts: a part is the request it lies in
			to = from + 1
		}
		var sum int64
		for _, v := range values[from:to] {
			sum += v
		}
		means[i] = float64(sum) / float64(to-from) / d.perUnit
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Values.merge(counted)
	d.courses[place] = &means
	d.Trials++
}

// settle sums the trials' courses up, in the order of the plan, so that the same
// results make the same report.
func (d *Distribution) settle() {
	d.Course = make([]CoursePoint, courseParts)
	for i := range d.Course {
		p := &d.Course[i]
		p.Lo, p.Hi = math.Inf(1), math.Inf(-1)
		for _, c := range d.courses {
			if c != nil {
				p.Mean, p.Lo, p.Hi = p.Mean+c[i]/float64(d.Trials), min(p.Lo, c[i]), max(p.Hi, c[i])
			}
		}
	}
	d.courses = nil
}

// Quantiles are the values, in Unit, at shares that rise from 0 to 1.
func (d *Distribution) Quantiles(shares []float64) []float64 {
	out := d.Values.quantiles(shares)
	for i := range out {
		out[i] /= d.perUnit
	}
	return out
}

// Distribution finds one.
func (r *Report) Distribution(treatment int, p Panel) (*Distribution, bool) {
	i := slices.IndexFunc(r.Distributions, func(d *Distribution) bool { return d.Treatment == treatment && d.Panel == p })
	if i < 0 {
		return nil, false
	}
	return r.Distributions[i], true
}
