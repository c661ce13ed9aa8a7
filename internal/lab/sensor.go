package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"edgegauge/internal/device"
	"edgegauge/internal/device/sensor"
)

// plugSensor starts the sensor of a treatment that wants a simulated one, on
// the server's machine, and keeps its name for the server. It is not limited as
// a constrained device's programs are: a sensor is hardware of its own.
func (r *rig) plugSensor(ctx context.Context) error {
	var err error
	r.sensorName = r.s.Sensor
	if !sensor.IsSimulated(r.s.Sensor) {
		return nil
	}
	how, ok := r.lab.Sensors[r.s.Sensor]
	if !ok {
		return fmt.Errorf("%w: no sensor %q", errLab, r.s.Sensor)
	}
	on := r.places[atServer].device
	if c, ok := on.(device.Constrained); ok {
		on = c.Local
	}
	if _, here := on.(device.Local); !here && how.AVR != nil {
		if r.s.Sensor == sensor.SimulatedAVR {
			return fmt.Errorf("%w: device %s cannot run the simulator that is built here; write sensor: %s", errLab, r.s.Server.Device, sensor.SimulatedGo)
		}
		if how, err = sensor.Simulate(sensor.SimulatedGo, r.lab.Exe, nil); err != nil {
			return err
		}
	}
	if server := r.places[atServer]; server.away != nil {
		if how, err = sensor.Simulate(sensor.SimulatedGo, server.stage.remote.Exe(), nil); err != nil {
			return err
		}
	}
	p := &program{name: "the simulated sensor", logPath: filepath.Join(r.attempt.Dir(), "sensor.log")}
	p.log = filepath.Join("trials", filepath.Base(r.attempt.Dir()), "sensor.log")
	if p.process, err = on.Start(ctx, device.Command{Argv: how.Argv, Log: p.logPath}); err != nil {
		return fmt.Errorf("%w: %s: %w", errLab, p.name, err)
	}
	r.sensor = p
	p.process.Stdout.SetReadDeadline(time.Now().Add(r.lab.Plan.Study.Timeouts.Ready))
	ready, err := sensor.ReadReady(p.process.Stdout)
	if err != nil {
		return reason{fmt.Errorf("%w; see %s", err, p.log)}
	}
	r.sensorName, r.sensorSays = "serial:"+ready.Device, how.Says
	return nil
}

// pullSensor ends it. One that ended before measured nothing to its end.
func (r *rig) pullSensor(ctx context.Context) error {
	if r.sensor == nil {
		return nil
	}
	e, killed := r.sensor.stop(ctx, 5*time.Second)
	if killed || e.Code != 0 {
		return errors.New("the simulated sensor ended with " + exitText(e) + "; see " + r.sensor.log)
	}
	return nil
}
