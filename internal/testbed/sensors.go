package testbed

import (
	"path/filepath"

	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/stack"
)

// openSensors says how each simulated sensor of the plan is run.
func (x *assembly) openSensors() {
	folders := append(installed(x.bed.Exe, "firmware/temperature/build"), "firmware/temperature/build")
	x.lab.Sensors = map[string]sensor.Simulation{}
	for t := range x.treatments() {
		name := t.Setup.Sensor
		if m, _, ok := findMachine(t.Setup.Server.Device); ok && m.Kernel.Own != "" && sensor.IsSimulated(name) {
			x.fault(t, "device "+m.Name+" cannot simulate a sensor: its kernel has no pseudo terminals",
				"write sensor: fixed:21.5, which needs none", "sensor", "server.device", "service")
		}
		if _, done := x.lab.Sensors[name]; done || !sensor.IsSimulated(name) {
			continue
		}
		s, err := sensor.Simulate(name, x.exe, folders)
		if err != nil {
			x.lack(t, "sensor "+name+": "+err.Error(), "name another sensor", "sensor", "service")
			continue
		}
		x.lab.Sensors[name] = s
	}
}

// sensorFacts is what a simulated sensor was.
type sensorFacts struct {
	Says      string            `json:"says"`
	Checksums map[string]string `json:"checksums,omitempty"` // SHA-256 of simulator and firmware
}

func factsOfSensors(sensors map[string]sensor.Simulation) (map[string]sensorFacts, error) {
	if len(sensors) == 0 {
		return nil, nil
	}
	out := map[string]sensorFacts{}
	for name, s := range sensors {
		f := sensorFacts{Says: s.Says, Checksums: map[string]string{}}
		for _, file := range s.AVR {
			sum, err := stack.FileSum(file)
			if err != nil {
				return nil, err
			}
			f.Checksums[filepath.Base(file)] = sum
		}
		out[name] = f
	}
	return out, nil
}
