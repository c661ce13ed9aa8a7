package lab

import (
	"net/netip"
	"slices"
	"sync"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
)

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

// connections are those that a trial's client has to its server, by the kernels of both programs.
type connections struct {
	task
	programs *programs
	census   [2]stack.Census      // by the kernel of each side's program
	counters []kernel.TCPCounters // of these kernels, before the last reading of their tables; nil: one does not say
	opened   [2]int64             // per-request: by the client's kernel, before the run and behind it; 0: it does not say
	most     int                  // how many a client that is to keep them had, at least; 0: nobody knows
	counting sync.WaitGroup
}

// countEarly counts beside the warm-up, so that nobody waits: a kernel with much memory takes milliseconds. Whether
// that still holds later the kernels' counters tell, in microseconds.
func (n *connections) countEarly() {
	if counters := n.readCounters(); counters != nil {
		n.counters = counters
		n.counting.Go(func() { n.count(stack.WhenWarm) })
	}
}

// countWarm counts those that are open when the warm-up has ended: again, unless none was opened or closed meanwhile.
func (n *connections) countWarm() {
	n.counting.Wait()
	n.readOpened(beforeRun)
	if counters := n.readCounters(); counters == nil || !slices.Equal(counters, n.counters) {
		n.counters = counters
		n.count(stack.WhenWarm)
	}
}

// countLast counts those that came in the run, if any did, beside the reading of the records.
func (n *connections) countLast() {
	n.counting.Go(func() {
		n.readOpened(behindRun)
		if counters := n.readCounters(); counters == nil || !slices.Equal(counters, n.counters) {
			n.count(stack.AfterRun)
		}
		for side := range n.census {
			n.most = max(n.most, n.census[side].Had())
		}
	})
}

// readOpened reads how many connections were opened in the client's network so far, if it is to open one for each
// request. Others there may have opened some, too.
func (n *connections) readOpened(when int) {
	if n.programs.client == nil || !opensEach(n.setup) {
		return
	}
	if c, err := n.programs.client.process.TCPCounters(); err == nil {
		n.opened[when] = c.Opened
	}
}

// opensEach says whether the client of a treatment is to open a connection for each request, of which its kernel knows.
func opensEach(s *study.Setup) bool {
	return s.Connection == "per-request" && s.Population.Devices == 0 && !s.Joint() && !overUDP(s) &&
		s.Transport != "http3"
}

// count asks the kernels for their tables. Of what both know, the higher count holds: either may have forgotten some.
func (n *connections) count(when int) {
	server, asked := n.asked()
	for side, p := range asked {
		if p != nil {
			n.census[side].Take(when, p.process, server)
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
	server, ok := stack.ServerOf(n.programs.url())
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

// noteOpened notes how many requests, at least, used a connection that was open, though each was to open one. The
// first of each lane may have been opened before the run.
func (e *evidence) noteOpened() {
	before, behind := e.opened[beforeRun], e.opened[behindRun]
	if before == 0 || behind < before { // the kernel does not say, or not always
		return
	}
	c := &e.sides[atClient]
	if lacking := int64(c.n-c.failed-e.setup.Concurrency) - (behind - before); lacking > 0 {
		e.findings.note("connections_lacking", "1", float64(lacking))
	}
}
