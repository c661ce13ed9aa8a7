package kernel

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
)

// listenAnew listens at a port that the kernel remembers no connection to: other tests had some before. A server that
// nobody has asked has none.
func listenAnew(t *testing.T, network, at, dials string) (net.Listener, netip.AddrPort) {
	t.Helper()
	var got []Connection
	for range 20 {
		l, err := net.Listen(network, at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		server := netip.AddrPortFrom(netip.MustParseAddr(dials), uint16(l.Addr().(*net.TCPAddr).Port))
		if got, err = Connections(os.Getpid(), server); err == nil && len(got) == 0 {
			return l, server
		}
	}
	t.Fatalf("servers that nobody has asked: %v", got)
	return nil, netip.AddrPort{}
}

// A connection is known while it is open, and for a while when it is closed; a socket of IPv6 serves IPv4, too.
func TestConnectionsToAServer(t *testing.T) {
	for _, listens := range []struct{ network, at, dials string }{
		{"tcp4", "127.0.0.3:0", "127.0.0.3"}, {"tcp", ":0", "127.0.0.1"}, {"tcp6", "[::1]:0", "::1"},
	} {
		l, server := listenAnew(t, listens.network, listens.at, listens.dials)
		other, err := net.Listen("tcp4", "127.0.0.4:0")
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		dialed(t, other)
		dialed(t, l) // stays open
		near, far := dialed(t, l), dialed(t, l)
		near.client.Close() // the end that closes first remembers
		near.server.Close()
		far.server.Close()
		far.client.Close()
		open := 0
		known, err := Connections(os.Getpid(), server)
		for _, c := range known {
			if c.Open {
				open++
			}
		}
		if err != nil || len(known) != 3 || open != 1 {
			t.Errorf("%s: got %v, %v, want one that is open and two that were", listens.at, known, err)
		}
		for _, p := range []pair{near, far} {
			if end := p.client.LocalAddr().(*net.TCPAddr).AddrPort(); !containsClosed(known, end) {
				t.Errorf("%v is not among the closed ones of %v", end, known)
			}
		}
	}
	if got, err := Connections(1<<30, netip.MustParseAddrPort("127.0.0.1:80")); err == nil {
		t.Errorf("a process that there is not: %v", got)
	}
}

// A program in another network is asked of that one, where the same address is another's.
func TestConnectionsInAnotherNetwork(t *testing.T) {
	ns, err := NewNetwork()
	skipWithoutNamespaces(t, err)
	defer ns.Close()
	sleeper := exec.Command("sleep", "60")
	if err := (Placement{Network: ns}).Start(sleeper); err != nil {
		t.Fatal(err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	var there net.Listener
	if err := InNetwork(ns, func() (err error) {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err == nil {
			there, err = net.Listen("tcp4", "127.0.0.1:0")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if err := InNetwork(ns, func() error { dialed(t, there); return nil }); err != nil {
		t.Fatal(err)
	}
	server := there.Addr().(*net.TCPAddr).AddrPort()
	if got, err := Connections(sleeper.Process.Pid, server); len(got) != 1 || !got[0].Open || err != nil {
		t.Errorf("there: got %v, %v, want the one that is open", got, err)
	}
	if got, err := Connections(os.Getpid(), server); len(got) > 0 || err != nil {
		t.Errorf("here: got %v of another network, %v", got, err)
	}
}

// A pair is both ends of a connection.
type pair struct{ client, server net.Conn }

func dialed(t *testing.T, l net.Listener) pair {
	t.Helper()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	host := "127.0.0.1"
	if a := l.Addr().(*net.TCPAddr).AddrPort().Addr(); !a.IsUnspecified() {
		host = a.String()
	}
	client, err := net.Dial("tcp", net.JoinHostPort(host, port))
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return pair{client, server}
}

func containsClosed(known []Connection, client netip.AddrPort) bool {
	for _, c := range known {
		if c.Client == client && !c.Open {
			return true
		}
	}
	return false
}

// Where both ends are in one namespace a connection has two lines, and is open as long as both say so.
func TestEndsOfAConnection(t *testing.T) {
	line := func(local, remote, state string) string {
		return "   0: " + local + " " + remote + " " + state +
			" 00000000:00000000 00:00000000 00000000     0        0 42 1 0\n"
	}
	const server, client, other = "0100007F:1F90", "0100007F:C000", "0200007F:1F90" // as a little-endian machine has it
	for what, tt := range map[string]struct {
		table       string
		known, open int
	}{
		"two ends":              {line(server, client, "01") + line(client, server, "01"), 1, 1},
		"the client has closed": {line(server, client, "08") + line(client, server, "05"), 1, 0},
		"one end waits":         {line(client, server, "06"), 1, 0},
		"a server that listens": {line(server, "00000000:0000", "0A"), 0, 0},
		"another server":        {line(other, client, "01"), 0, 0},
	} {
		at, err := procAddress(server)
		if err != nil {
			t.Fatal(err)
		}
		known := connectionTable{server: at}
		if err := known.read(strings.NewReader("heading\n" + tt.table)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		open := 0
		for _, c := range known.found {
			if c.Open {
				open++
			}
		}
		if len(known.found) != tt.known || open != tt.open {
			t.Errorf("%s: got %v, want %d, %d of them open", what, known.found, tt.known, tt.open)
		}
	}
	known := connectionTable{server: netip.MustParseAddrPort("127.0.0.1:8080")}
	if err := known.read(strings.NewReader("heading\n" + line("01007F:1F90", client, "01"))); err == nil {
		t.Errorf("got %v of what is no table", known.found)
	}
}

// seqPages hands out what the kernel does: in each read one page of whole lines.
type seqPages struct {
	left  []string
	reads int
}

func (p *seqPages) Read(b []byte) (n int, err error) {
	if p.reads++; len(p.left) == 0 {
		return 0, io.EOF
	}
	n, p.left = copy(b, p.left[0]), p.left[1:]
	return n, nil
}

// A table is read to its last line, and the kernel is not asked whether that was the last, unless more may follow.
func TestTablesAreReadOnce(t *testing.T) {
	const full = leastPage / 150 // lines
	const line = "0: 0100007F:1F90 0100007F:C000 01 00000000:00000000 00:00000000 00000000 0 0 42"
	for _, tt := range []struct {
		pages []int // lines of each, the heading among them
		reads int
	}{
		{[]int{1}, 1}, {[]int{5}, 1}, {[]int{full, 1}, 2}, {[]int{full, full, 9}, 3}, {[]int{full}, 2},
		{[]int{full, full}, 3}, {[]int{full - 1, 2}, 2},
	} {
		kernel, lines := &seqPages{}, 0
		for _, n := range tt.pages {
			page := strings.Builder{}
			for range n {
				fmt.Fprintf(&page, "%-149s\n", line)
			}
			kernel.left, lines = append(kernel.left, page.String()), lines+n
		}
		got := 1 // the heading
		err := eachSocket(&socketTable{from: kernel}, func(socketRow) error { got++; return nil })
		if err != nil || got != lines || kernel.reads != tt.reads {
			t.Errorf("%v: got %d lines in %d reads, %v, want %d in %d", tt.pages, got, kernel.reads, err, lines, tt.reads)
		}
	}
}

// The kernel's own tables are whole, also where they have several pages.
func TestManyConnectionsToAServer(t *testing.T) {
	for _, at := range []string{"127.0.0.5:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		server := l.Addr().(*net.TCPAddr).AddrPort()
		for n := 1; n <= 60; n++ {
			dialed(t, l)
			if got, err := Connections(os.Getpid(), server); len(got) != n || err != nil {
				t.Fatalf("%s: got %d of %d connections, %v", at, len(got), n, err)
			}
		}
	}
}
