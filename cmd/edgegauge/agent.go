package main

import (
	"github.com/mochi-mqtt/server/v2/packets"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/instrument"
)

// agentMain is the agent on a device: agent DIR [CHANNEL].
func agentMain(args []string) int {
	packets.TPacketData = nil // the MQTT broker's test cases, 0.4 MB that a small device can use
	return device.AgentMain(args, version(), instrument.OpenOnAgent)
}
