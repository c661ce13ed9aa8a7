package instrument

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// A reading is what a sensor says at one look. NaN is unknown.
type reading struct{ volts, amps, watts, joules float64 }

var unknown = reading{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// fill computes the power where only its factors are known.
func (r reading) fill() reading {
	if math.IsNaN(r.watts) {
		r.watts = r.volts * r.amps
	}
	return r
}

func (r reading) sane() bool {
	or := func(x float64) float64 { // an unknown is no sign of anything
		if math.IsNaN(x) {
			return 0
		}
		return x
	}
	if math.IsNaN(r.joules) {
		return sane(or(r.volts), or(r.amps), r.watts)
	}
	return !math.IsInf(r.joules, 0)
}

// A poller looks at a sensor at an interval: the sources that have no clock and
// no stream of their own.
type poller struct {
	name       string
	facts      energy.Facts
	quantities []measure.Quantity
	modelled   bool
	overhead   float64
	read       func(context.Context) (reading, error)
	begin      func() // forgets the observation before; nil: nothing to forget
	q          MeterStats
}

func (p *poller) Describe() measure.Description {
	resolution := p.facts.Resolution
	if p.facts.Kind == energy.Cumulative {
		resolution *= p.facts.Interval.Seconds()
	}
	return measure.Description{Name: p.name, Quantities: p.quantities, Resolution: resolution,
		Interval: p.facts.Interval, Overhead: p.overhead, Modelled: p.modelled}
}

func (p *poller) Facts() energy.Facts { return p.facts }
func (p *poller) Stats() MeterStats   { return p.q }

// onDevice measures what one look costs the device that does it, and keeps the
// share of a core. It takes 32 looks, at the interval or every 10 ms, since a
// look out of sleep costs four times one out of a loop.
func (p *poller) onDevice(ctx context.Context) error {
	const looks = 32
	tick := time.NewTicker(min(p.facts.Interval, 10*time.Millisecond))
	defer tick.Stop()
	before := kernel.OwnCPUTime()
	for range looks {
		<-tick.C
		if _, err := p.read(ctx); err != nil {
			return err
		}
	}
	p.overhead = ((kernel.OwnCPUTime() - before) / looks).Seconds() / p.facts.Interval.Seconds()
	if p.begin != nil {
		p.begin()
	}
	return nil
}

// patience is how many looks in a row may fail.
const patience = 10

func (p *poller) Observe(ctx context.Context, emit func(measure.Sample)) error {
	zero := start(ctx)
	p.q = MeterStats{}
	if p.begin != nil {
		p.begin()
	}
	var same repeats
	inRow := 0
	tick := time.NewTicker(p.facts.Interval)
	defer tick.Stop()
	if p.facts.Kind == energy.Mean { // it looks back over an interval
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	for {
		before := time.Since(zero)
		r, err := p.read(ctx)
		at := (before + time.Since(zero)) / 2
		switch {
		case ctx.Err() != nil:
			return p.end(same)
		case err != nil:
			p.q.Failed++
			p.lack(at, emit)
			if inRow++; inRow == patience || final(err) {
				return p.fail(err)
			}
		default:
			inRow = 0
			p.take(r.fill(), at, &same, emit)
		}
		select {
		case <-ctx.Done():
			return p.end(same)
		case <-tick.C:
		}
	}
}

func (p *poller) take(r reading, at time.Duration, same *repeats, emit func(measure.Sample)) {
	if !r.sane() {
		p.q.Impossible++
		p.lack(at, emit)
		return
	}
	p.q.Readings++
	put := func(q measure.Quantity, x float64) {
		if !math.IsNaN(x) {
			emit(sample(q, at, x))
		}
	}
	if p.facts.Kind == energy.Cumulative {
		same.see(r.joules)
		put(energy.Counter, r.joules)
	} else {
		same.see(r.watts)
		put(energy.Power, r.watts)
	}
	put(energy.Voltage, r.volts)
	put(energy.Current, r.amps)
	p.q.Repeats = same.longest
}

// lack says that an instantaneous reading is missing, lest the power of its neighbours stand for it.
func (p *poller) lack(at time.Duration, emit func(measure.Sample)) {
	if p.facts.Kind == energy.Instant && p.q.Readings > 0 {
		emit(sample(energy.Gap, at, 1))
	}
}

// end refuses a counter that never moved: virtual machines have such.
func (p *poller) end(same repeats) error {
	if p.facts.Kind == energy.Cumulative && p.q.Readings > 20 && same.longest+1 == p.q.Readings {
		return fmt.Errorf("instrument %s: its energy counter did not change over %d readings; it does not work on this "+
			"machine",
			p.name, p.q.Readings)
	}
	if p.q.Steps > 0 {
		return fmt.Errorf("instrument %s: its energy counter went backwards %d times; was the machine suspended?",
			p.name, p.q.Steps)
	}
	return nil
}

func (p *poller) fail(err error) error {
	return fmt.Errorf("instrument %s: %w", p.name, advise(err))
}

// A fatal error is one that looking again does not mend.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

func final(err error) bool {
	var f fatal
	return errors.As(err, &f) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, unix.ENODEV)
}

// advise adds what to do.
func advise(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run the agent as root, or remove \"energy\" from the responses", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("%w; the sensor is gone: was it unplugged, or its driver unloaded?", err)
	}
	return err
}
