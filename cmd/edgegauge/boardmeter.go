package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/instrument"
	"edgegauge/internal/instrument/energy"
	"edgegauge/internal/lab"
	"edgegauge/internal/measure"
	"edgegauge/internal/study"
)

// onDevice begins the spec of a meter that the device itself reads.
const onDevice = "device:"

// A boardMeter is a meter on another machine: its readings are kept there and
// come after the trial. Their instants are the device's, moved to this machine's
// clock, which is as far off as the quality's clock says.
type boardMeter struct {
	away        device.Away
	spec        string
	description measure.Description
	told        meterTold
}

func openBoardMeter(ctx context.Context, away device.Away, spec string) (*boardMeter, error) {
	m := &boardMeter{away: away, spec: spec}
	r, err := away.Remote(ctx)
	if err == nil {
		m.description, err = r.Describe(ctx, spec, &m.told)
	}
	return m, err
}

func (m *boardMeter) Describe() measure.Description { return m.description }
func (m *boardMeter) Facts() energy.Facts           { return m.told.Facts }
func (m *boardMeter) Quality() instrument.Quality   { return m.told.Quality }

func (m *boardMeter) Observe(ctx context.Context, emit func(measure.Sample)) error {
	zero := instrument.Start(ctx)
	r, err := m.away.Remote(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	there, off, err := r.Clock(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	var later time.Duration // from the lab's zero to the observation's
	err = r.Watch(ctx, m.spec, func(began time.Duration) { later = there.Add(began).Sub(zero) }, func(s measure.Sample) {
		s.At += later
		emit(s)
	}, &m.told)
	if m.told.Quality.Clock.Method == "" {
		m.told.Quality.Clock.Method, m.told.Quality.Clock.Bias = "round trip", off
	}
	return err
}

// openBoardMeters opens the meters that devices read themselves. One that this
// machine is, is opened here.
func openBoardMeters(ctx context.Context, l *lab.Lab, p study.Plan) error {
	of := map[string]string{}
	var errs []error
	for _, t := range p.Trials {
		for _, end := range []study.Side{t.Setup.Client, t.Setup.Server} {
			spec, ok := strings.CutPrefix(end.Meter, onDevice)
			if !ok || of[end.Meter] == end.Device {
				continue
			}
			if other := of[end.Meter]; other != "" {
				errs = append(errs, fmt.Errorf("meter %s is of both %s and %s; measure them in studies of their own", end.Meter, other, end.Device))
				continue
			}
			of[end.Meter] = end.Device
			var err error
			if away, ok := l.Devices[end.Device].(device.Away); ok {
				l.Meters[end.Meter], err = openBoardMeter(ctx, away, spec)
			} else {
				l.Meters[end.Meter], err = instrument.Open(ctx, spec, instrument.Options{})
			}
			if err != nil {
				delete(l.Meters, end.Meter)
				errs = append(errs, fmt.Errorf("meter %s: %w", end.Meter, err))
			}
		}
	}
	return errors.Join(errs...)
}
