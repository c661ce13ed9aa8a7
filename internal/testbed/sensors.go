package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
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
		x.seeSensor(t)
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

// seeSensor finds a sensor of this machine that is not there. What it says is found by reading it.
func (x *assembly) seeSensor(t study.Trial) {
	kind, at, _ := strings.Cut(t.Setup.Sensor, ":")
	if kind == "w1" {
		at = filepath.Join("/sys/bus/w1/devices", at)
	}
	ofFiles := slices.Contains([]string{"serial", "hwmon", "iio", "w1"}, kind)
	if t.Setup.Service != string(service.Temperature) || !ofFiles || x.onOther(t.Setup.Server.Device) {
		return
	}
	if _, err := os.Stat(at); err != nil {
		x.lack(t, fmt.Sprintf("sensor %s: %v", t.Setup.Sensor, err), "connect it, or name another", "sensor", "service")
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
