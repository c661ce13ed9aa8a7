package qemu

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/kernel"
)

// An ethernet is the Ethernet between this machine and one guest: a TAP interface of
// QEMU's here, alone in a network namespace without a name, and a network card
// there. Nothing of it is seen by others on this machine, and nothing is left of
// it, however the lab ends.
type ethernet struct {
	ns          *os.File
	host, guest device.Pair
	mtu         int // that both ends have
}

const (
	tapName  = "machine0"
	usualMTU = 1500 // B
	bits4    = 30   // of each guest's own IPv4 network
	bits6    = 64
)

// canTUN says what keeps this user from making a network card for a machine.
func canTUN(path string) error {
	fd, err := kernel.OpenTUN(path)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func newEthernet(number uint8) (ethernet, error) {
	if err := canTUN(kernel.TUN); err != nil {
		return ethernet{}, err
	}
	end := func(n byte) device.Pair {
		six := [16]byte{0: 0xfd, 2: 0x65, 3: 0x68, 7: number, 15: n} // fd00:6568:0:NUMBER::n
		return device.Pair{IPv4: netip.AddrFrom4([4]byte{10, 104, number, n}), IPv6: netip.AddrFrom16(six)}
	}
	ns, err := kernel.NewNetwork()
	if err != nil {
		return ethernet{}, err
	}
	w := ethernet{ns: ns, host: end(1), guest: end(2)}
	return w, kernel.InNetwork(ns, func() error {
		for file, v := range map[string]string{"router_solicitations": "0", "accept_ra": "0", "autoconf": "0",
			"addr_gen_mode": "1"} {
			// where it may not, the kernel says more than it need
			os.WriteFile("/proc/sys/net/ipv6/conf/default/"+file, []byte(v), 0)
		}
		return nil
	})
}

func (w *ethernet) release() {
	if w.ns != nil {
		w.ns.Close()
		*w = ethernet{}
	}
}

// up gives this machine's end its addresses, once QEMU has made it.
func (w *ethernet) up(mtu int) error {
	nl, err := netlink.NewHandleAt(netns.NsHandle(w.ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer nl.Close()
	lo, err := nl.LinkByName("lo")
	if err == nil {
		err = nl.LinkSetUp(lo)
	}
	if err != nil {
		return err
	}
	l, err := nl.LinkByName(tapName)
	if err == nil {
		err = set(nl, l, w.host, mtu)
	}
	if err == nil {
		// Subtle: with packets of others the kernel asks for neighbours from a
		// link-local address only, RFC 4861 section 4.3, and without one not at all.
		err = nl.AddrReplace(l, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP("fe80::1"), Mask: net.CIDRMask(bits6, 128)},
			Flags: unix.IFA_F_NODAD})
	}
	if err != nil {
		return fmt.Errorf("interface %s: %w", tapName, err)
	}
	return nil
}

// set gives an interface its addresses and the size of its packets, and sets it up.
func set(nl *netlink.Handle, l netlink.Link, p device.Pair, mtu int) error {
	four := &netlink.Addr{IPNet: &net.IPNet{IP: p.IPv4.AsSlice(), Mask: net.CIDRMask(bits4, 32)}}
	// Subtle: without IFA_F_NODAD an IPv6 address is unusable for a second or more.
	six := &netlink.Addr{IPNet: &net.IPNet{IP: p.IPv6.AsSlice(), Mask: net.CIDRMask(bits6, 128)}, Flags: unix.IFA_F_NODAD}
	return errors.Join(nl.LinkSetMTU(l, mtu), nl.AddrReplace(l, four), nl.LinkSetUp(l), nl.AddrReplace(l, six))
}

// guestArgs are those of NetworkVerb.
func (w *ethernet) guestArgs(mtu int, now time.Time) []string {
	return []string{w.guest.IPv4.String(), w.guest.IPv6.String(), w.host.IPv4.String(), w.host.IPv6.String(),
		strconv.Itoa(mtu), strconv.FormatInt(now.UnixNano(), 10)}
}
