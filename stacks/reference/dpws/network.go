package dpws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// A Network carries datagrams.
type Network interface {
	// Multicast sends to the discovery group, or groups.
	Multicast(b []byte) error
	Unicast(b []byte, to netip.AddrPort) error
	// Receive hands over each datagram, several at a time, until Close. take
	// must not keep b.
	Receive(take func(b []byte, from netip.AddrPort)) error
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
	s := &sockets{}
	err4 := s.join4(ifi, listen)
	err6 := s.join6(ifi, listen)
	if len(s.speaking) == 0 {
		s.Close()
		return nil, fmt.Errorf("discovery on %s: %w", ifi.Name, errors.Join(err4, err6))
	}
	return s, nil
}

func (s *sockets) join4(ifi *net.Interface, listen bool) error {
	local, err := addressOf(ifi, true)
	if err != nil {
		return err
	}
	if listen {
		c, err := bind("udp4", group4.String())
		if err != nil {
			return err
		}
		if err := ipv4.NewPacketConn(c).JoinGroup(ifi, net.UDPAddrFromAddrPort(group4)); err != nil {
			c.Close()
			return err
		}
		s.listening = append(s.listening, c)
	}
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
	if err != nil {
		return err
	}
	p := ipv4.NewPacketConn(c)
	// SOAP-over-UDP 1.1 leaves the TTL open; WS-Discovery 1.1, section 3.1.1: it should be 1.
	if err := errors.Join(p.SetMulticastInterface(ifi), p.SetMulticastTTL(1), p.SetMulticastLoopback(true)); err != nil {
		c.Close()
		return err
	}
	s.speaking = append(s.speaking, speaker{c, group4})
	return nil
}

func (s *sockets) join6(ifi *net.Interface, listen bool) error {
	if ifi.Flags&net.FlagLoopback != 0 {
		return errors.New("IPv6 has no multicast on a loopback interface") // tried with and without a route: nothing arrives
	}
	local, err := addressOf(ifi, false)
	if err != nil {
		return err
	}
	group := netip.AddrPortFrom(group6.Addr().WithZone(ifi.Name), Port)
	if listen {
		c, err := bind("udp6", group.String())
		if err != nil {
			return err
		}
		if err := ipv6.NewPacketConn(c).JoinGroup(ifi, net.UDPAddrFromAddrPort(group)); err != nil {
			c.Close()
			return err
		}
		s.listening = append(s.listening, c)
	}
	c, err := net.ListenUDP("udp6", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0)))
	if err != nil {
		return err
	}
	p := ipv6.NewPacketConn(c)
	if err := errors.Join(p.SetMulticastInterface(ifi), p.SetMulticastHopLimit(1), p.SetMulticastLoopback(true)); err != nil {
		c.Close()
		return err
	}
	s.speaking = append(s.speaking, speaker{c, group})
	return nil
}

// bind opens a port that others on this machine have open too.
func bind(network, address string) (*net.UDPConn, error) {
	l := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) }); e != nil {
			return e
		}
		return err
	}}
	c, err := l.ListenPacket(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil
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
