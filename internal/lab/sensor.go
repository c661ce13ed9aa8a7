package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/store"
)

// sensed is the sensor at a trial's server, if its treatment has one. A simulated
// sensor is a program of the lab's.
type sensed struct {
	task
	attempt *store.Attempt
	places  *placement
	name    string   // as the server is told
	says    string   // what a simulated one is
	program *program // simulated; nil: none
}

// before starts the sensor of a treatment that wants a simulated one, on the
// server's machine, and keeps its name for the server. It is not limited as a
// constrained device's programs are: a sensor is hardware of its own.
func (s *sensed) before(ctx context.Context) error {
	t := &s.task
	if !sensor.IsSimulated(t.setup.Sensor) {
		s.name = t.setup.Sensor
		return nil
	}
	if t.setup.Service != string(service.Temperature) { // nobody reads it, and the simulator would take CPU time
		return nil
	}
	how, on, err := s.simulation()
	if err != nil {
		return err
	}
	p := &program{name: "the simulated sensor"}
	p.logPath, p.log = logNames(s.attempt, "sensor.log")
	running, err := on.Start(ctx, device.Command{Argv: how.Argv, Log: p.logPath})
	if err != nil {
		return fmt.Errorf("%w: %s: %w", errLab, p.name, err)
	}
	p.process, s.program = running, p
	running.Stdout.SetReadDeadline(time.Now().Add(t.lab.Plan.Study.Timeouts.Ready))
	ready, err := sensor.ReadReady(running.Stdout)
	if err != nil {
		return reason{fmt.Errorf("%w; see %s", err, p.log)}
	}
	s.name, s.says = "serial:"+ready.Device, how.Says
	return nil
}

// simulation is what simulates the sensor, and the device it runs on.
func (s *sensed) simulation() (how sensor.Simulation, on device.Device, err error) {
	t, server := &s.task, s.places.at[atServer]
	how, ok := t.lab.Sensors[t.setup.Sensor]
	if !ok {
		return how, nil, fmt.Errorf("%w: no sensor %q", errLab, t.setup.Sensor)
	}
	on = server.device
	if c, ok := on.(device.Constrained); ok {
		on = c.Local
	}
	if _, here := on.(device.Local); !here && how.AVR != nil {
		if t.setup.Sensor == sensor.SimulatedAVR {
			return how, nil, fmt.Errorf("%w: device %s cannot run the simulator built on this machine; write sensor: %s",
				errLab, t.setup.Server.Device, sensor.SimulatedGo)
		}
		if how, err = sensor.Simulate(sensor.SimulatedGo, t.lab.Exe, nil); err != nil {
			return how, nil, err
		}
	}
	if server.away != nil {
		how, err = sensor.Simulate(sensor.SimulatedGo, server.stage.agent.Exe(), nil)
	}
	return how, on, err
}

// after ends it. One that must be killed, or ended with an error, makes the trial
// invalid.
func (s *sensed) after(ctx context.Context) (findings, error) {
	if s.program == nil {
		return findings{}, nil
	}
	e, killed := s.program.stop(ctx, grace)
	if killed || e.Code != 0 {
		return findings{}, errors.New("the simulated sensor ended with " + e.Reason() + "; see " + s.program.log)
	}
	return findings{}, nil
}

func (s *sensed) close() { s.program.kill() }
