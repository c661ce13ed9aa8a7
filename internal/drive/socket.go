package drive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

const (
	// A blocking socket call ends after this long, so that the P is free for a
	// moment and ctx is seen; the wait then goes on in poll.
	socketWait = 20 * time.Millisecond
	// One that only looks at what is there takes this long at most.
	shortestWait = 100 * time.Microsecond
	// No wait of ours is longer: it bounds how late ctx is seen.
	longestWait = 100 * time.Millisecond
)

var errNoHost = errors.New("no host; write it behind ://, as in http://host:8080/path")

// resolve finds the address of a host: a literal, or one look-up. Of several addresses it is the first at which
// somebody listens, as other clients have it. family is "", "4" or "6".
func resolve(ctx context.Context, host string, port uint16, family string, overTCP bool) (netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if family != "" && (family == "4") != addr.Unmap().Is4() {
			return netip.AddrPort{}, fmt.Errorf("%s is not an IPv%s address; write one, or remove the IP version", host, family)
		}
		return netip.AddrPortFrom(addr.Unmap(), port), nil
	}
	if host == "" {
		return netip.AddrPort{}, errNoHost
	}
	addrs, err := kernel.LookUp(ctx, "ip"+family, host)
	var unknown *net.DNSError
	if errors.As(err, &unknown) && unknown.IsNotFound {
		return netip.AddrPort{}, fmt.Errorf("no host is called %s; check the name, or write an address", host)
	}
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("the address of %s was not found: %w", host, err)
	}
	var all []netip.AddrPort
	for _, a := range addrs {
		if at := netip.AddrPortFrom(a.Unmap(), port); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	if len(all) > 1 { // somebody who listens at the only one is not troubled
		for _, at := range all {
			within, cancel := context.WithTimeout(ctx, connects)
			err := Listens(within, at, overTCP)
			cancel()
			if err == nil {
				return at, nil
			}
		}
	}
	return all[0], nil
}

// connects is how long somebody who listens at one of several addresses may take to say so.
const connects = time.Second

// Listens says why nothing can be asked at an address, as far as that is known
// without asking: over UDP only a host that refuses says so.
func Listens(ctx context.Context, at netip.AddrPort, tcp bool) error {
	var d net.Dialer
	network := "udp"
	if tcp {
		network = "tcp"
	}
	c, err := d.DialContext(ctx, network, at.String())
	if err != nil {
		return err
	}
	defer c.Close()
	if tcp {
		return nil
	}
	// An empty confirmable message is CoAP's ping (RFC 7252, section 4.3). To any
	// other protocol, QUIC and DTLS too, it is a datagram to be ignored.
	_, err = c.Write([]byte{0x40, 0, 0xed, 0x9e})
	if err == nil {
		c.SetReadDeadline(time.Now().Add(refusal))
		_, err = c.Read(make([]byte, 64))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// refusal is how long a host may take to refuse a datagram.
const refusal = 300 * time.Millisecond

// sockaddr is a as the kernel takes it.
func sockaddr(a netip.AddrPort) (int, unix.Sockaddr) {
	if a.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	sa := &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	if zone := a.Addr().Zone(); zone != "" {
		if i, err := net.InterfaceByName(zone); err == nil {
			sa.ZoneId = uint32(i.Index)
		}
	}
	return unix.AF_INET6, sa
}

// socket makes a TCP or UDP socket. A blocking one has both timeouts set.
func socket(family int, stream, blocking bool) (int, error) {
	kind := unix.SOCK_DGRAM
	if stream {
		kind = unix.SOCK_STREAM
	}
	if !blocking {
		kind |= unix.SOCK_NONBLOCK
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if stream {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil && blocking {
		err = boundWaits(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func boundWaits(fd int) error {
	tv := unix.NsecToTimeval(int64(socketWait))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return err
	}
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv)
}

// dial makes a socket and connects it. For a non-blocking TCP socket the
// connection may still be under way: pending.
func dial(t *target, blocking bool) (fd int, pending bool, err error) {
	family, sa := sockaddr(t.addr)
	if fd, err = socket(family, t.overTCP, blocking); err != nil {
		return -1, false, err
	}
	if t.overTCP && t.Nagle {
		if err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 0); err != nil {
			unix.Close(fd)
			return -1, false, err
		}
	}
	switch err = unix.Connect(fd, sa); err {
	case nil:
		return fd, false, nil
	case unix.EINPROGRESS, unix.EINTR: // SO_SNDTIMEO and signals end a blocking connect too
		return fd, true, nil
	}
	unix.Close(fd)
	return -1, false, err
}

// connected says how a pending connect ended.
func connected(fd int) error {
	e, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if e != 0 {
		return syscall.Errno(e)
	}
	return nil
}
