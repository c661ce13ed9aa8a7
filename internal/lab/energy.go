package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge/internal/instrument"
	"edgegauge/internal/instrument/energy"
	"edgegauge/internal/measure"
	"edgegauge/internal/store"
	"edgegauge/internal/study"
)

// modelMark begins the spec of what is no meter but a power profile.
const modelMark = "model:"

// energyResponses are those that need a meter or a model.
var energyResponses = []string{"energy", "energy_gross", "trial_energy", "power"}

// NeedsMeter says whether a study asks for energy.
func NeedsMeter(s study.Study) bool {
	return slices.ContainsFunc(s.Responses, func(w study.Word) bool { return slices.Contains(energyResponses, w.Text) })
}

// Meters lists what the plan's treatments name as meters, models left out.
func Meters(p study.Plan) (meters, models []string) {
	for _, t := range p.Trials {
		for _, spec := range []string{t.Setup.Client.Meter, t.Setup.Server.Meter} {
			switch {
			case spec == "":
			case strings.HasPrefix(spec, modelMark):
				models = append(models, spec)
			default:
				meters = append(meters, spec)
			}
		}
	}
	slices.Sort(meters)
	slices.Sort(models)
	return slices.Compact(meters), slices.Compact(models)
}

// A supply is one side's meter while a trial runs.
type supply struct {
	side  measure.Side
	spec  string
	meter instrument.Meter
	idle  energy.Window
	stop  context.CancelFunc
	done  chan error // its one value is why the observation failed

	failed error

	mu      sync.Mutex
	samples []measure.Sample
}

func (s *supply) add(x measure.Sample) {
	s.mu.Lock()
	s.samples = append(s.samples, x)
	s.mu.Unlock()
}

// end ends the observation, once, and says why it failed.
func (s *supply) end() error {
	s.stop()
	err, open := <-s.done
	if open {
		s.failed = err
		close(s.done)
	}
	return s.failed
}

// idleReadings is how many readings the idle power is the mean of.
const idleReadings = 40

// watchSupply starts the meters.
func (r *rig) watchSupply(context.Context) error {
	for side, end := range map[measure.Side]study.Side{measure.Client: r.s.Client, measure.Server: r.s.Server} {
		if end.Meter == "" || strings.HasPrefix(end.Meter, modelMark) || !NeedsMeter(r.lab.Plan.Study) {
			continue
		}
		meter, ok := r.lab.Meters[end.Meter]
		if !ok {
			return fmt.Errorf("%w: meter %s is not open", errLab, end.Meter)
		}
		r.supplies = append(r.supplies, r.observe(side, end.Meter, meter))
	}
	return nil
}

// idle waits while the meters take the idle: both programs are ready and warm,
// and nothing is driven.
func (r *rig) idle(ctx context.Context) error {
	if len(r.supplies) == 0 {
		return nil
	}
	var settle, idle time.Duration
	for _, s := range r.supplies {
		f := s.meter.Facts()
		settle, idle = max(settle, f.Margin()), max(idle, idleReadings*f.Interval)
	}
	if err := sleep(ctx, settle); err != nil {
		return context.Cause(ctx)
	}
	from := time.Since(r.zero)
	if err := sleep(ctx, idle+settle); err != nil { // the run's window is widened into the idle
		return context.Cause(ctx)
	}
	for _, s := range r.supplies {
		s.idle = energy.Window{From: from, To: from + idle}
	}
	return nil
}

func (r *rig) observe(side measure.Side, spec string, meter instrument.Meter) *supply {
	ctx, cancel := context.WithCancel(instrument.WithStart(context.Background(), r.zero))
	s := &supply{side: side, spec: spec, meter: meter, stop: cancel, done: make(chan error, 1)}
	go func() { s.done <- meter.Observe(ctx, s.add) }()
	return s
}

// readSupply ends the meters after the idle behind the run, and adds the energy
// of the run.
func (r *rig) readSupply(ctx context.Context) error {
	window := energy.Window{From: r.began.Sub(r.zero), To: r.ended.Sub(r.zero)}
	r.notePhases(window)
	for _, s := range r.supplies {
		f := s.meter.Facts()
		if err := sleep(ctx, f.Margin()+4*f.Interval-time.Since(r.ended)); err != nil {
			return context.Cause(ctx)
		}
	}
	for _, s := range r.supplies {
		if err := r.settle(s, window); err != nil {
			return fmt.Errorf("meter %s: %w", s.spec, err)
		}
	}
	r.supplies = nil
	return r.modelSupply(window)
}

// notePhases keeps what the trial did when, on the clock of the readings, so
// that a power trace can be read.
func (r *rig) notePhases(run energy.Window) {
	if len(r.supplies) == 0 && !r.modelled() {
		return
	}
	note := func(name string, w energy.Window) {
		if w.Length() > 0 {
			r.quality = append(r.quality, store.Quality{Key: name + "_from", Unit: "s", Value: w.From.Seconds()},
				store.Quality{Key: name + "_to", Unit: "s", Value: w.To.Seconds()})
		}
	}
	note("warm_up", energy.Window{From: r.warm[0].Sub(r.zero), To: r.warm[1].Sub(r.zero)})
	if len(r.supplies) > 0 {
		note("idle", r.supplies[0].idle)
	}
	note("run", run)
}

