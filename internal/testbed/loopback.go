package testbed

import (
	"context"
	"fmt"
	"net"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// seeLoopback finds treatments whose programs would speak at an address that this machine lacks: a container may have
// no IPv6, or its interface lo may be down.
func (x *assembly) seeLoopback(ctx context.Context) {
	tried := map[string]error{}
	for t := range x.treatments() {
		if !x.overLoopback(t.Setup) {
			continue
		}
		at := lab.Loopback(t.Setup.IP)
		err, known := tried[at]
		if !known {
			err = tryListening(ctx, at)
			tried[at] = err
		}
		if err == nil {
			continue
		}
		advice := "bring up the loopback interface: ip link set lo up"
		if t.Setup.IP == "ipv6" {
			advice = "write ip: ipv4, or turn IPv6 on: sysctl net.ipv6.conf.lo.disable_ipv6=0"
		}
		x.lack(t, fmt.Sprintf("ip: %s: this machine has no %s: %v", t.Setup.IP, at, err), advice, "ip")
	}
}

// overLoopback says that both programs of a treatment are on this machine, and nothing lies between them.
func (x *assembly) overLoopback(s *study.Setup) bool {
	return s.URL == "" && !s.Joint() && !x.onOther(s.Client.Device) && !x.onOther(s.Server.Device) &&
		!needsNetwork(x.plan.Study, s)
}

// tryListening tries whether a server can listen at an address of this machine, and a client reach it.
func tryListening(ctx context.Context, at string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(at, "0"))
	if err != nil {
		return plain(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := kernel.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		return plain(err)
	}
	return c.Close()
}
