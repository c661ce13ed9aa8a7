//go:build board && (arm || arm64)

package main

import (
	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/guest"
)

// bootMachine does not return in the first process of an emulated machine.
func bootMachine() {
	if qemu.IsGuest() {
		guest.Main(device.Build(stamp))
	}
}

// machineVerbs are those that a machine's agent is asked for.
var machineVerbs = map[string]func(args []string) int{
	qemu.NetworkVerb: qemu.ConfigureGuest,
	qemu.MemoryVerb:  qemu.PrintMemory,
}
