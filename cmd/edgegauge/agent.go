package main

import (
	"context"

	"edgegauge/internal/device"
	"edgegauge/internal/instrument"
	"edgegauge/internal/measure"
)

// agentMain is the agent on a device: agent DIR [CHANNEL].
func agentMain(args []string) int {
	return device.AgentMain(args, version(), openInstrument)
}

func openInstrument(ctx context.Context, spec string) (measure.Instrument, error) {
	return instrument.Open(ctx, spec, instrument.Options{})
}
