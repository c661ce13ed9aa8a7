package instrument

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/measure"
)

// A Calibrating says how a profile is made.
type Calibrating struct {
	Cores  int           // of this machine; 0: all
	Length time.Duration // of each stage; 0: 3 s
	Rounds int           // of 0 … Cores busy cores; 0: 3
	Seed   uint64        // of the order in each round
	Tell   func(string)  // progress; nil: none
}

// Calibrate loads this machine, the device under test, with 0 to all cores at
// work, in random order, and fits a profile to what the meter reads meanwhile.
func Calibrate(ctx context.Context, m Meter, c Calibrating) (PowerModel, []Point, error) {
	if m.Describe().Modelled {
		return PowerModel{}, nil, errors.New("a profile cannot be fitted to a modelled meter; connect a real one")
	}
	if c.Cores == 0 {
		c.Cores = runtime.NumCPU()
	}
	if c.Length == 0 {
		c.Length = 3 * time.Second
	}
	if c.Rounds == 0 {
		c.Rounds = 3
	}
	if shortest := 20 * m.Facts().Interval; c.Length < shortest {
		return PowerModel{}, nil, fmt.Errorf("stages of %v are too short for a meter that reads every %v; use %v",
			c.Length, m.Facts().Interval, shortest)
	}
	zero := time.Now()
	ctx, cancel := context.WithCancel(WithStart(ctx, zero))
	defer cancel()
	watched := make(chan error, 1)
	var samples []measure.Sample
	go func() { watched <- m.Observe(ctx, func(s measure.Sample) { samples = append(samples, s) }) }()
	stages, err := c.stages(ctx, zero)
	cancel()
	if e := <-watched; err == nil {
		err = e
	}
	if err != nil {
		return PowerModel{}, nil, err
	}
	points, err := c.points(energy.NewTrace(m.Facts(), samples), stages)
	if err != nil {
		return PowerModel{}, points, err
	}
	p, err := FitPowerModel(points, c.Cores)
	p.Fit.From = fmt.Sprintf("%s, %d stages of %v", m.Describe().Name, len(points), c.Length)
	return p, points, err
}

// points leaves out the stages that the meter did not read throughout, unless they are many. Since the load is the
// same in all of a stage, the readings inside stand for it where only its edges were not read.
func (c Calibrating) points(trace energy.Trace, stages []stage) (points []Point, err error) {
	for i, s := range stages {
		j, hole := trace.Energy(s.Window)
		if inside := trace.Inside(s.Window); hole != nil && 2*inside.Length() >= s.Window.Length() {
			j, hole = trace.Energy(inside)
			j *= s.Window.Length().Seconds() / inside.Length().Seconds()
		}
		if hole == nil {
			points = append(points, Point{Load: s.Load, Joules: j})
			continue
		}
		err = hole
		if c.Tell != nil {
			c.Tell(fmt.Sprintf("stage %d is left out: %v", i+1, hole))
		}
	}
	if 4*len(points) >= 3*len(stages) {
		err = nil
	}
	return points, err
}

type stage struct {
	energy.Window
	Load
}

