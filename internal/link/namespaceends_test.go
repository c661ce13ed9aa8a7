package link

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// beyond makes a namespace with addresses of its own, as one with the wire to a
// machine has.
func beyond(t *testing.T, four, six string) *os.File {
	t.Helper()
	ns, err := kernel.NewNetwork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	nl, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer nl.Close()
	d, err := nl.LinkByName("lo")
	if err == nil {
		err = nl.LinkSetUp(d)
	}
	for _, a := range []string{four, six} {
		addr, parse := netlink.ParseAddr(a)
		if err == nil && parse == nil {
			addr.Flags = unix.IFA_F_NODAD
			err = nl.AddrAdd(d, addr)
		}
		err = errors.Join(err, parse)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// A link joins two namespaces that are there, whose own networks then reach each
// other, and takes its interface with it when it ends, even killed.
func TestLinkJoinsNamespaces(t *testing.T) {
	capable(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ends := Ends{Client: beyond(t, "10.104.0.1/32", "fd00:6568:0:1::1/128"), Server: beyond(t, "10.104.1.1/32",
		"fd00:6568:0:2::1/128")}
	const delay = 30 * time.Millisecond
	for _, l := range []Link{{Up: Shape{Delay: delay}, Down: Shape{Delay: delay}}, {Shaper: Bare},
		{Up: Shape{Delay: delay}, Down: Shape{Delay: delay}}} {
		n, err := Join(t.Context(), exe, l, ends)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{"10.104.1.1", "fd00:6568:0:2::1"} {
			took := exchange(t, n, at)
			if l.Shaper == Userspace && took < 2*delay || took > 5*time.Second {
				t.Errorf("%s by %v: a round trip took %v", at, l.Up, took)
			}
		}
		if l.Shaper == Bare {
			n.cmd.Process.Kill() // and the next link finds its interface
		}
		n.Close()
	}
	for _, ns := range []*os.File{ends.Client, ends.Server} {
		nl, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
		if err != nil {
			t.Fatal(err)
		}
		defer nl.Close()
		if _, err := nl.LinkByName(Interface); err == nil {
			t.Error("the link left its interface in a namespace that is not its own")
		}
	}
}

func exchange(t *testing.T, n *Line, at string) time.Duration {
	t.Helper()
	var server *net.UDPConn
	var client net.Conn
	err := kernel.InNetwork(n.Server, func() (err error) {
		server, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(at)})
		return err
	})
	if err == nil {
		err = kernel.InNetwork(n.Client, func() (err error) {
			client, err = net.Dial("udp",
				server.LocalAddr().String())
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer client.Close()
	go echo(server)
	client.SetDeadline(time.Now().Add(20 * time.Second))
	began := time.Now()
	b := make([]byte, 10)
	if _, err = client.Write(b); err == nil {
		_, err = client.Read(b)
	}
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	return time.Since(began)
}
