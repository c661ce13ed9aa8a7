package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"edgegauge/devices"
	"edgegauge/internal/instrument"
	"edgegauge/internal/lab"
	"edgegauge/internal/study"
)

// openMeters opens what the plan's treatments name as meters, before anything
// runs: a meter that is not there is known at once.
func openMeters(ctx context.Context, l *lab.Lab, p study.Plan) (closeAll func(), err error) {
	l.Meters, l.Profiles = map[string]instrument.Meter{}, map[string]instrument.Profile{}
	closeAll = func() {
		for _, m := range l.Meters {
			instrument.Close(m)
		}
	}
	if !lab.NeedsMeter(p.Study) {
		return closeAll, nil
	}
	meters, models := lab.Meters(p)
	if len(meters)+len(models) == 0 {
		return closeAll, fmt.Errorf("%s asks for energy, but neither side has a meter; write client: {meter: avr:/dev/ttyUSB0}, or see doc/energy.md", p.Study.File)
	}
	for _, t := range p.Trials {
		if m := t.Setup.Client.Meter; m != "" && m == t.Setup.Server.Meter && !strings.HasPrefix(m, "model:") {
			return closeAll, fmt.Errorf("%s: meter %s cannot read both sides apart; give it to one", p.Study.File, m)
		}
	}
	var errs []error
	errs = append(errs, openBoardMeters(ctx, l, p))
	for _, spec := range meters {
		if strings.HasPrefix(spec, onDevice) {
			continue
		}
		m, err := instrument.Open(ctx, spec, instrument.Options{Profiles: devices.Profiles})
		if err != nil {
			errs = append(errs, fmt.Errorf("meter %s: %w", spec, err))
			continue
		}
		l.Meters[spec] = m
	}
	for _, spec := range models {
		name := strings.TrimPrefix(spec, "model:")
		profile, err := instrument.ReadProfile(devices.Profiles, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.Profiles[name] = profile
	}
	if err := errors.Join(errs...); err != nil {
		closeAll()
		return func() {}, err
	}
	return closeAll, nil
}
