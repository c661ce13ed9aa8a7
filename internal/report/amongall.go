package report

import (
	"math"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
)

// countFailed counts the requests of the trials, those that failed, and those that the client sent again.
func (r *Report) countFailed(s *store.Store) error {
	recorded, err := s.Qualities("requests", "failures", "repetitions")
	if err != nil {
		return err
	}
	for i, t := range r.valid() {
		var x stat.Share
		again := 0
		for _, q := range recorded[store.AttemptID{Trial: t.ID, Attempt: t.Attempt}] {
			switch q.Key {
			case "failures":
				x.Hits = int(q.Value)
			case "repetitions":
				again = int(q.Value)
			default:
				x.N = int(q.Value)
			}
		}
		repeated := stat.Share{Hits: min(again, x.N), N: x.N}
		r.Treatments[i].repeated = append(r.Treatments[i].repeated, repeated)
		r.Treatments[i].failed = append(r.Treatments[i].failed, x)
		r.Treatments[i].trials = append(r.Treatments[i].trials, t.ID)
		if x.Hits > 0 {
			if r.failing == nil {
				r.failing = map[int]bool{}
			}
			r.failing[t.ID] = true
		}
	}
	return nil
}

// clockSteps finds how large the step of the clock of each treatment's programs can be: all that one clock shows are
// multiples of it, the quickest request of each trial and, of a client, when its last one ended.
func (r *Report) clockSteps(s *store.Store) error {
	recorded, err := s.Qualities("span")
	if err != nil {
		return err
	}
	steps := map[cellKey]int64{} // in ns, by treatment and side: what all that was shown is a multiple of
	show := func(treatment int, side measure.Side, seconds float64) {
		k := cellKey{treatment: treatment, side: side}
		for a, b := steps[k], int64(math.Round(seconds*1e9)); ; a, b = b, a%b {
			if b == 0 {
				steps[k] = a
				break
			}
		}
	}
	for i, t := range r.valid() {
		for _, q := range recorded[store.AttemptID{Trial: t.ID, Attempt: t.Attempt}] {
			show(i, measure.Client, q.Value)
		}
	}
	reads := func(c Cell) bool {
		return c.Unit == "s" && c.Method == store.Measured && c.on == nil && slices.Contains(timed, c.Response)
	}
	for _, c := range r.Cells {
		for _, p := range c.Points {
			if reads(c) && !math.IsNaN(p.Min) {
				show(c.Treatment, c.Side, p.Min)
			}
		}
	}
	for i, c := range r.Cells {
		if reads(c) {
			r.Cells[i].step = float64(steps[cellKey{treatment: c.Treatment, side: c.Side}]) * 1e-9
		}
	}
	return nil
}

// stepOf is the largest step of the clocks of cells; 0: that of one is not known.
func stepOf(cells []*Cell) float64 {
	most := 0.0
	for _, c := range cells {
		if !(c.step > 0) {
			return 0
		}
		most = max(most, c.step)
	}
	return most
}

// readFailed finds, of the trials of which requests failed, the median and the p95 of each time among all requests:
// who loses the slow ones is not quick. Those that failed count as the slowest. It reads the exchanges, which a copy
// may lack.
func (r *Report) readFailed(s *store.Store) {
	if len(r.failing) == 0 {
		return
	}
	late := make([]float64, len(r.Trials)) // lateShare of each
	r.eachTrial(func() func(int) error {
		var values []int64
		return func(place int) error {
			if t := r.Trials[place]; r.failing[t.ID] {
				values, late[place] = r.amongAll(s, t.ID, r.TreatmentOf(t.Treatment), values)
			}
			return nil
		}
	})
	r.tellLate(late)
	r.shareFailed()
}

// tellLate keeps how many of the failed requests of trials had no answer in time, by the place of a trial. Of a
// treatment it is known if it is of each trial.
func (r *Report) tellLate(late []float64) {
	of := map[int]float64{}
	for place, t := range r.Trials {
		of[t.ID] = late[place]
	}
	for i := range r.Treatments {
		x := &r.Treatments[i]
		all := make([]int, len(x.failed))
		for j, trial := range x.trials {
			if math.IsNaN(of[trial]) {
				all = nil
				break
			}
			all[j] = int(math.Ceil(of[trial] * float64(x.failed[j].Hits)))
		}
		x.late = all
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		t := r.Treatments[c.Treatment]
		for j, p := range c.Points {
			k := slices.Index(t.trials, p.Trial)
			if c.Response != failedShare || t.late == nil || k < 0 || c.on != nil {
				continue
			}
			c.Points[j].late = p.Mean * float64(t.late[k]) / float64(max(1, t.failed[k].Hits))
			c.Points[j].lateKnown = true
		}
	}
}

