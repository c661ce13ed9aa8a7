package dpws

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// A Network carries datagrams.
type Network interface {
	// Multicast sends to the discovery group, or groups.
	Multicast(b []byte) error
	// Unicast sends one datagram.
	Unicast(b []byte, to netip.AddrPort) error
	// Receive hands over each datagram, several at a time, until Close. take
	// must not keep b.
	Receive(take func(b []byte, from netip.AddrPort)) error
	// Close ends Receive, and leaves the groups.
	Close() error
}

// Port is where discovery listens.
const Port = 3702

var (
	group4 = netip.MustParseAddrPort("239.255.255.250:3702")
	group6 = netip.MustParseAddrPort("[ff02::c]:3702")
)

// sockets are the discovery groups of one interface.
type sockets struct {
	listening []*net.UDPConn // to the groups
	speaking  []speaker      // from a port of their own, to which answers come
}

type speaker struct {
	conn  *net.UDPConn
	group netip.AddrPort
}

// Join enters the discovery groups of an interface, IPv4 and IPv6, whichever it
// has. A client need not listen to the groups. No route is needed for IPv4, as
// the interface is named; on a loopback interface IPv6 has no multicast at all.
func Join(ifi *net.Interface, listen bool) (Network, error) {
	return join(ifi, netip.Addr{}, listen)
}

// JoinAt is Join for a program that was given one address: it speaks from that
// address, on that address's interface. One with an IPv6 address discovers over
// IPv4 too, where its interface has an address of that family: there are devices
// (SDCri) that announce IPv6 addresses, and whose discovery is IPv4 throughout.
func JoinAt(at netip.Addr, listen bool) (Network, error) {
	ifi, err := InterfaceOf(at)
	if err != nil {
		return nil, err
	}
	return join(ifi, at.Unmap(), listen)
}

func join(ifi *net.Interface, at netip.Addr, listen bool) (Network, error) {
	s := &sockets{}
	err4 := s.enter(ifi, at, group4, listen)
	var err6 error
	if !at.Is4() {
		err6 = s.enter(ifi, at, group6, listen)
	}
	if len(s.speaking) == 0 {
		s.Close()
		return nil, fmt.Errorf("discovery on %s: %w", ifi.Name, errors.Join(err4, err6))
	}
	return s, nil
}

// enter adds the sockets of one group.
func (s *sockets) enter(ifi *net.Interface, at netip.Addr, group netip.AddrPort, listen bool) error {
	four := group.Addr().Is4()
	if !four && ifi.Flags&net.FlagLoopback != 0 {
		return errors.New("IPv6 has no multicast on a loopback interface") // tried with and without a route: nothing arrives
	}
	local, err := addressOf(ifi, four)
	if at.IsValid() && at.Is4() == four {
		local, err = at, nil
	}
	if err != nil {
		return err
	}
	if !four {
		group = netip.AddrPortFrom(group.Addr().WithZone(ifi.Name), group.Port())
	}
	if listen {
		c, err := bindGroup(ifi, group)
		if err != nil {
			return err
		}
		s.listening = append(s.listening, c)
	}
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
	if err != nil {
		return err
	}
	// SOAP-over-UDP 1.1 leaves the TTL open; WS-Discovery 1.1, section 3.1.1: it should be 1.
	if four {
		p := ipv4.NewPacketConn(c)
		err = errors.Join(p.SetMulticastInterface(ifi), p.SetMulticastTTL(1), p.SetMulticastLoopback(true))
	} else {
		p := ipv6.NewPacketConn(c)
		err = errors.Join(p.SetMulticastInterface(ifi), p.SetMulticastHopLimit(1), p.SetMulticastLoopback(true))
	}
	if err != nil {
		c.Close()
		return err
	}
	s.speaking = append(s.speaking, speaker{c, group})
	return nil
}

