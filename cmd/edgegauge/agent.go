package main

import (
	"context"

	"github.com/mochi-mqtt/server/v2/packets"

	"edgegauge/internal/device"
	"edgegauge/internal/instrument"
	"edgegauge/internal/instrument/energy"
	"edgegauge/internal/measure"
)

// agentMain is the agent on a device: agent DIR [CHANNEL].
func agentMain(args []string) int {
	packets.TPacketData = nil // the MQTT broker's test cases, 0.4 MB that a small device can use
	return device.AgentMain(args, version(), openInstrument)
}

func openInstrument(ctx context.Context, spec string) (measure.Instrument, error) {
	m, err := instrument.Open(ctx, spec, instrument.Options{})
	if err != nil {
		return nil, err
	}
	return toldMeter{m}, nil
}

// toldMeter tells the lab what only meters have.
type toldMeter struct{ instrument.Meter }

type meterTold struct {
	Facts   energy.Facts
	Quality instrument.Quality
}

func (m toldMeter) Tell() any { return &meterTold{m.Facts(), m.Quality()} }

func (m toldMeter) Close() error {
	instrument.Close(m.Meter)
	return nil
}
