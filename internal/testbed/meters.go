package testbed

import (
	"context"
	"fmt"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// onDevice begins the spec of a meter that the device itself reads; model:, that
// of what is no meter but a power profile.
const (
	onDevice = "device:"
	modelled = "model:"
)

// openMeters opens what the plan's treatments name as meters, before anything
// runs: a meter that is not there is known at once. Those read on boards are opened
// where the boards are.
func (x *assembly) openMeters(ctx context.Context) {
	x.lab.Meters, x.lab.Profiles = map[string]instrument.Meter{}, map[string]instrument.PowerModel{}
	if !lab.NeedsMeter(x.plan.Study) {
		for t := range x.treatments() { // a mistyped meter is a mistake even so
			x.knowMeter(t, "client.meter", t.Setup.Client.Meter)
			x.knowMeter(t, "server.meter", t.Setup.Server.Meter)
		}
		return
	}
	if !x.seeMetered() {
		return
	}
	read := map[string]string{} // meter read on a device → that device
	for t := range x.treatments() {
		s := t.Setup
		if m := s.Client.Meter; m != "" && m == s.Server.Meter && !strings.HasPrefix(m, modelled) {
			x.fault(t, fmt.Sprintf("meter %s cannot measure both sides separately", m), "assign it to one side",
				sides("meter")...)
			continue
		}
		x.openMeter(ctx, t, "client.meter", s.Client, read)
		x.openMeter(ctx, t, "server.meter", s.Server, read)
	}
}

// seeMetered finds that energy is asked for and nothing tells it. It is false where it found that.
func (x *assembly) seeMetered() bool {
	meters, models := lab.Meters(x.plan)
	if !lab.NeedsMeter(x.plan.Study) || len(meters)+len(models) > 0 {
		return true
	}
	x.faults = append(x.faults, study.Error{Pos: lab.EnergyAsked(x.plan.Study),
		What:   "the study measures energy, but neither side has a meter",
		Advice: "write client: {meter: avr:/dev/ttyUSB0}, or see doc/energy.md"})
	return false
}

func (x *assembly) knowMeter(t study.Trial, key, spec string) {
	if spec == "" {
		return
	}
	if name, ok := strings.CutPrefix(strings.TrimPrefix(spec, onDevice), modelled); ok {
		x.openModel(t, key, name)
		return
	}
	if err := instrument.Known(strings.TrimPrefix(spec, onDevice)); err != nil {
		x.fault(t, err.Error(), "", key)
	}
}

// openMeter opens one side's meter, unless it is open.
func (x *assembly) openMeter(ctx context.Context, t study.Trial, key string, end study.Side, read map[string]string) {
	spec := end.Meter
	if name, ok := strings.CutPrefix(spec, modelled); ok {
		x.openModel(t, key, name)
		return
	}
	local, onBoard := strings.CutPrefix(spec, onDevice)
	if other := read[spec]; onBoard && other != "" && other != end.Device {
		x.fault(t, fmt.Sprintf("meter %s is assigned to both %s and %s", spec, other, end.Device),
			"measure them in separate studies", key)
		return
	}
	if _, trusting := needsTrust(x.plan.Study.Secret(spec)); trusting && x.looking {
		return
	}
	if _, open := read[spec]; spec == "" || open {
		return
	}
	read[spec] = end.Device
	if name, ok := strings.CutPrefix(local, modelled); ok && !x.openModel(t, key, name) {
		return
	}
	m, err := x.meter(ctx, x.forReader(local, end.Device), onBoard, end.Device)
	if err != nil {
		x.lack(t, fmt.Sprintf("meter %s: %v", spec, err), "", key)
		return
	}
	if m == nil {
		return
	}
	x.lab.Meters[spec] = m
	x.close = append(x.close, func() error { instrument.Close(m); return nil })
}

// forReader is a meter's specification as the machine that reads it is told: one of its own does not have the power
// profiles here, or has others of their names.
func (x *assembly) forReader(spec, device string) string {
	name, ok := strings.CutPrefix(spec, modelled)
	if !ok || !x.onOther(device) {
		return spec
	}
	return x.lab.Profiles[name].Spec()
}

// meter opens a meter here, or on the device that reads it; nil: that device is not
// opened yet, and what it says is known later.
func (x *assembly) meter(ctx context.Context, spec string, onBoard bool, name string) (instrument.Meter, error) {
	if !onBoard || !x.onOther(name) {
		return instrument.Open(ctx, x.plan.Study.Secret(spec), instrument.Options{Profiles: x.bed.ProfileFolders()})
	}
	away, open := x.lab.Devices[name].(device.Away)
	if !open {
		return nil, nil
	}
	return instrument.OpenOnBoard(ctx, spec,
		func(ctx context.Context) (instrument.Agent, error) { return away.Remote(ctx) })
}

// onOther says whether a device is a machine of its own.
func (x *assembly) onOther(name string) bool { return isBoard(x.bed, name) || isMachine(x.bed, name) }

// openModel reads a power profile, unless it is read; false: there is none, and that is noted.
func (x *assembly) openModel(t study.Trial, key, name string) bool {
	if _, open := x.lab.Profiles[name]; open {
		return true
	}
	p, err := instrument.ReadPowerModel(name, x.bed.ProfileFolders()...)
	if err != nil {
		x.fault(t, err.Error(), "", key)
		return false
	}
	x.lab.Profiles[name] = p
	return true
}

// idleMeter says that a study names a meter which it does not read, since none of its responses
// is energy or power; nil: it is read, or there is none.
func idleMeter(p study.Plan) error {
	if lab.NeedsMeter(p.Study) {
		return nil
	}
	for _, t := range p.Trials {
		for i, m := range []string{t.Setup.Client.Meter, t.Setup.Server.Meter} {
			if m != "" {
				idle := p.Fault(t, "the meter is not read, since responses have no energy or power",
					"write responses: [rtt, energy_gross], for example, or remove the meter", sides("meter")[i])
				return &idle
			}
		}
	}
	return nil
}