// bindGroup opens the group's port, which others on this machine have open too,
// for what is sent to the group on that interface.
//
// Subtle: package net binds the wildcard address when it is given a group, and
// then takes every datagram for the port, from wherever. Bound to the group
// itself the socket takes what is sent to the group; on which interface is the
// matter of SO_BINDTODEVICE, and of IP_MULTICAST_ALL where a kernel (before 5.7)
// wants a privilege for the former: without it a socket hears what others here
// joined for.
func bindGroup(ifi *net.Interface, group netip.AddrPort) (*net.UDPConn, error) {
	family, level, all := unix.AF_INET, unix.IPPROTO_IP, unix.IP_MULTICAST_ALL
	var sa unix.Sockaddr
	if group.Addr().Is4() {
		sa = &unix.SockaddrInet4{Port: int(group.Port()), Addr: group.Addr().As4()}
	} else {
		family, level, all = unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_ALL
		sa = &unix.SockaddrInet6{Port: int(group.Port()), Addr: group.Addr().As16(), ZoneId: uint32(ifi.Index)}
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "discovery group")
	defer f.Close() // FilePacketConn has its own
	_ = unix.BindToDevice(fd, ifi.Name)
	_ = unix.SetsockoptInt(fd, level, all, 0)
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return nil, err
	}
	if err := unix.Bind(fd, sa); err != nil {
		return nil, fmt.Errorf("bind %v: %w", group, err)
	}
	p, err := net.FilePacketConn(f)
	if err != nil {
		return nil, err
	}
	c := p.(*net.UDPConn)
	if group.Addr().Is4() {
		err = ipv4.NewPacketConn(c).JoinGroup(ifi, net.UDPAddrFromAddrPort(group))
	} else {
		err = ipv6.NewPacketConn(c).JoinGroup(ifi, net.UDPAddrFromAddrPort(group))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// addressOf is the interface's address to speak from; a link-local one of IPv6
// if there is one, as the group is link-local.
func addressOf(ifi *net.Interface, four bool) (netip.Addr, error) {
	addrs, err := ifi.Addrs()
	if err != nil {
		return netip.Addr{}, err
	}
	var other netip.Addr
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || p.Addr().Is4() != four {
			continue
		}
		if four {
			return p.Addr(), nil
		}
		if p.Addr().IsLinkLocalUnicast() {
			return p.Addr().WithZone(ifi.Name), nil
		}
		other = p.Addr()
	}
	if !other.IsValid() {
		return other, errors.New("it has no such address")
	}
	return other, nil
}

// Multicast succeeds if one of the groups took the datagram.
func (s *sockets) Multicast(b []byte) error {
	var errs []error
	for _, sp := range s.speaking {
		if _, err := sp.conn.WriteToUDPAddrPort(b, sp.group); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) < len(s.speaking) {
		return nil
	}
	return errors.Join(errs...)
}

func (s *sockets) Unicast(b []byte, to netip.AddrPort) error {
	for _, sp := range s.speaking {
		if sp.group.Addr().Is4() == to.Addr().Unmap().Is4() {
			_, err := sp.conn.WriteToUDPAddrPort(b, netip.AddrPortFrom(to.Addr().Unmap(), to.Port()))
			return err
		}
	}
	return fmt.Errorf("no socket for %v", to)
}

func (s *sockets) Receive(take func(b []byte, from netip.AddrPort)) error {
	var readers sync.WaitGroup
	for _, c := range s.listening {
		readers.Go(func() { receive(c, take) })
	}
	for _, sp := range s.speaking {
		readers.Go(func() { receive(sp.conn, take) })
	}
	readers.Wait()
	return net.ErrClosed
}

func receive(c *net.UDPConn, take func(b []byte, from netip.AddrPort)) {
	b := make([]byte, MaxUDPEnvelope+1) // one more, so that what is too large shows
	for {
		n, from, err := c.ReadFromUDPAddrPort(b)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // an ICMP error of something sent before
			continue
		}
		take(b[:n], from)
	}
}

func (s *sockets) Close() error {
	for _, c := range s.listening {
		c.Close()
	}
	for _, sp := range s.speaking {
		sp.conn.Close()
	}
	return nil
}

// InterfaceOf finds the interface that has an address.
func InterfaceOf(a netip.Addr) (*net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for i := range all {
		addrs, err := all[i].Addrs()
		if err != nil {
			continue
		}
		for _, have := range addrs {
			if p, err := netip.ParsePrefix(have.String()); err == nil && p.Addr() == a.WithZone("").Unmap() {
				return &all[i], nil
			}
		}
	}
	if a.IsLoopback() { // 127.0.0.2 and its like
		for i := range all {
			if all[i].Flags&net.FlagLoopback != 0 {
				return &all[i], nil
			}
		}
	}
	return nil, fmt.Errorf("no interface has the address %v", a)
}
