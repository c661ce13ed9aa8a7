package stack

import (
	"net/netip"
	"net/url"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A Census is the TCP connections to a server that one kernel knows, at two instants of a trial. A client tells of
// those that it makes anew, or does not; no client can hide them from the kernel.
type Census struct {
	known   [2][]kernel.Connection
	unknown bool // the kernel did not answer
}

// The instants of a census: the warm-up has ended, and the recorded run has.
const (
	WhenWarm = iota
	AfterRun
)

// A Witness is a program whose kernel is asked.
type Witness interface {
	Connections(server netip.AddrPort) ([]kernel.Connection, error)
}

// Take asks the kernel of a program, unless it did not answer before: a machine that hangs makes one wait.
func (c *Census) Take(when int, w Witness, server netip.AddrPort) {
	if c.unknown {
		return
	}
	known, err := w.Connections(server)
	c.known[when], c.unknown = known, err != nil
}

// Had is how many connections the client had in the recorded run, at least: those that were open when its warm-up had
// ended, and those that came since. The kernel forgets a closed one after a minute. 0: nobody knows.
func (c *Census) Had() (n int) {
	if c.unknown {
		return 0
	}
	seen := map[netip.AddrPort]bool{}
	for when, known := range c.known {
		for _, x := range known {
			if !seen[x.Client] && (when == AfterRun || when == WhenWarm && x.Open) {
				n++
			}
			seen[x.Client] = true
		}
	}
	return n
}

// ServerOf is the address in a server's URL; false: it has none that is a number.
func ServerOf(address string) (netip.AddrPort, bool) {
	u, err := url.Parse(address)
	if err != nil {
		return netip.AddrPort{}, false
	}
	at, err := netip.ParseAddrPort(u.Host)
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()), err == nil
}
