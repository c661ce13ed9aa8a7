package main

import (
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/link"
)

// A cable joins two network namespaces through this process, which can cut it, one way or both, and make it slow.
type cable struct {
	far     string          // address of its end at the hub
	name    string          // of its interfaces
	cut     [2]atomic.Int32 // to the hub, from it: how many faults cut it now
	late    atomic.Int64    // ns that each packet waits
	carried atomic.Int64    // packets
}

// The ways of a cable.
const (
	toHub = iota
	fromHub
)

// newNetwork makes a namespace with a loopback interface, which ends with the test.
func newNetwork(t *testing.T) *os.File {
	t.Helper()
	ns, err := kernel.NewNetwork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	configured(t, ns, "lo", func(*netlink.Handle, netlink.Link) error { return nil })
	return ns
}

// configured sets an interface up.
func configured(t *testing.T, ns *os.File, name string, do func(*netlink.Handle, netlink.Link) error) {
	t.Helper()
	nl, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer nl.Close()
	dev, err := nl.LinkByName(name)
	if err == nil {
		err = do(nl, dev)
	}
	if err == nil {
		err = nl.LinkSetUp(dev)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lay joins a namespace to the hub's; its number makes its addresses.
func lay(t *testing.T, hub, other *os.File, number int) *cable {
	t.Helper()
	c := &cable{far: fmt.Sprintf("10.77.%d.1", number), name: fmt.Sprint("cable", number)}
	near := fmt.Sprintf("10.77.%d.2", number)
	ends := [2]*os.File{toHub: tunnel(t, other, c.name, near, c.far),
		fromHub: tunnel(t, hub, c.name, c.far, near)}
	var carrying sync.WaitGroup
	for way := range ends {
		carrying.Go(func() { c.carry(way, ends[way], ends[1-way]) })
	}
	t.Cleanup(func() {
		for _, f := range ends {
			f.Close()
		}
		carrying.Wait()
	})
	return c
}

func tunnel(t *testing.T, ns *os.File, name, mine, other string) *os.File {
	t.Helper()
	fd := -1
	err := kernel.InNetwork(ns, func() (err error) {
		if fd, err = kernel.OpenTUN(link.TUN); err != nil {
			return err
		}
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		return unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	one := net.CIDRMask(32, 32)
	configured(t, ns, name, func(nl *netlink.Handle, dev netlink.Link) error {
		return nl.AddrAdd(dev, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(mine), Mask: one},
			Peer: &net.IPNet{IP: net.ParseIP(other), Mask: one}})
	})
	return os.NewFile(uintptr(fd), name)
}

func (c *cable) carry(way int, from, to *os.File) {
	packet := make([]byte, 64<<10)
	for {
		n, err := from.Read(packet)
		if err != nil {
			return
		}
		if c.cut[way].Load() > 0 {
			continue
		}
		c.carried.Add(1)
		if late := time.Duration(c.late.Load()); late > 0 {
			kept := append([]byte(nil), packet[:n]...)
			time.AfterFunc(late, func() { to.Write(kept) })
			continue
		}
		to.Write(packet[:n]) // one that is refused is lost
	}
}