// lateShare is, of the requests of a trial that failed, the share of those without an answer in time; NaN: it is not
// known.
func lateShare(c *store.Columns) float64 {
	failed := c.Rows() - c.Answered()
	late := failed
	all, err := c.Failures()
	for why, n := range all {
		if !measure.Late(why) {
			late -= n
		}
	}
	if err != nil || failed == 0 {
		return math.NaN()
	}
	return float64(max(0, late)) / float64(failed)
}

// unseenFailed notes that nobody has looked among all requests of the trials of which some failed.
func (r *Report) unseenFailed(*store.Store) {
	if len(r.failing) == 0 {
		return
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		for j := range c.Points {
			if p := &c.Points[j]; c.ofAnswered() && r.failing[p.Trial] {
				p.AllMedian, p.AllP95 = math.NaN(), math.NaN()
			}
		}
	}
	r.shareFailed()
}

// shareFailed makes units of several benches anew, where requests failed.
func (r *Report) shareFailed() {
	if r.Benches == nil {
		return
	}
	for _, cells := range r.panelCells() {
		if slices.ContainsFunc(cells, func(c *Cell) bool { return slices.ContainsFunc(c.Points, Point.failed) }) {
			_ = cells[0].on.share(cells, r.Benches.Kind) // findBenches has warned of its error
		}
	}
}

// amongAll reads one trial. It returns the memory that it read into, and lateShare.
func (r *Report) amongAll(s *store.Store, trial, treatment int, values []int64) ([]int64, float64) {
	late := math.NaN()
	columns, err := s.Columns(trial, measure.Client)
	if err == nil {
		defer columns.Close()
		late = lateShare(columns)
	}
	var captured map[string][]float64 // nil: not read yet
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Treatment != treatment || !c.ofAnswered() {
			continue
		}
		at := slices.IndexFunc(c.Points, func(p Point) bool { return p.Trial == trial })
		if at < 0 {
			continue
		}
		p := &c.Points[at]
		p.AllMedian, p.AllP95 = math.NaN(), math.NaN()
		if err != nil {
			continue
		}
		failed := columns.Rows() - columns.Answered()
		if x, _ := measure.FindResponse(c.Response); x.Packets {
			if captured == nil {
				captured = capturedIn(s, trial)
			}
			own := captured[c.Response]
			if strings.HasPrefix(c.Response, "jitter") { // of successive requests: the one after a failed one has none, either
				failed = columns.Rows() - 1 - len(own)
			}
			if len(own) > 0 {
				ofAll(p, own, failed, 1)
			}
			continue
		}
		field := slices.IndexFunc(measure.Summaries(measure.Client), func(f *measure.Field) bool {
			return f.Response.Name == c.Response
		})
		if field < 0 {
			continue
		}
		f := measure.Summaries(measure.Client)[field]
		var unread error
		if values, unread = columns.Read(values[:0], f.Name); unread == nil {
			ofAll(p, values, failed, f.Scale())
		}
	}
	return values, late
}

// ofAll are the quantiles of a trial among all its requests, of which so many failed.
func ofAll[T stat.Value](p *Point, values []T, failed int, scale float64) {
	for _, x := range []struct {
		q  float64
		to *float64
	}{{0.5, &p.AllMedian}, {0.95, &p.AllP95}} {
		v, few := stat.QuantileOfAll(values, failed, x.q)
		if *x.to = v * scale; few != nil {
			*x.to = 0 // too few to have it, answered or not
		}
	}
}

// capturedIn are the figures of a trial's requests in captured packets, by response; none where a copy lacks them.
func capturedIn(s *store.Store, trial int) map[string][]float64 {
	out := map[string][]float64{}
	src := store.Source{Side: measure.Client, Instrument: "packet", Method: store.Measured}
	for batch, err := range s.Samples(trial, src) {
		if err != nil {
			return map[string][]float64{}
		}
		for _, x := range batch {
			out[x.Quantity.Name] = append(out[x.Quantity.Name], x.Value)
		}
	}
	return out
}