// stages runs them all. The load is what this process's threads really used:
// other work would be taken for power of idle.
func (c Calibrating) stages(ctx context.Context, zero time.Time) ([]stage, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 6))
	if err := sleep(ctx, time.Second); err != nil { // the meter starts
		return nil, err
	}
	var all []stage
	for round := range c.Rounds {
		for _, busy := range rng.Perm(c.Cores + 1) {
			if c.Tell != nil {
				c.Tell(fmt.Sprintf("round %d of %d: %d of %d cores busy for %v", round+1, c.Rounds, busy, c.Cores, c.Length))
			}
			s, err := c.stage(ctx, zero, busy)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, sleep(ctx, 500*time.Millisecond)
}

func (c Calibrating) stage(ctx context.Context, zero time.Time, busy int) (stage, error) {
	stop := make(chan struct{})
	var workers sync.WaitGroup
	for range busy {
		workers.Go(func() { spin(stop) })
	}
	// Half a second to settle: the clock rises, the fan starts.
	err := sleep(ctx, 500*time.Millisecond)
	from, before := time.Since(zero), kernel.OwnCPUTime()
	if err == nil {
		err = sleep(ctx, c.Length)
	}
	to, after := time.Since(zero), kernel.OwnCPUTime()
	close(stop)
	workers.Wait()
	return stage{energy.Window{From: from, To: to}, Load{Length: to - from, CPU: after - before}}, err
}

// spin works on a thread of its own until told to stop.
func spin(stop <-chan struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	x := uint64(1)
	for {
		select {
		case <-stop:
			return
		default:
		}
		for range 100_000 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		if x == 0 { // never; keeps the loop
			return
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A Reference is what a better instrument reads at the same moment.
type Reference struct {
	Volts, Amps float64 // 0: leave that channel as it is
	Unloaded    bool    // nothing is connected: what the meter reads is its offset of current
}

// Adjust makes the energy meter agree with a reference, averaging over a length,
// and keeps the constants in its EEPROM. Zero first (Unloaded), then gains.
func (m *EnergyMeter) Adjust(ctx context.Context, ref Reference, length time.Duration,
	label string) (Calibration, error) {
	volts, amps, err := m.average(ctx, length)
	if err != nil {
		return Calibration{}, err
	}
	c := m.info.now()
	c.Label = label
	if ref.Unloaded {
		c.AmpsOffset -= amps
	}
	for _, ch := range []struct {
		name         string
		want, got    float64
		gain, offset *float64
	}{{"volts", ref.Volts, volts, &c.VoltsPerStep, &c.VoltsOffset},
		{"amperes", ref.Amps, amps, &c.AmpsPerStep, &c.AmpsOffset}} {
		if ch.want == 0 {
			continue
		}
		k := (ch.want - *ch.offset) / (ch.got - *ch.offset)
		if !(k > 0.5 && k < 2) {
			return c, fmt.Errorf("the meter reads %.4g %s, the reference %.4g: check the wiring; calibration cannot correct "+
				"this much", ch.got,
				ch.name, ch.want)
		}
		*ch.gain *= k
	}
	return c, m.Calibrate(ctx, c)
}

func (m *EnergyMeter) average(ctx context.Context, length time.Duration) (volts, amps float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	n := 0.0
	err = m.Observe(ctx, func(s measure.Sample) {
		switch s.Quantity {
		case energy.Voltage:
			volts += s.Value
			n++
		case energy.Current:
			amps += s.Value
		}
	})
	if err == nil && m.q.OverRange > 0 {
		err = errors.New("the meter is out of its range")
	}
	if err == nil {
		err = m.q.Err() // what is no mean is not to be stored
	}
	return volts / n, amps / n, err
}

// A Look is one line of watching a meter live.
type Look struct {
	Volts, Amps, Watts float64 // means; NaN where the meter does not read them
	Quality            MeterStats
	Err                error // why there is nothing to see
}

// Live watches a meter until ctx ends, one observation after the other, and
// shows each. An error that closing and opening would not mend ends it.
func Live(ctx context.Context, m Meter, every time.Duration, show func(Look)) error {
	every = max(every, 4*m.Facts().Interval)
	for ctx.Err() == nil {
		part, cancel := context.WithTimeout(ctx, every)
		var samples []measure.Sample
		err := m.Observe(part, func(s measure.Sample) { samples = append(samples, s) })
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && len(samples) == 0 {
			return err
		}
		l := Look{Quality: m.Stats(), Err: err}
		l.Volts, l.Amps, l.Watts = mean(samples, energy.Voltage), mean(samples, energy.Current), mean(samples, energy.Power)
		if m.Facts().Kind == energy.Cumulative {
			l.Watts = overall(energy.NewTrace(m.Facts(), samples))
		}
		show(l)
	}
	return nil
}

func mean(samples []measure.Sample, q measure.Quantity) float64 {
	sum, n := 0.0, 0.0
	for _, s := range samples {
		if s.Quantity == q {
			sum += s.Value
			n++
		}
	}
	return sum / n // NaN of none
}

func overall(t energy.Trace) float64 {
	sum, length := 0.0, 0.0
	for _, s := range t.Segments {
		sum += s.W * s.Length().Seconds()
		length += s.Length().Seconds()
	}
	return sum / length
}

// Close closes a meter that has something to close.
func Close(m Meter) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
