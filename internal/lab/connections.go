package lab

import (
	"net/netip"
	"net/url"
	"slices"
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
	census   [2]census            // by the kernel of each side's program
	counters []kernel.TCPCounters // of these kernels, before the last reading of their tables; nil: one does not say
	most     int                  // how many a client that is to keep them had, at least; 0: nobody knows
	counting sync.WaitGroup
}

// countEarly counts beside the warm-up, so that nobody waits: a kernel with much memory takes milliseconds. Whether
// that still holds later the kernels' counters tell, in microseconds.
func (n *connections) countEarly() {
	if counters := n.readCounters(); counters != nil {
		n.counters = counters
		n.counting.Go(func() { n.count(whenWarm) })
	}
}

// countWarm counts those that are open when the warm-up has ended: again, unless none was opened or closed meanwhile.
func (n *connections) countWarm() {
	n.counting.Wait()
	if counters := n.readCounters(); counters == nil || !slices.Equal(counters, n.counters) {
		n.counters = counters
		n.count(whenWarm)
	}
}

// countLast counts those that came in the run, if any did, beside the reading of the records.
func (n *connections) countLast() {
	n.counting.Go(func() {
		if counters := n.readCounters(); counters == nil || !slices.Equal(counters, n.counters) {
			n.count(afterRun)
		}
		for _, c := range n.census {
			n.most = max(n.most, c.had())
		}
	})
}

// count asks the kernels for their tables. Of what both know, the higher count holds: either may have forgotten some.
func (n *connections) count(when int) {
	server, asked := n.asked()
	for side, p := range asked {
		if p != nil {
			n.census[side].take(when, p.process, server)
		}
	}
}

// readCounters reads the kernels' counters; nil: one does not say. Nor do they where clients are on other benches, too:
// who begins to close a connection shows in the counters of his own kernel alone.
func (n *connections) readCounters() (all []kernel.TCPCounters) {
	if n.setup.Joint() {
		return nil
	}
	_, asked := n.asked()
	for _, p := range asked {
		if p == nil {
			continue
		}
		c, err := p.process.TCPCounters()
		if err != nil {
			return nil
		}
		all = append(all, c)
	}
	return all
}

// asked are the programs whose kernels are asked for connections to the server: both, where they are two kernels.
func (n *connections) asked() (server netip.AddrPort, asked [2]*program) {
	server, ok := serverOf(n.programs.url())
	if connectionsAsked(n.setup) == 0 || !ok {
		return server, asked
	}
	asked = n.programs.both()
	if n.programs.link.line == nil && n.programs.places.sameMachine() {
		asked[atClient] = nil // the server's kernel knows both ends
	}
	return server, asked
}

// noteConnections says how many connections a client that is to keep its own was asked for, and had.
func (e *evidence) noteConnections() {
	if asked := connectionsAsked(e.setup); asked > 0 && e.connections > 0 {
		e.findings.note("connections_asked", "1", float64(asked))
		e.findings.note("connections_had", "1", float64(e.connections))
	}
}
