package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// TCPCounters are a network namespace's counts of connections over TCP (RFC 4022). While all stay the same, none was
// opened there, and no end that is there has begun to close one.
type TCPCounters struct {
	Opened, Accepted, Failed, Reset int64 // so far
	Open                            int64 // now; one that the other end alone has closed is among them
}

// ReadTCPCounters reads those of the network namespace of a process (proc_pid_net(5), snmp), in some 30 µs. Error:
// there is no such process, or the kernel does not say.
func ReadTCPCounters(pid int) (TCPCounters, error) {
	path := fmt.Sprintf("/proc/%d/net/snmp", pid)
	b, err := ReadProc(path)
	if err != nil {
		return TCPCounters{}, err
	}
	c, err := parseTCPCounters(b)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// parseTCPCounters reads the two lines of TCP, of which the first has the names and the second the values.
func parseTCPCounters(b []byte) (c TCPCounters, err error) {
	var names [][]byte
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		switch {
		case len(f) == 0 || string(f[0]) != "Tcp:":
		case names == nil:
			names = f
		default:
			for name, to := range map[string]*int64{"ActiveOpens": &c.Opened, "PassiveOpens": &c.Accepted,
				"AttemptFails": &c.Failed, "EstabResets": &c.Reset, "CurrEstab": &c.Open} {
				i := slices.IndexFunc(names, func(n []byte) bool { return string(n) == name })
				if i < 0 || i >= len(f) {
					return c, fmt.Errorf("it has no %s", name)
				}
				if *to, err = strconv.ParseInt(string(f[i]), 10, 64); err != nil {
					return c, fmt.Errorf("%s: %w", name, err)
				}
			}
			return c, nil
		}
	}
	return c, errors.New("it has no counters of TCP")
}
