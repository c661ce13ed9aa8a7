// Package sensor simulates the thermometer that service temperature reads, on
// a pseudo terminal that behaves like a serial line of 9600 Bd. It reads no
// sensor: stacks do.
package sensor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Simulated is what a study names to have the lab simulate a sensor: by the
// firmware in simavr where that is built, else in Go. A study may insist with
// SimulatedAVR or SimulatedGo.
const (
	Simulated    = "simulated"
	SimulatedAVR = "simulated:avr"
	SimulatedGo  = "simulated:go"
)

// Verb is the hidden verb of the binary that runs Main.
const Verb = "sensor"

// A Simulation is how a simulated sensor is run.
type Simulation struct {
	Says string   // in words, for facts
	Argv []string // a program that says Ready on stdout and ends when its stdin ends
	AVR  []string // the files of the firmware's simulation; nil: in Go
}

// Ready is the one line that a simulation says.
type Ready struct {
	Device string `json:"device"` // the serial line
}

// ErrNotBuilt means that there is no firmware to run, or no simulator for it.
var ErrNotBuilt = errors.New("the sensor's firmware is not built; run: make firmware")

// IsSimulated says whether a study's sensor is the lab's to start.
func IsSimulated(name string) bool {
	return name == Simulated || strings.HasPrefix(name, Simulated+":")
}

// Simulate finds the simulation that name asks for: exe is this binary,
// firmware are the folders to look for firmware/temperature/build in.
func Simulate(name, exe string, folders []string) (Simulation, error) {
	inGo := Simulation{Says: "in Go, paced to 9600 Bd", Argv: []string{exe, Verb}}
	if name == SimulatedGo {
		return inGo, nil
	}
	if name != Simulated && name != SimulatedAVR {
		return Simulation{}, fmt.Errorf("unknown sensor %q; supported: %s, %s, %s", name, Simulated, SimulatedAVR,
			SimulatedGo)
	}
	for _, dir := range folders {
		files := []string{filepath.Join(dir, "temperature_sim"), filepath.Join(dir, "temperature.elf")}
		if exist(files) {
			return Simulation{Says: "AVR firmware in simavr, 9600 Bd", Argv: files, AVR: files}, nil
		}
	}
	if name == SimulatedAVR {
		return Simulation{}, ErrNotBuilt
	}
	return inGo, nil
}

func exist(files []string) bool {
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			return false
		}
	}
	return true
}

// ReadReady reads what a simulation says when it has begun.
func ReadReady(r io.Reader) (Ready, error) {
	var ready Ready
	if err := json.NewDecoder(r).Decode(&ready); err != nil {
		return ready, fmt.Errorf("the simulated sensor did not start: %w", err)
	}
	if ready.Device == "" {
		return ready, errors.New("the simulated sensor did not name its device")
	}
	return ready, nil
}
