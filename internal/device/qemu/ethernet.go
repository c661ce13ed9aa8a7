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

// NetworkVerb is the hidden verb of the binary that configures the guest it runs
// in: network IPV4 IPV6 GATEWAY4 GATEWAY6 MTU NANOSECONDS, the time since 1970.
const NetworkVerb = "guest-network"

func (w *ethernet) guestArgs(mtu int, now time.Time) []string {
	return []string{w.guest.IPv4.String(), w.guest.IPv6.String(), w.host.IPv4.String(), w.host.IPv6.String(),
		strconv.Itoa(mtu), strconv.FormatInt(now.UnixNano(), 10)}
}

// ConfigureGuest is that verb.
func ConfigureGuest(args []string) int {
	if err := configureGuest(args); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func configureGuest(args []string) error {
	if len(args) != 6 || os.Getpid() == 1 {
		return errors.New("this runs only in emulated machines")
	}
	var at [4]netip.Addr
	for i := range at {
		var err error
		if at[i], err = netip.ParseAddr(args[i]); err != nil {
			return err
		}
	}
	mtu, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	now, err := strconv.ParseInt(args[5], 10, 64)
	if err != nil {
		return err
	}
	ts := unix.NsecToTimespec(now)
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
		return err
	}
	if err := stir(args[5]); err != nil {
		return err
	}
	nl, err := netlink.NewHandle(unix.NETLINK_ROUTE) // others a small kernel may not have
	if err != nil {
		return err
	}
	defer nl.Close()
	l, err := awaitCard(nl)
	if err != nil {
		return err
	}
	if err := set(nl, l, device.Pair{IPv4: at[0], IPv6: at[1]}, mtu); err != nil {
		return fmt.Errorf("eth0: %w", err)
	}
	for _, gateway := range at[2:] {
		if err := nl.RouteReplace(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: gateway.AsSlice()}); err != nil {
			return fmt.Errorf("route by %v: %w", gateway, err)
		}
	}
	return nil
}

// awaitCard is the guest's network card, which its kernel may still be finding.
func awaitCard(nl *netlink.Handle) (netlink.Link, error) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		l, err := nl.LinkByName("eth0")
		if err == nil || time.Now().After(end) {
			return l, err
		}
	}
}

// stir makes the guest's random numbers differ from those of other machines
// restored from the same state.
func stir(with string) error {
	f, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(with)
	return errors.Join(err, f.Close())
}

// AwaitLab opens the channel to the lab and says on the console that it waits.
// It returns when the lab has said its first byte.
func AwaitLab(console *os.File) (*os.File, error) {
	var f *os.File
	var err error
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if f, err = os.OpenFile("/dev/vport0p1", os.O_RDWR, 0); err == nil {
			break
		}
		if g, _ := os.OpenFile("/dev/vport1p1", os.O_RDWR, 0); g != nil {
			f = g
			break
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("no connection to the lab: %w", err)
		}
	}
	fmt.Fprintf(console, "\n%s\n", readyLine)
	one := make([]byte, 1)
	for {
		if n, _ := f.Read(one); n == 1 { // it reads nothing while nobody is there
			return f, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
}
