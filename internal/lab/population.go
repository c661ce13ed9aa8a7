package lab

import (
	"encoding/json"
	"fmt"

	"edgegauge.example/edgegauge/internal/drive/population"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

// populated says whether the client of a treatment is many devices.
func populated(s *study.Setup) bool { return s.Population.Devices > 0 }

// connectionsOfDevices is how many connections the devices of a treatment have open at once; 0: they keep none.
func connectionsOfDevices(s *study.Setup) int {
	if overUDP(s) || s.Connection == "per-request" {
		return 0
	}
	return s.Population.Devices
}

// populationSpec is what the client is told of its devices. Server, message and timeout
// are in the rest of the call.
func populationSpec(p *study.Population, seed uint64) population.Spec {
	s := population.Spec{Devices: p.Devices, Phase: p.Phase, Ramp: p.Ramp, Seed: seed,
		Retry: population.Backoff{First: p.Reconnect.First, Factor: p.Reconnect.Factor, Most: p.Reconnect.Most,
			Jitter: p.Reconnect.Jitter},
		NAT:    max(p.NAT, 0),
		Outage: population.Outage{At: p.Outage.At, For: p.Outage.For, Share: p.Outage.Share},
	}
	for _, c := range p.Mix {
		s.Classes = append(s.Classes, population.Class{Name: c.Name, Share: c.Share, Period: c.Period, Jitter: c.Jitter,
			KeepAlive: c.KeepAlive, Observe: c.Observe, Sleep: population.Sleep(c.Sleep)})
	}
	if len(p.Mix) == 0 {
		s.Classes = []population.Class{{Share: 1, Period: p.Period, Jitter: p.Jitter, KeepAlive: p.KeepAlive,
			Observe: p.Observe, Sleep: population.Sleep(p.Sleep)}}
	}
	return s
}

// tellPopulation puts the devices into the client's call.
func (t *task) tellPopulation(call *stack.Call) error {
	if !populated(t.setup) {
		return nil
	}
	var err error
	spec := populationSpec(&t.setup.Population, t.plan.MessageSeed)
	switch l, ok := t.link(); {
	case ok:
		spec.Up, spec.Down = way(l.Up), way(l.Down)
	case t.setup.Link.Profile != "":
		return fmt.Errorf("%w: no link profile %q", errLab, t.setup.Link.Profile)
	}
	call.Population, err = json.Marshal(spec)
	return err
}

// way is a direction of the link that each device has.
func way(s link.Shape) population.Way {
	return population.Way{Delay: s.Delay, Spread: s.DelayStdDev, Loss: s.Loss, Rate: s.Rate, Overhead: s.Overhead,
		Frame: s.Frame, Reorder: s.Reorder}
}

// showDevices hands on how the devices are.
func (l *Lab) showDevices(told json.RawMessage) {
	var s population.State
	if l.WatchDevices != nil && json.Unmarshal(told, &s) == nil {
		l.WatchDevices(s)
	}
}
