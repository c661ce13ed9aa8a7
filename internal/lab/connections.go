package lab

import (
	"net/netip"
	"net/url"
	"sync"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/study"
)

// A census is the TCP connections to a server that one kernel knows, at two instants of a trial. A client tells of
// those that it makes anew, or does not; no client can hide them from the kernel.
type census struct {
	known   [2][]kernel.Connection
	unknown bool // the kernel did not answer
}

// The instants of a census.
const whenWarm, afterRun = 0, 1

// A witness is a program whose kernel is asked.
type witness interface {
	Connections(server netip.AddrPort) ([]kernel.Connection, error)
}

func (c *census) take(when int, w witness, server netip.AddrPort) {
	if c.unknown {
		return // a machine that hangs makes one wait
	}
	known, err := w.Connections(server)
	c.known[when], c.unknown = known, err != nil
}

// had is how many connections the client had in the recorded run, at least: those that were open when its warm-up had
// ended, and those that came since. The kernel forgets a closed one after a minute. 0: nobody knows.
func (c *census) had() (n int) {
	if c.unknown {
		return 0
	}
	seen := map[netip.AddrPort]bool{}
	for when, known := range c.known {
		for _, x := range known {
			if !seen[x.Client] && (when == afterRun || when == whenWarm && x.Open) {
				n++
			}
			seen[x.Client] = true
		}
	}
	return n
}

// connectionsAsked is how many connections the client of a treatment is to make, and to keep. 0: it is to keep none, or
// the kernel knows of none. A client over DPWS has others to the same port, for descriptions.
func connectionsAsked(s *study.Setup) int {
	if s.URL != "" || s.Population.Devices > 0 || overUDP(s) || s.Transport == "http3" || s.Transport == "dpws" {
		return 0
	}
	switch clients := max(s.DrivenFrom, 1); s.Connection {
	case "keep-alive":
		return clients * s.Concurrency
	case "pipelined", "multiplexed":
		return clients
	}
	return 0
}

// serverOf is the address in a server's URL; false: it has none that is a number.
func serverOf(address string) (netip.AddrPort, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return netip.AddrPort{}, false
	}
	at, err := netip.ParseAddrPort(u.Host)
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()), err == nil
}

// connections are those that a trial's client has to its server, by the kernels of both programs.
type connections struct {
	task
	programs *programs
	census   [2]census // by the kernel of each side's program
	most     int       // how many a client that is to keep them had, at least; 0: nobody knows
	counting sync.WaitGroup
}

// countLast counts beside the reading of the records: a kernel with much memory takes milliseconds.
func (n *connections) countLast() { n.counting.Go(func() { n.count(afterRun) }) }

// count asks the kernels of both programs, where they are two. Of what both know, the higher count holds:
// either may have forgotten some.
func (n *connections) count(when int) {
	server, ok := serverOf(n.programs.url())
	if connectionsAsked(n.setup) == 0 || !ok {
		return
	}
	for side, p := range n.programs.both() {
		if side == atClient && n.programs.link.line == nil && n.programs.places.sameMachine() {
			continue // the server's kernel knows both ends
		}
		c := &n.census[side]
		c.take(when, p.process, server)
		if when == afterRun {
			n.most = max(n.most, c.had())
		}
	}
}

// noteConnections says how many connections a client that is to keep its own was asked for, and had.
func (e *evidence) noteConnections() {
	if asked := connectionsAsked(e.setup); asked > 0 && e.connections > 0 {
		e.findings.note("connections_asked", "1", float64(asked))
		e.findings.note("connections_had", "1", float64(e.connections))
	}
}
