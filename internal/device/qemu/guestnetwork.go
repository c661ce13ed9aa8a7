package qemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The guest's end of its Ethernet. It speaks with the kernel by itself: the library that the other end uses
// (github.com/vishvananda/netlink) would be a twentieth of edgegauge-board.

// NetworkVerb is the hidden verb of the binary that configures the guest it runs
// in: network IPV4 IPV6 GATEWAY4 GATEWAY6 MTU NANOSECONDS, the time since 1970.
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
	mtu, err := strconv.ParseUint(args[4], 10, 32)
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
	const card = "eth0"
	if err := awaitCard(card); err != nil {
		return err
	}
	return setUpCard(card, uint32(mtu), [2]netip.Addr(at[:2]), [2]netip.Addr(at[2:]))
}

// awaitCard waits for the guest's network card, which its kernel may still be finding.
func awaitCard(name string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := cardIndex(name)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

func cardIndex(name string) (uint32, error) {
	var index uint32
	err := ofCard(name, unix.SIOCGIFINDEX, func(*unix.Ifreq) {}, func(r *unix.Ifreq) { index = r.Uint32() })
	return index, err
}

// ofCard makes one call about an interface (netdevice(7)).
func ofCard(name string, call uint, put, get func(*unix.Ifreq)) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	put(r)
	if err := unix.IoctlIfreq(s, call, r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	get(r)
	return nil
}

// setUpCard gives an interface its addresses, the size of its packets, and the way to all others, and sets it up.
func setUpCard(name string, mtu uint32, own, gateways [2]netip.Addr) error {
	index, err := cardIndex(name)
	if err != nil {
		return err
	}
	if err := ofCard(name, unix.SIOCSIFMTU, func(r *unix.Ifreq) { r.SetUint32(mtu) }, func(*unix.Ifreq) {}); err != nil {
		return err
	}
	if err := setAddress(index, own[0], bits4); err != nil {
		return fmt.Errorf("%s: %v: %w", name, own[0], err)
	}
	if err := setUp(name); err != nil {
		return err
	}
	if err := setAddress(index, own[1], bits6); err != nil {
		return fmt.Errorf("%s: %v: %w", name, own[1], err)
	}
	for _, gateway := range gateways {
		if err := setGateway(index, gateway); err != nil {
			return fmt.Errorf("route by %v: %w", gateway, err)
		}
	}
	return nil
}

// family is an address's, as the kernel numbers it.
func family(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// setAddress adds an address to an interface: struct ifaddrmsg. With IFA_F_NODAD an IPv6 address is usable at once.
func setAddress(index uint32, a netip.Addr, bits uint8) error {
	flags := uint8(unix.IFA_F_NODAD)
	if a.Is4() {
		flags = 0
	}
	body := binary.NativeEndian.AppendUint32([]byte{family(a), bits, flags, unix.RT_SCOPE_UNIVERSE}, index)
	body = appendAttribute(body, unix.IFA_LOCAL, a.AsSlice())
	return tellKernel(unix.RTM_NEWADDR, appendAttribute(body, unix.IFA_ADDRESS, a.AsSlice()))
}

// setGateway leads what goes nowhere else to a neighbour: struct rtmsg.
func setGateway(index uint32, a netip.Addr) error {
	body := []byte{family(a), 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST,
		0, 0, 0, 0}
	body = appendAttribute(body, unix.RTA_GATEWAY, a.AsSlice())
	return tellKernel(unix.RTM_NEWROUTE, appendAttribute(body, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, index)))
}

// appendAttribute appends a struct rtattr (rtnetlink(7)): length, type, content, zeros up to a multiple of 4.
func appendAttribute(to []byte, kind uint16, content []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(unix.SizeofRtAttr+len(content)))
	to = append(binary.NativeEndian.AppendUint16(to, kind), content...)
	return append(to, zeros(len(content))...)
}

// tellKernel has the kernel make or replace something (netlink(7)). Its answer is the number of an error, or 0.
func tellKernel(kind uint16, body []byte) error {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	const flags = unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE | unix.NLM_F_REPLACE
	message := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	message = binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(message, kind), flags)
	message = append(message, 1, 0, 0, 0, 0, 0, 0, 0) // a number of its own; the port is the kernel's to give
	if err := unix.Sendto(s, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("the kernel's answer of %d B is not to the question", n)
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
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
