package main

import (
	"fmt"
	"os"
	"path/filepath"

	"edgegauge/internal/device/sensor"
	"edgegauge/internal/stack"
	"edgegauge/internal/study"
)

// sensorMain is the simulated sensor as a program of its own.
func sensorMain([]string) int { return sensor.Main(os.Stdin, os.Stdout) }

// neededSensors says how each simulated sensor of the plan is run.
func neededSensors(p study.Plan, exe string) (map[string]sensor.Simulation, error) {
	beside := filepath.Dir(exe)
	folders := []string{
		filepath.Join(beside, "firmware/temperature/build"), filepath.Join(beside, "../firmware/temperature/build"), "firmware/temperature/build",
	}
	out := map[string]sensor.Simulation{}
	for _, t := range p.Trials {
		name := t.Setup.Sensor
		if _, done := out[name]; done || !sensor.IsSimulated(name) {
			continue
		}
		s, err := sensor.Simulate(name, exe, folders)
		if err != nil {
			return nil, fmt.Errorf("sensor %s: %w", name, err)
		}
		out[name] = s
	}
	return out, nil
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
