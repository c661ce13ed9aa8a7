package kernel

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
)

// A Connection is one over TCP to a server, as a kernel knows it.
type Connection struct {
	// Client is the other end than the server's.
	Client netip.AddrPort `json:"client"`
	// Open says that neither side has begun to close it.
	Open bool `json:"open"`
}

// Connections lists the connections to the server at an address that the network namespace of a process knows at either
// of their ends. Of one that is closed, the end that closed it first knows for a minute (TIME_WAIT; RFC 9293,
// section 3.6), unless it was reset. Error: the kernel's tables cannot be read.
func Connections(pid int, server netip.AddrPort) ([]Connection, error) {
	known := connectionTable{server: server}
	tables := 0
	for _, network := range []string{"tcp", "tcp6"} { // a socket of IPv6 serves IPv4, too
		path := fmt.Sprintf("/proc/%d/net/%s", pid, network)
		f, err := os.Open(path)
		if noProcess(err) { // or a kernel without IPv6
			continue
		}
		if err == nil {
			err = known.read(f)
			f.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		tables++
	}
	if tables == 0 {
		return nil, fmt.Errorf("process %d: the kernel has no table of its network", pid)
	}
	return known.found, nil
}

// A connectionTable gathers the connections to a server. Where both ends are in one namespace there are two lines
// of each.
type connectionTable struct {
	server netip.AddrPort
	found  []Connection
	at     map[netip.AddrPort]int // of a client's end in found
}

// read adds those of one of the kernel's tables.
func (t *connectionTable) read(table io.Reader) error {
	port := fmt.Sprintf(":%04X", t.server.Port())
	return eachSocket(table, func(row socketRow) error {
		if row.state == tcpListen || !strings.HasSuffix(row.local, port) && !strings.HasSuffix(row.remote, port) {
			return nil // most are other programs'
		}
		local, err := procAddress(row.local)
		remote, err2 := procAddress(row.remote)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		switch t.server {
		case local:
			t.add(remote, row.state)
		case remote:
			t.add(local, row.state)
		}
		return nil
	})
}

func (t *connectionTable) add(client netip.AddrPort, state string) {
	if t.at == nil {
		t.at = map[netip.AddrPort]int{}
	}
	i, known := t.at[client]
	if !known {
		i = len(t.found)
		t.at[client] = i
		t.found = append(t.found, Connection{Client: client, Open: true})
	}
	t.found[i].Open = t.found[i].Open && state == tcpEstablished
}
