package testbed

import (
	"context"
	"net/netip"

	"edgegauge.example/edgegauge/internal/device/ssh"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/study"
)

// boardBetween is the board on which one side of a treatment is and the other is not, and whether that is the server;
// empty: there is none.
func boardBetween(s *study.Setup) (name string, server bool) {
	client, host := places(s)[0], places(s)[1]
	switch {
	case host == "" || client == host:
	case isBoard(nil, host):
		return host, true
	case isBoard(nil, client):
		return client, false
	}
	return "", false
}

// seeBoards finds boards whose address, as far as it is known without asking anybody, is of no use to the other side.
func (x *assembly) seeBoards() {
	for t := range x.treatments() {
		name, _ := boardBetween(t.Setup)
		if name == "" {
			continue
		}
		at, direct, err := ssh.At(name)
		if err != nil || direct && !at.IsValid() {
			continue // it is known when the board is reached
		}
		if !direct {
			at = netip.Addr{}
		}
		x.seeReach(t, name, at, at, true) // this machine will have an address of the same kind
	}
}

// seeReach finds that the server of a treatment would have an address that its client cannot use.
func (x *assembly) seeReach(t study.Trial, board string, there, here netip.Addr, onBoard bool) {
	if _, why, advice := lab.Reach(board, there, here, onBoard, t.Setup.IP); why != "" {
		x.fault(t, why, advice, "client.device", "server.device", "ip")
	}
}

// A board is what is asked of one before the first trial.
type board interface {
	CPUs(ctx context.Context) ([]int, error)
	Addresses(ctx context.Context) (board, lab netip.Addr, err error)
}

// meetBoards reaches the plan's boards, and finds what only they can say: that they lack CPUs, or an address, of which
// each trial would fail.
func (x *assembly) meetBoards(ctx context.Context) error {
	cpus := map[string][]int{}
	for p := range x.pinned() {
		b, ok := x.lab.Devices[p.device].(board)
		if !ok {
			continue
		}
		has, met := cpus[p.device]
		if !met {
			var err error
			if has, err = b.CPUs(ctx); err != nil {
				return ofDevice(err)
			}
			cpus[p.device] = has
		}
		if has != nil {
			x.seePin(p, has)
		}
	}
	for t := range x.treatments() {
		name, server := boardBetween(t.Setup)
		b, ok := x.lab.Devices[name].(board)
		if !ok {
			continue
		}
		there, here, err := b.Addresses(ctx)
		if err != nil {
			return ofDevice(err)
		}
		x.seeReach(t, name, there, here, server)
	}
	return x.found(ctx)
}
