package instrument

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/measure"
)

// An Agent is the program of ours on another machine, as far as a meter that is
// read there needs it.
type Agent interface {
	// Describe asks the instrument of that specification what it is; what it tells
	// besides goes into told.
	Describe(ctx context.Context, spec string, told any) (measure.Description, error)
	// Clock is the instant here at which the monotonic clock there was zero, and
	// how far that may be off.
	Clock(ctx context.Context) (zero time.Time, off time.Duration, err error)
	// Watch keeps the instrument's samples there until ctx ends, and emits them then.
	// It says when it began, on the clock there.
	Watch(ctx context.Context, spec string, began func(time.Duration), emit func(measure.Sample), told any) error
}

// A Remote reaches an Agent: a new one if the last was lost.
type Remote func(ctx context.Context) (Agent, error)

// Told is what an agent's meter says of itself besides its readings.
type Told struct {
	Facts   energy.Facts
	Quality MeterStats
}

// A boardMeter is a meter on another machine: its readings are kept there and
// come after the trial. Their instants are the device's, moved to this machine's
// clock, which is as far off as the quality's clock says.
type boardMeter struct {
	agent       Remote
	spec        string
	description measure.Description
	told        Told
}

// OpenOnBoard opens a meter that is read on another machine.
func OpenOnBoard(ctx context.Context, spec string, agent Remote) (Meter, error) {
	m := &boardMeter{agent: agent, spec: spec}
	a, err := agent(ctx)
	if err == nil {
		m.description, err = a.Describe(ctx, spec, &m.told)
	}
	return m, err
}

// Describe implements measure.Instrument.
func (m *boardMeter) Describe() measure.Description { return m.description }

// Facts implements Meter.
func (m *boardMeter) Facts() energy.Facts { return m.told.Facts }

// Stats implements Meter.
func (m *boardMeter) Stats() MeterStats { return m.told.Quality }

// answerWithin is how long an agent may take to say where its clock stands: a board may hang.
const answerWithin = 20 * time.Second

// Observe implements measure.Instrument.
func (m *boardMeter) Observe(ctx context.Context, emit func(measure.Sample)) error {
	zero := Start(ctx)
	m.told.Quality = MeterStats{}
	asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin) // ctx may end before it is answered
	defer cancel()
	a, err := m.agent(asked)
	if err != nil {
		return err
	}
	first, err := askClock(asked, a)
	if err != nil {
		return err
	}
	var began time.Duration
	var lost error
	fit, asksAgain := clockFit{first, first}, true
	err = a.Watch(ctx, m.spec, func(at time.Duration) { began = at }, func(s measure.Sample) {
		if asksAgain { // once: samples come when the observation is over
			asksAgain = false
			asked, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
			defer cancel()
			fit.last, lost = askClock(asked, a)
		}
		if lost != nil {
			return
		}
		s.At = fit.here(began + s.At).Sub(zero)
		emit(s)
	}, &m.told)
	if lost != nil { // how far its clock has drifted meanwhile, nobody knows
		return errors.Join(err, fmt.Errorf("where its clock stands at the end: %w", lost))
	}
	clock := &m.told.Quality.Clock
	if clock.Method == "" {
		clock.Method = "round trip"
	}
	clock.Bias += max(fit.first.off, fit.last.off) // beside that of the meter's clock to the board's
	return err
}

// A clockReading is where the clock of another machine stood.
type clockReading struct {
	at   time.Duration // on that clock
	zero time.Time     // the instant here at which it was zero
	off  time.Duration // how far zero may be off
}

func askClock(ctx context.Context, a Agent) (r clockReading, err error) {
	r.zero, r.off, err = a.Clock(ctx)
	r.at = time.Since(r.zero)
	return r, err
}

// A clockFit is the straight line through two readings: in ten minutes a board's
// clock may drift by tens of milliseconds.
type clockFit struct{ first, last clockReading }

// here is the instant on this machine's clock.
func (f clockFit) here(at time.Duration) time.Time {
	zero := f.first.zero
	if apart := f.last.at - f.first.at; apart > 0 {
		drift := float64(f.last.zero.Sub(zero)) / float64(apart)
		zero = zero.Add(time.Duration(drift * float64(at-f.first.at)))
	}
	return zero.Add(at)
}

// OpenOnAgent opens a meter of this machine for its agent, which tells the lab
// what only meters have.
func OpenOnAgent(ctx context.Context, spec string) (measure.Instrument, error) {
	m, err := Open(ctx, spec, Options{})
	if err != nil {
		return nil, err
	}
	return toldMeter{m}, nil
}

// A toldMeter is a meter behind an agent.
type toldMeter struct{ Meter }

// Tell is what the agent sends besides samples.
func (m toldMeter) Tell() any { return &Told{m.Facts(), m.Stats()} }

// Close closes the meter.
func (m toldMeter) Close() error {
	Close(m.Meter)
	return nil
}
