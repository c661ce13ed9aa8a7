package device

import (
	"context"
	"net/netip"
)

// An Away is a device on another machine, behind its agent.
type Away interface {
	Device
	// Remote is its agent: a new one if the last was lost, so that what was
	// copied for that one is not there any more.
	Remote(ctx context.Context) (*Remote, error)
	// Addresses are how the device is reached from the lab, and the lab from the
	// device. One that cannot be reached is not valid.
	Addresses(ctx context.Context) (device, lab netip.Addr, err error)
	Close() error
}
