package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// modelMark begins the spec of what is no meter but a power profile.
const modelMark = "model:"

// energyResponses are those that need a meter or a model.
var energyResponses = []string{"energy", "energy_gross", "trial_energy", "power"}

// IsEnergy says whether a response needs a meter or a model.
func IsEnergy(response string) bool { return slices.Contains(energyResponses, response) }

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

// A meterSession is one side's meter while a trial runs.
type meterSession struct {
	side  measure.Side
	spec  string
	meter instrument.Meter
	// renewal is what the trial before showed of a meter that holds its values
	renewal time.Duration

	idle [2]energy.Window // beforeRun and behindRun
	stop context.CancelFunc
	done chan error // its one value is why the observation failed

	failed error

	mu      sync.Mutex
	samples []measure.Sample
}

func (s *meterSession) add(x measure.Sample) {
	s.mu.Lock()
	s.samples = append(s.samples, x)
	s.mu.Unlock()
}

// facts say how the meter reads, as far as its readings show it by now.
func (s *meterSession) facts() energy.Facts {
	f := s.meter.Facts()
	if !f.Held {
		return f
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Renewal = max(s.renewal, energy.NewTrace(f, s.samples).Renewal)
	return f
}

// trace is what it has read, when it has ended, and how far its clock may be off this one.
func (s *meterSession) trace() energy.Trace {
	f := s.meter.Facts()
	f.Clock = s.meter.Stats().Clock.Uncertainty()
	return energy.NewTrace(f, s.samples)
}

// learn keeps how seldom a meter renews its values, for the trials to come. Trials with meters run one after the other.
func (l *Lab) learn(meter string, renewal time.Duration) {
	if l.renewals == nil {
		l.renewals = map[string]time.Duration{}
	}
	l.renewals[meter] = renewal
}

// end ends the observation, once, and says why it failed.
func (s *meterSession) end() error {
	s.stop()
	err, open := <-s.done
	if open {
		s.failed = err
		close(s.done)
	}
	return s.failed
}

// idleReadings is how many readings each idle, before the run and behind it, is the mean of at least.
const idleReadings = 20

// leastIdle is how long an idle lasts however fast the meter reads. A board that does nothing has beats of its own,
// such as a radio's beacons each 102 ms: the readings between two of them are not its idle.
const leastIdle = time.Second

// renewals is how many times a meter that holds its values renews them meanwhile at least.
const renewals = 6

// meters are those of both sides' supplies, and the models where there is none.
type meters struct {
	task
	attempt      *store.Attempt
	conversation *conversation
	usage        *usage
	records      *records
	packets      *capture
	zero         time.Time // from which instruments count
	sessions     []*meterSession
	findings     findings
}

// before starts the meters.
func (m *meters) before(context.Context) error {
	for i, end := range [2]study.Side{m.setup.Client, m.setup.Server} {
		if end.Meter == "" || strings.HasPrefix(end.Meter, modelMark) || !NeedsMeter(m.lab.Plan.Study) {
			continue
		}
		meter, ok := m.lab.Meters[end.Meter]
		if !ok {
			return fmt.Errorf("%w: meter %s is not open", errLab, end.Meter)
		}
		m.sessions = append(m.sessions, m.observe(sides[i], end.Meter, meter))
	}
	return nil
}

// idle waits while the meters take the idle before the run: both programs are ready and warm,
// and nothing is driven.
func (m *meters) idle(ctx context.Context) error { return m.rest(ctx, beforeRun) }

// still waits while they take that behind the run, before the records are fetched: it tells whether the base of the
// run moved.
func (m *meters) still(ctx context.Context) error { return m.rest(ctx, behindRun) }

// rest waits while the meters take one idle, once, with what the window of the run is widened into on both sides.
func (m *meters) rest(ctx context.Context, when int) error {
	if len(m.sessions) == 0 || m.sessions[0].idle[when].Length() > 0 {
		return nil
	}
	began := time.Now()
	var settle, idle time.Duration
	for {
		for _, s := range m.sessions {
			f := s.facts()
			settle, idle = max(settle, f.Margin()), max(idle, leastIdle, idleReadings*f.Interval,
				renewals*f.Renewal)
		}
		left := settle + idle + settle - time.Since(began)
		if left <= 0 {
			break
		}
		if err := sleep(ctx, left); err != nil {
			return context.Cause(ctx)
		}
	}
	from := began.Add(settle).Sub(m.zero)
	for _, s := range m.sessions {
		s.idle[when] = energy.Window{From: from, To: from + idle}
	}
	return nil
}

func (m *meters) observe(side measure.Side, spec string, meter instrument.Meter) *meterSession {
	ctx, cancel := context.WithCancel(instrument.WithStart(context.Background(), m.zero))
	s := &meterSession{side: side, spec: spec, meter: meter, renewal: m.lab.renewals[spec], stop: cancel,
		done: make(chan error, 1)}
	emit := s.add
	if watch := m.lab.Watch; watch != nil {
		t := thinner{tell: func(watts float64) { watch(side, watts) }}
		emit = func(x measure.Sample) {
			s.add(x)
			t.add(x)
		}
	}
	go func() { s.done <- meter.Observe(ctx, emit) }()
	return s
}

// window is a span on the clock of the readings.
func (m *meters) window(s stack.Span) energy.Window {
	return energy.Window{From: s.Began.Sub(m.zero), To: s.Ended.Sub(m.zero)}
}

// after ends the meters after the idle behind the run, and gives the energy of
// the run.
func (m *meters) after(ctx context.Context) (findings, error) {
	err := m.read(ctx)
	return m.findings, err
}

func (m *meters) read(ctx context.Context) error {
	if err := m.still(ctx); err != nil {
		return err
	}
	window := m.window(m.conversation.run)
	m.notePhases(window)
	for _, s := range m.sessions {
		if err := m.settle(s, window); err != nil {
			return fmt.Errorf("meter %s: %w", s.spec, err)
		}
	}
	m.sessions = nil
	return nil
}

// notePhases keeps what the trial did when, on the clock of the readings, so
// that a power trace can be read.
func (m *meters) notePhases(run energy.Window) {
	if len(m.sessions) == 0 && !m.modelled() {
		return
	}
	note := func(name string, w energy.Window) {
		if w.Length() > 0 {
			m.findings.note(name+"_from", "s", w.From.Seconds())
			m.findings.note(name+"_to", "s", w.To.Seconds())
		}
	}
	note("warm_up", m.window(m.conversation.warmUp.Span))
	note("run", run)
	if len(m.sessions) > 0 {
		note("idle", m.sessions[0].idle[beforeRun])
		note("idle_after", m.sessions[0].idle[behindRun])
	}
}

// modelled says whether a side's energy is computed, not read.
func (m *meters) modelled() bool {
	s := m.setup
	return NeedsMeter(m.lab.Plan.Study) &&
		(strings.HasPrefix(s.Client.Meter, modelMark) || strings.HasPrefix(s.Server.Meter, modelMark))
}

// settle turns one meter's readings into the trial's energy.
func (m *meters) settle(s *meterSession, window energy.Window) error {
	if err := s.end(); err != nil {
		return err
	}
	for _, q := range s.meter.Stats().Items() {
		m.findings.note(string(s.side)+"_"+q.Key, q.Unit, q.Value)
	}
	if err := s.meter.Stats().Err(); err != nil {
		return err
	}
	about, method := s.meter.Describe(), store.Measured
	if about.Modelled { // a profile and the load, read where the meter is: device:model:NAME
		method = store.Modelled
	}
	w, err := m.attempt.Samples(store.Source{Side: s.side, Instrument: about.Name, Method: method})
	if err == nil {
		err = errors.Join(w.Append(s.samples), w.Close())
	}
	if err != nil {
		return labFault(err)
	}
	trace := s.trace()
	if trace.Renewal > 0 {
		m.lab.learn(s.spec, trace.Renewal)
		m.findings.note(string(s.side)+"_meter_renewal", "s", trace.Renewal.Seconds())
	}
	idle, err := trace.MeasureIdle(s.idle[:]...)
	if err != nil {
		return err
	}
	e, err := energy.OfTrial(trace, window, idle...)
	if err != nil {
		return err
	}
	m.addEnergy(s.side, e.Gross, e.Net, e.MeanPower, method)
	m.findings.note(string(s.side)+"_energy_error", "J", e.NetError)
	m.findings.note(string(s.side)+"_energy_unseen", "J", e.Unseen.Net)
	m.findings.note(string(s.side)+"_gross_unseen", "J", e.Unseen.Gross)
	m.findings.note(string(s.side)+"_idle_power", "W", e.Idle)
	m.findings.note(string(s.side)+"_idle_moved", "J", e.Moved)
	return m.keepDoubts(s, e)
}

// keepDoubts writes the estimate with what is doubtful about it beside the logs.
func (m *meters) keepDoubts(s *meterSession, e energy.TrialEnergy) error {
	var doubts []string
	keys := map[string]bool{}
	for _, d := range append(e.Doubts, s.meter.Stats().Doubts()...) {
		doubts = append(doubts, d.Error())
		if k := (energy.Doubt{}); errors.As(d, &k) && !keys[k.Key] {
			keys[k.Key] = true
			m.findings.note(string(s.side)+"_doubt_"+k.Key, "1", 1)
		}
	}
	m.findings.note(string(s.side)+"_energy_doubts", "1", float64(len(doubts)))
	b, err := json.MarshalIndent(map[string]any{
		"meter": s.spec, "method": e.Method, "from_s": e.From.Seconds(), "to_s": e.To.Seconds(), "gross_J": e.Gross,
		"net_J":  e.Net,
		"mean_W": e.MeanPower, "idle_W": e.Idle, "idle_moved_J": e.Moved, "error_J": e.Error, "net_error_J": e.NetError,
		"unseen_J": e.Unseen.Gross, "net_unseen_J": e.Unseen.Net, "doubts": doubts,
	}, "", "  ")
	if err == nil {
		err = m.attempt.Keep("energy-"+string(s.side)+".json", b)
	}
	if err != nil {
		return labFault(err)
	}
	return nil
}

// model adds modelled energy from CPU time and bytes: those on the wire where the trial
// gives wire_bytes, else those of the bodies.
func (m *meters) model(context.Context) (f findings, err error) {
	m.findings = findings{}
	window := m.window(m.conversation.run)
	for i, end := range []study.Side{m.setup.Client, m.setup.Server} {
		name, ok := strings.CutPrefix(end.Meter, modelMark)
		if !ok || !NeedsMeter(m.lab.Plan.Study) {
			continue
		}
		profile, ok := m.lab.Profiles[name]
		if !ok {
			return f, fmt.Errorf("%w: no power profile %q", errLab, name)
		}
		if !m.usage.knowsCPU(i, m.records.ends[i].CPU) {
			continue // a model of half the work is none
		}
		t := &m.records.sides[i]
		bytes, onWire := t.in+t.out, 0.0
		if m.packets.onWire > 0 {
			bytes, onWire = m.packets.onWire, 1
		}
		m.findings.note(string(sides[i])+"_model_on_wire", "1", onWire)
		gross, net := profile.Energy(instrument.Load{Length: window.Length(), CPU: m.usage.cpu(i, m.records.ends[i].CPU),
			Bytes: bytes, Wakes: t.n})
		power := gross / window.Length().Seconds()
		m.addEnergy(sides[i], gross, net, power, store.Modelled)
		if err := m.keepModel(sides[i], power, window); err != nil {
			return f, labFault(err)
		}
	}
	return m.findings, nil
}

// keepModel keeps the one thing a model knows of the run: its mean power.
func (m *meters) keepModel(side measure.Side, power float64, run energy.Window) error {
	w, err := m.attempt.Samples(store.Source{Side: side, Instrument: "model", Method: store.Modelled})
	if err != nil {
		return err
	}
	flat := []measure.Sample{{Quantity: energy.Power, At: run.From, Value: power},
		{Quantity: energy.Power, At: run.To, Value: power}}
	return errors.Join(w.Append(flat), w.Close())
}

// addEnergy adds the responses; per request, energy is net of idle.
func (m *meters) addEnergy(side measure.Side, gross, net, power float64, method store.Method) {
	n := float64(max(1, m.records.sides[atClient].n))
	for _, x := range []struct {
		response string
		v        float64
	}{{"energy", net / n}, {"energy_gross", gross / n}, {"trial_energy", gross}, {"power", power}} {
		if math.IsNaN(x.v) {
			continue
		}
		one := single(side, x.response, x.v)
		one.Method = method
		m.findings.results = append(m.findings.results, one)
	}
}

// close ends meters that nobody will read.
func (m *meters) close() {
	for _, s := range m.sessions {
		s.end()
	}
	m.sessions = nil
}

// EnergyAsked is where a study asks for energy.
func EnergyAsked(s study.Study) study.Pos {
	for _, w := range s.Responses {
		if slices.Contains(energyResponses, w.Text) {
			return w.Pos
		}
	}
	return study.Pos{File: s.File}
}
