// Package guest is what runs inside an emulated machine: its first process, which serves a lab outside as an agent, or
// conducts one trial alone. It is part of edgegauge-board, so that a machine's memory is left to the stacks.
package guest

import (
	"context"
	"errors"
	"os"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/instrument"
)

// Main is the first process of an emulated machine: it makes the bare kernel a system, does what the machine was
// booted for, and ends it. Build says what the program was built from.
func Main(build string) {
	if err := act(context.Background(), build); err != nil {
		qemu.Fail(os.Stdout, err)
	}
	qemu.PowerOff()
}

func act(ctx context.Context, build string) error {
	if err := qemu.SetUp(); err != nil {
		return err
	}
	text, err := os.ReadFile(qemu.JobFile)
	if errors.Is(err, os.ErrNotExist) {
		return serveLab(build)
	}
	if err != nil {
		return err
	}
	out, err := Conduct(ctx, text, qemu.GuestExe)
	if err != nil {
		return err
	}
	return qemu.Deliver(os.Stdout, out)
}

// serveLab is an agent for the lab on the other side of the machine's channel.
func serveLab(build string) error {
	channel, err := qemu.AwaitLab(os.Stdout)
	if err != nil {
		return err
	}
	return device.RunAgent(channel, "/tmp/edgegauge-agent", build, instrument.OpenOnAgent)
}