// modelled says whether a side's energy is computed, not read.
func (r *rig) modelled() bool {
	return NeedsMeter(r.lab.Plan.Study) && (strings.HasPrefix(r.s.Client.Meter, modelMark) || strings.HasPrefix(r.s.Server.Meter, modelMark))
}

// settle turns one meter's readings into the trial's energy.
func (r *rig) settle(s *supply, window energy.Window) error {
	if err := s.end(); err != nil {
		return err
	}
	for _, q := range s.meter.Quality().Items() {
		r.quality = append(r.quality, store.Quality{Key: string(s.side) + "_" + q.Key, Unit: q.Unit, Value: q.Value})
	}
	if err := s.meter.Quality().Err(); err != nil {
		return err
	}
	w, err := r.attempt.Samples(store.Source{Side: s.side, Instrument: s.meter.Describe().Name, Method: store.Measured})
	if err == nil {
		err = errors.Join(w.Append(s.samples), w.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	trace := energy.NewTrace(s.meter.Facts(), s.samples)
	idle, err := trace.MeasureIdle(s.idle)
	if err != nil {
		return err
	}
	e, err := energy.Trial(trace, window, idle)
	if err != nil {
		return err
	}
	r.addEnergy(s.side, e.Gross, e.Net, e.MeanPower, store.Measured)
	r.quality = append(r.quality, store.Quality{Key: string(s.side) + "_energy_error", Unit: "J", Value: e.NetError},
		store.Quality{Key: string(s.side) + "_idle_power", Unit: "W", Value: e.Idle})
	return r.keepDoubts(s, e)
}

// keepDoubts writes the estimate with what is doubtful about it beside the logs.
func (r *rig) keepDoubts(s *supply, e energy.Result) error {
	var doubts []string
	for _, d := range append(e.Doubts, s.meter.Quality().Doubts()...) {
		doubts = append(doubts, d.Error())
	}
	r.quality = append(r.quality, store.Quality{Key: string(s.side) + "_energy_doubts", Unit: "1", Value: float64(len(doubts))})
	b, err := json.MarshalIndent(map[string]any{
		"meter": s.spec, "method": e.Method, "from_s": e.From.Seconds(), "to_s": e.To.Seconds(), "gross_J": e.Gross, "net_J": e.Net,
		"mean_W": e.MeanPower, "idle_W": e.Idle, "error_J": e.Error, "net_error_J": e.NetError, "doubts": doubts,
	}, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(r.attempt.Dir(), "energy-"+string(s.side)+".json"), b, 0o644)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	return nil
}

// modelSupply adds modelled energy from CPU time and bytes.
func (r *rig) modelSupply(window energy.Window) error {
	for i, end := range []study.Side{r.s.Client, r.s.Server} {
		name, ok := strings.CutPrefix(end.Meter, modelMark)
		if !ok || !NeedsMeter(r.lab.Plan.Study) {
			continue
		}
		profile, ok := r.lab.Profiles[name]
		if !ok {
			return fmt.Errorf("%w: no power profile %q", errLab, name)
		}
		t := r.tally[i]
		gross, net := profile.Energy(instrument.Load{Length: window.Length(), CPU: r.cpuOf(i), Bytes: t.in + t.out, Wakes: t.n})
		side := []measure.Side{measure.Client, measure.Server}[i]
		power := gross / window.Length().Seconds()
		r.addEnergy(side, gross, net, power, store.Modelled)
		if err := r.keepModel(side, power, window); err != nil {
			return fmt.Errorf("%w: %w", errLab, err)
		}
	}
	return nil
}

// keepModel keeps the one thing a model knows of the run: its mean power.
func (r *rig) keepModel(side measure.Side, power float64, run energy.Window) error {
	w, err := r.attempt.Samples(store.Source{Side: side, Instrument: "model", Method: store.Modelled})
	if err != nil {
		return err
	}
	flat := []measure.Sample{{Quantity: energy.Power, At: run.From, Value: power}, {Quantity: energy.Power, At: run.To, Value: power}}
	return errors.Join(w.Append(flat), w.Close())
}

// addEnergy adds the responses; per request, energy is net of idle.
func (r *rig) addEnergy(side measure.Side, gross, net, power float64, method store.Method) {
	n := float64(max(1, r.tally[atClient].n))
	for _, x := range []struct {
		response string
		v        float64
	}{{"energy", net / n}, {"energy_gross", gross / n}, {"trial_energy", gross}, {"power", power}} {
		if math.IsNaN(x.v) {
			continue
		}
		one := single(side, x.response, x.v)
		one.Method = method
		r.results = append(r.results, one)
	}
}

// silence ends meters that nobody will read.
func (r *rig) silence() {
	for _, s := range r.supplies {
		s.end()
	}
	r.supplies = nil
}
