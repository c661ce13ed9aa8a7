package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A Trace is the power of one side's device during one trial.
type Trace struct {
	Treatment, Trial, Block int
	Side                    measure.Side
	Instrument              string
	Method                  store.Method
	Readings                int
	Points                  []TracePoint
	Phases                  []TracePhase
}

// A TracePoint is the mean power from the point before, or where there are more
// readings than traceParts, of a stretch of them, with the least and the largest.
type TracePoint struct {
	At           float64 // s since the trial began
	Mean, Lo, Hi float64 // W
}

// A TracePhase is what the trial did meanwhile, in s since it began.
type TracePhase struct {
	Name     string
	From, To float64
}

// traceParts is how many points a trace has at most.
const traceParts = 200

// PageTraces is how many traces a page holds: some 15 kB each, drawn and as data.
const PageTraces = 40

// traceResponses are those whose cells say that a side's power was known.
var traceResponses = []string{"power", "energy", "energy_gross", "trial_energy"}

// readTraces reads the power of trials, first blocks first.
func (r *Report) readTraces(s *store.Store, most int) error {
	if !slices.ContainsFunc(r.Cells, func(c Cell) bool { return slices.Contains(traceResponses, c.Response) }) {
		return nil
	}
	trials := slices.Clone(r.Trials)
	slices.SortStableFunc(trials, func(a, b store.TrialState) int { return a.Block - b.Block })
	for _, t := range trials {
		if t.State != store.Valid || len(r.Traces) >= most {
			continue
		}
		sources, err := s.Sources(t.ID)
		if err != nil {
			return err
		}
		for _, src := range sources {
			x, power, err := r.readTrace(s, t, src)
			if err != nil {
				r.Warnings = append(r.Warnings, fmt.Sprintf("trial %d: the power trace of the %s cannot be read: %v", t.ID,
					src.Side, err))
			} else if x.Points = thinned(power); len(x.Points) > 0 {
				r.Traces = append(r.Traces, x)
			}
		}
	}
	return nil
}

// ReadTracesOf returns the power traces of one trial, one for each side and
// instrument that saw some. What cannot be read is an error.
func (r *Report) ReadTracesOf(s *store.Store, t store.TrialState) ([]*Trace, error) {
	sources, err := s.Sources(t.ID)
	if err != nil {
		return nil, err
	}
	var out []*Trace
	for _, src := range sources {
		x, power, err := r.readTrace(s, t, src)
		if err != nil {
			return nil, err
		}
		if x.Points = thinned(power); len(x.Points) > 0 {
			out = append(out, x)
		}
	}
	return out, nil
}

// readTrace reads all of a trace, and its points apart.
func (r *Report) readTrace(s *store.Store, t store.TrialState, src store.Source) (*Trace, []TracePoint, error) {
	x := &Trace{Treatment: r.TreatmentOf(t.Treatment), Trial: t.ID, Block: t.Block, Side: src.Side,
		Instrument: src.Instrument, Method: src.Method}
	var readings []measure.Sample
	for batch, err := range s.Samples(t.ID, src) {
		if err != nil {
			return nil, nil, err
		}
		for _, b := range batch {
			if b.Quantity == energy.Power || b.Quantity == energy.Counter {
				readings = append(readings, b)
			}
		}
	}
	power := powerOf(readings)
	x.Readings = len(power)
	quality, err := s.Quality(t.ID, t.Attempt)
	x.Phases = phasesOf(quality)
	return x, power, err
}

// powerOf turns readings into points: those of a counter into the mean power
// between two of them.
func powerOf(readings []measure.Sample) []TracePoint {
	slices.SortStableFunc(readings, func(a, b measure.Sample) int { return int(min(max(a.At-b.At, -1), 1)) })
	counter := !slices.ContainsFunc(readings, func(s measure.Sample) bool { return s.Quantity == energy.Power })
	var out []TracePoint
	for i, s := range readings {
		w := s.Value
		switch {
		case counter && (i == 0 || s.At == readings[i-1].At):
			continue
		case counter:
			w = (s.Value - readings[i-1].Value) / (s.At - readings[i-1].At).Seconds()
		case s.Quantity != energy.Power:
			continue
		}
		out = append(out, TracePoint{s.At.Seconds(), w, w, w})
	}
	return out
}

// thinned is at most traceParts points, each the mean of a stretch of readings with its
// extremes, so that no peak is lost. A reading counts for the time since the one before.
func thinned(all []TracePoint) []TracePoint {
	if len(all) <= traceParts {
		return all
	}
	out := make([]TracePoint, traceParts)
	before := all[0].At
	for i := range out {
		part := all[i*len(all)/traceParts : (i+1)*len(all)/traceParts]
		p := TracePoint{At: part[len(part)-1].At, Mean: part[0].Mean, Lo: math.Inf(1), Hi: math.Inf(-1)}
		sum, length := 0.0, 0.0
		for _, q := range part {
			sum, length = sum+q.Mean*(q.At-before), length+q.At-before
			p.Lo, p.Hi, before = min(p.Lo, q.Lo), max(p.Hi, q.Hi), q.At
		}
		if length > 0 {
			p.Mean = sum / length
		}
		out[i] = p
	}
	return out
}

// phasesOf finds the phases among what was noted of a trial: NAME_from and
// NAME_to in s.
func phasesOf(quality []store.Quality) []TracePhase {
	var out []TracePhase
	for _, name := range []string{"warm_up", "idle", "run", "idle_after"} {
		p := TracePhase{strings.ReplaceAll(name, "_", "-"), math.NaN(), math.NaN()}
		for _, q := range quality {
			switch q.Key {
			case name + "_from":
				p.From = q.Value
			case name + "_to":
				p.To = q.Value
			}
		}
		switch p.Name {
		case "run":
			p.Name = "measured run"
		case "idle-after":
			p.Name = "idle"
		}
		if p.To > p.From {
			out = append(out, p)
		}
	}
	return out
}

// Name says whose trace it is.
func (x *Trace) Name(r *Report) string {
	return fmt.Sprintf("%s, trial %d, %s", r.Treatments[x.Treatment].Name(), x.Trial, x.Side)
}

// span is the time the trace covers, in s.
func (x *Trace) span() (from, to float64) {
	from, to = x.Points[0].At, x.Points[len(x.Points)-1].At
	for _, p := range x.Phases {
		from, to = min(from, p.From), max(to, p.To)
	}
	return from, max(to, from+time.Millisecond.Seconds())
}
