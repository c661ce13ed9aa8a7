package link

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// Interface is the name of the link's interface at both ends: each is alone in
// its namespace.
const Interface = "lab0"

// An Address pair is how one end is reached through the link. They are the same
// in every link, since its namespaces hold nothing else.
type Address struct{ IPv4, IPv6 netip.Addr }

// The ends of every link, by private addresses (RFC 1918; RFC 4193).
var (
	ClientAddress = Address{netip.MustParseAddr("10.103.0.1"), netip.MustParseAddr("fd00:6567::1")}
	ServerAddress = Address{netip.MustParseAddr("10.103.0.2"), netip.MustParseAddr("fd00:6567::2")}
)

// openTUN makes the link's interface in the namespace of the calling thread.
func openTUN(path string) (int, error) {
	fd, err := kernel.OpenTUN(path)
	if err != nil {
		return -1, err
	}
	r, err := unix.NewIfreq(Interface)
	if err != nil {
		return -1, err
	}
	r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
		unix.Close(fd)
		return -1, kernel.NetworkDenied("create a TUN interface", err)
	}
	return fd, nil
}

// kernelQueue is how many packets wait in the sender's kernel until the link
// reads them; more would be lost unseen, so it is large.
const kernelQueue = 10000

// configure gives the interface in ns its addresses and routes, everything
// else through it, multicast included.
func configure(ns *os.File, mine, other Address, mtu int) error {
	quiet(ns)
	nl, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return kernel.NetworkDenied("configure the namespace", err)
	}
	defer nl.Close()
	lo, err := nl.LinkByName("lo")
	if err == nil {
		err = nl.LinkSetUp(lo)
	}
	if err != nil {
		return kernel.NetworkDenied("set lo up", err)
	}
	dev, err := nl.LinkByName(Interface)
	if err != nil {
		return err
	}
	if err := errors.Join(nl.LinkSetMTU(dev, mtu), nl.LinkSetTxQLen(dev, kernelQueue)); err != nil {
		return err
	}
	for _, p := range []struct {
		mine, other netip.Addr
	}{{mine.IPv4, other.IPv4}, {mine.IPv6, other.IPv6}} {
		// Subtle: without IFA_F_NODAD an IPv6 address is unusable for a second or more.
		a := &netlink.Addr{IPNet: host(p.mine), Peer: host(p.other), Flags: unix.IFA_F_NODAD}
		if p.mine.Is4() {
			a.Flags = 0
		}
		if err := nl.AddrAdd(dev, a); err != nil {
			return fmt.Errorf("address %v: %w", p.mine, err)
		}
	}
	if err := nl.LinkSetUp(dev); err != nil {
		return err
	}
	ethernet := dev.Type() == "veth"
	if ethernet { // to ask for neighbours in the name of others, RFC 4861 section 4.3
		a := &netlink.Addr{IPNet: host(linkLocal(mine.IPv6)), Flags: unix.IFA_F_NODAD}
		if err := nl.AddrAdd(dev, a); err != nil {
			return fmt.Errorf("address %v: %w", a.IP, err)
		}
	}
	for all, by := range map[string]netip.Addr{"0.0.0.0/0": other.IPv4, "::/0": other.IPv6} {
		_, dst, _ := net.ParseCIDR(all)
		r := &netlink.Route{LinkIndex: dev.Attrs().Index, Dst: dst, Scope: netlink.SCOPE_LINK}
		if ethernet { // nobody there answers for what lies behind the other end
			r.Scope, r.Gw, r.Flags = netlink.SCOPE_UNIVERSE, by.AsSlice(), int(netlink.FLAG_ONLINK)
		}
		if err := nl.RouteAdd(r); err != nil {
			return fmt.Errorf("route %s: %w", all, err)
		}
	}
	return nil
}

// linkLocal is the address with the same last 64 bits.
func linkLocal(a netip.Addr) netip.Addr {
	b := a.As16()
	copy(b[:8], []byte{0: 0xfe, 1: 0x80, 7: 0})
	return netip.AddrFrom16(b)
}

func host(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}

// quiet keeps the kernel from sending packets of its own over the link: router
// solicitations take a third of a second of a 9600 bit/s line. Where /proc/sys
// is read-only they are sent, seen and counted.
func quiet(ns *os.File) {
	kernel.InNetwork(ns, func() error {
		for file, v := range map[string]string{"router_solicitations": "0", "accept_ra": "0", "autoconf": "0",
			"addr_gen_mode": "1"} {
			for _, dev := range []string{"default", Interface} {
				os.WriteFile("/proc/sys/net/ipv6/conf/"+dev+"/"+file, []byte(v), 0)
			}
		}
		return nil
	})
}

// unread is how many packets the sender's kernel dropped before they were read.
func unread(ns *os.File) (int64, error) {
	nl, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return 0, err
	}
	defer nl.Close()
	dev, err := nl.LinkByName(Interface)
	if err != nil {
		return 0, err
	}
	if s := dev.Attrs().Statistics; s != nil {
		return int64(s.TxDropped), nil
	}
	return 0, nil
}
