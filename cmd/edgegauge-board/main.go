//go:build board

// Edgegauge-board is what edgegauge sends to a board, and what an emulated machine
// boots: the agent, and the stacks inside the binary without QUIC and the MQTT
// broker. It measures nothing by itself.
package main

import (
	"fmt"
	"os"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/sensor"
	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/stacks/reference"
)

// stamp is the version of a release, as in cmd/edgegauge.
var stamp string

// verbs are those that the lab calls on a board.
var verbs = map[string]func(args []string) int{
	device.SuperviseVerb: device.Supervise,
	device.EnterVerb:     device.Enter,
	device.AgentVerb: func(args []string) int {
		return device.AgentMain(args, device.Build(stamp), instrument.OpenOnAgent)
	},
	stack.ProgramVerb: reference.Process,
	sensor.Verb:       func([]string) int { return sensor.Main(os.Stdin, os.Stdout) },
}

func main() {
	bootMachine()
	if len(os.Args) > 1 {
		for _, known := range []map[string]func([]string) int{verbs, machineVerbs} {
			if verb, ok := known[os.Args[1]]; ok {
				os.Exit(verb(os.Args[2:]))
			}
		}
	}
	fmt.Fprintln(os.Stderr, "edgegauge-board",
		device.Build(stamp)+": edgegauge sends this program to boards; run edgegauge")
	os.Exit(2)
}
