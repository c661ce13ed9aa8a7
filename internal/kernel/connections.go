package kernel

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
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
//
// The kernel walks its whole hash of connections for each table, some milliseconds on a large machine, so both are read
// at once. By sock_diag(7) it picks them out itself, but not all kernels have that.
func Connections(pid int, server netip.AddrPort) ([]Connection, error) {
	networks := []string{"tcp", "tcp6"} // a socket of IPv6 serves IPv4, too
	tables, errs := make([]connectionTable, len(networks)), make([]error, len(networks))
	var reading sync.WaitGroup
	for i, network := range networks {
		tables[i].server = server
		reading.Go(func() { errs[i] = tables[i].list(fmt.Sprintf("/proc/%d/net/%s", pid, network)) })
	}
	reading.Wait()
	known := connectionTable{server: server}
	for i, table := range tables {
		if noProcess(errs[i]) { // or a kernel without IPv6
			continue
		}
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, c := range table.found {
			known.add(c.Client, c.Open)
		}
	}
	if noProcess(errs[0]) && noProcess(errs[1]) {
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

// list adds those of a file of the kernel's.
func (t *connectionTable) list(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.read(&socketTable{from: f}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
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
			t.add(remote, row.state == tcpEstablished)
		case remote:
			t.add(local, row.state == tcpEstablished)
		}
		return nil
	})
}

func (t *connectionTable) add(client netip.AddrPort, open bool) {
	if t.at == nil {
		t.at = map[netip.AddrPort]int{}
	}
	i, known := t.at[client]
	if !known {
		i = len(t.found)
		t.at[client] = i
		t.found = append(t.found, Connection{Client: client, Open: true})
	}
	t.found[i].Open = t.found[i].Open && open
}
