package capacity

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/study"
)

// A ScalingQuestion is what a measurement of the throughput at growing concurrency is asked.
type ScalingQuestion struct {
	File   string        // name of the study file, for errors
	Text   []byte        // the study file as read
	Sets   []string      // settings of the user, as --set has them
	Out    string        // results directory; empty: the next below results/NAME
	Length time.Duration // of a trial
	Most   int           // requests under way
	Blocks int           // trials of each level
}

// A Scaling is how the throughput of a server grows with the requests under way.
type Scaling struct {
	Study, Dir string           // name of the study, results directory
	Length     time.Duration    // of a trial
	Trials     []stat.LoadPoint // requests under way, requests/s
	Law        stat.USL         // fitted to Trials
	Queue      stat.ClosedQueue // beside it: a server without cost of coherency
}

// levels are 1, 2, 4, … requests under way, and the most.
func (q ScalingQuestion) levels() []string {
	var levels []string
	for n := 1; n < q.Most; n *= 2 {
		levels = append(levels, strconv.Itoa(n))
	}
	return append(levels, strconv.Itoa(q.Most))
}

// Scale measures the throughput at growing concurrency and fits the Universal Scalability
// Law. The study has one treatment; its load is replaced. Errors are as those of Find.
func Scale(ctx context.Context, h Host, q ScalingQuestion) (*Scaling, error) {
	levels := q.levels()
	if p, _, err := h.Bed.ReadAvailable(ctx, q.File, q.Text, nil, q.Sets...); err != nil {
		return nil, Refused{err}
	} else if err := requests(p, q.File); err != nil {
		return nil, err
	} else if err := lasts(q.Length, p.Study); err != nil {
		return nil, err
	}
	sets := append(slices.Clone(q.Sets), "factors.concurrency=["+strings.Join(levels, ", ")+"]",
		"duration="+q.Length.String(), fmt.Sprintf("design.replications=%d", q.Blocks), "design.precision=off")
	p, _, err := h.Bed.ReadAvailable(ctx, q.File, q.Text, nil, sets...)
	if err == nil {
		more := warmUp(p, study.DefaultWarmUp)
		if slices.ContainsFunc(p.Trials, func(t study.Trial) bool {
			return t.Setup.Placement != p.Trials[0].Setup.Placement
		}) { // by default one request under way is on one CPU and several are not, which is no matter of their number
			more = append(more, "placement="+study.Free)
		}
		p, _, err = h.Bed.ReadAvailable(ctx, q.File, q.Text, nil, append(sets, more...)...)
	}
	switch {
	case err != nil:
		return nil, Refused{err}
	case p.Study.Treatments() != len(levels):
		return nil, Refused{fmt.Errorf("%s varies more than the concurrency; choose the levels of its factors with --set, "+
			"for example%s", q.File, choosing(p, "concurrency"))}
	}
	points := map[int]stat.LoadPoint{} // by trial
	for _, t := range p.Trials {
		points[t.ID] = stat.LoadPoint{N: float64(t.Setup.Concurrency), Block: t.Block}
		if t.Setup.Rate > 0 {
			return nil, Refused{fmt.Errorf("%s has a rate; with --scale concurrency the loop is closed: --set rate=0", q.File)}
		}
	}
	e, err := h.Open(ctx, p, q.Text, q.Out)
	if err != nil {
		return nil, err
	}
	defer h.Close(e)
	out := &Scaling{Study: p.Study.Name, Dir: e.Dir, Length: q.Length}
	if _, err = h.Run(ctx, e); err != nil {
		return out, err
	}
	for row, err := range e.Lab.Store.Results() {
		if err != nil {
			return out, err
		}
		if row.Response == "throughput" {
			x := points[row.ID]
			x.Throughput = row.Mean
			out.Trials = append(out.Trials, x)
		}
	}
	if out.Law, err = stat.FitUSL(out.Trials, true, p.Study.Design.Confidence); err == nil {
		out.Queue, err = stat.FitClosedQueue(out.Trials)
	}
	return out, err
}
