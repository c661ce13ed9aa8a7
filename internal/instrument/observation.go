package instrument

import (
	"context"
	"time"

	"edgegauge/internal/instrument/energy"
	"edgegauge/internal/measure"
)

// An Observation is a meter that watches beside a trial.
type Observation struct {
	meter   Meter
	stop    context.CancelFunc
	done    chan error
	samples []measure.Sample
}

// Begin starts watching; At counts from zero. A trial's window must lie inside
// what is watched, with Lead on both sides and idle measured there.
func Begin(ctx context.Context, m Meter, zero time.Time) *Observation {
	ctx, stop := context.WithCancel(WithStart(ctx, zero))
	o := &Observation{meter: m, stop: stop, done: make(chan error, 1)}
	go func() {
		o.done <- m.Observe(ctx, func(s measure.Sample) { o.samples = append(o.samples, s) })
	}()
	return o
}

// End stops watching and returns what was seen. An error makes the trial invalid.
func (o *Observation) End() ([]measure.Sample, energy.Trace, error) {
	o.stop()
	err := <-o.done
	if err == nil {
		err = o.meter.Quality().Err()
	}
	return o.samples, energy.NewTrace(o.meter.Facts(), o.samples), err
}

// Lead is what a meter needs before and after a trial: the margin of the widened
// window, and what it takes to start and to be sure of its clock.
func Lead(m Meter) time.Duration {
	return m.Facts().Margin() + max(100*time.Millisecond, 2*m.Facts().Interval)
}
