package main

import (
	"context"
	"errors"
	"os"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/device/qemu"
	"edgegauge.example/edgegauge/internal/instrument"
	"edgegauge.example/edgegauge/internal/lab"
)

// guestMain is this binary as the first process of an emulated machine: it makes
// the bare kernel a system, does what the machine was booted for, and ends it.
func guestMain() {
	if err := inGuest(context.Background()); err != nil {
		qemu.Fail(os.Stdout, err)
	}
	qemu.PowerOff()
}

func inGuest(ctx context.Context) error {
	if err := qemu.SetUp(); err != nil {
		return err
	}
	text, err := os.ReadFile(qemu.JobFile)
	if errors.Is(err, os.ErrNotExist) {
		return serveLab()
	}
	if err != nil {
		return err
	}
	out, err := lab.Conduct(ctx, text, qemu.GuestExe)
	if err != nil {
		return err
	}
	return qemu.Deliver(os.Stdout, out)
}

// serveLab is an agent for the lab on the other side of the machine's channel.
func serveLab() error {
	channel, err := qemu.AwaitLab(os.Stdout)
	if err != nil {
		return err
	}
	return device.RunAgent(channel, "/tmp/edgegauge-agent", version(), instrument.OpenOnAgent)
}
