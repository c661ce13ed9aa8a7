package device

import (
	"context"
	"net/netip"
	"os"
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

// A Behind is a device that is reached only from a network namespace of this
// machine, in which a wire to it ends: programs that speak with it run there, or
// a link leads there.
type Behind interface {
	Away
	// Network readies the wire for packets of at most mtu bytes.
	Network(ctx context.Context, mtu int) (Network, error)
}

// A Network is the wire to a device that is Behind.
type Network struct {
	Namespace *os.File // of this machine; the device keeps it open
	Interface string   // the wire's end in it
	// Device and Here are the addresses of the wire's two ends. No two devices of
	// one lab have the same.
	Device, Here Pair
}

// A Pair is how one end of a wire is addressed.
type Pair struct{ IPv4, IPv6 netip.Addr }

// Of is the address of an IP version, as studies call it.
func (p Pair) Of(ip string) netip.Addr {
	if ip == "ipv6" {
		return p.IPv6
	}
	return p.IPv4
}
