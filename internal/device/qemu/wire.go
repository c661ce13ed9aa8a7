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
	"golang.org/x/sys/unix"
)

// A wire is the Ethernet between this machine and one guest: a TAP interface of
// QEMU's here, which goes when QEMU does, a network card there.
type wire struct {
	name        string
	host, guest netip.Prefix
	lock        *os.File
}

// newWire takes a network that no other lab on this machine has.
func newWire() (wire, error) {
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		return wire{}, fmt.Errorf("%w; load it with: modprobe tun; in a container, start it with: --device /dev/net/tun", err)
	}
	for n := range 250 {
		f, err := os.OpenFile(fmt.Sprintf("%s/edgegauge-wire-%d-%d", os.TempDir(), os.Getuid(), n), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return wire{}, err
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			f.Close()
			continue
		}
		net := [4]byte{10, 104, byte(n), 1}
		w := wire{name: "egq" + strconv.Itoa(n), host: netip.PrefixFrom(netip.AddrFrom4(net), 30), lock: f}
		net[3] = 2
		w.guest = netip.PrefixFrom(netip.AddrFrom4(net), 30)
		return w, nil
	}
	return wire{}, errors.New("250 emulated machines run here already")
}

func (w *wire) release() {
	if w.lock != nil {
		os.Remove(w.lock.Name())
		w.lock.Close()
		w.lock = nil
	}
}

// up gives this machine's end its address, once QEMU has made it.
func (w *wire) up() error {
	l, err := netlink.LinkByName(w.name)
	if err != nil {
		return fmt.Errorf("interface %s: %w", w.name, err)
	}
	p := w.host
	a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), 32)}}
	if err := errors.Join(netlink.AddrReplace(l, a), netlink.LinkSetUp(l)); err != nil {
		return fmt.Errorf("interface %s: %w; run as root", w.name, err)
	}
	return nil
}

// NetworkVerb is the hidden verb of the binary that configures the guest it runs
// in: network ADDRESS/BITS GATEWAY/BITS NANOSECONDS, the time since 1970.
const NetworkVerb = "guest-network"

// ConfigureGuest is that verb.
func ConfigureGuest(args []string) int {
	if err := configureGuest(args); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func configureGuest(args []string) error {
	if len(args) != 3 || os.Getpid() == 1 {
		return errors.New("this runs in emulated machines only")
	}
	mine, err := netlink.ParseAddr(args[0])
	if err != nil {
		return err
	}
	now, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	gateway, err := netip.ParsePrefix(args[1])
	if err != nil {
		return err
	}
	ts := unix.NsecToTimespec(now)
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &ts); err != nil {
		return err
	}
	if err := stir(args[2]); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		l, err := netlink.LinkByName("eth0")
		if err == nil {
			if err := errors.Join(netlink.AddrReplace(l, mine), netlink.LinkSetUp(l)); err != nil {
				return err
			}
			return netlink.RouteReplace(&netlink.Route{LinkIndex: l.Attrs().Index, Gw: gateway.Addr().AsSlice()})
		}
		if time.Now().After(end) {
			return fmt.Errorf("eth0: %w", err)
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
			return nil, fmt.Errorf("no channel to the lab: %w", err)
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
