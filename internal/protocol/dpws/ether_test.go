package dpws

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// An ether is a network in memory that loses datagrams: each receiver of each
// datagram on its own, as on a shared medium.
type ether struct {
	mu       sync.Mutex
	loss     float64
	rng      *rand.Rand
	stations []*station
	sent     int // datagrams handed in
	lost     int // deliveries that were not
}

func newEther(loss float64, seed uint64) *ether {
	return &ether{loss: loss, rng: rand.New(rand.NewPCG(seed, 0))}
}

type station struct {
	on     *ether
	addr   netip.AddrPort
	listen bool // to the group
	in     chan parcel
	once   sync.Once
}

type parcel struct {
	b    []byte
	from netip.AddrPort
}

func (e *ether) join(listen bool) *station {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.stations) + 1
	s := &station{on: e, listen: listen, in: make(chan parcel, 1024),
		addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}), 40000)}
	e.stations = append(e.stations, s)
	return s
}

func (e *ether) deliver(b []byte, from netip.AddrPort, to func(*station) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent++
	for _, s := range e.stations {
		if !to(s) {
			continue
		}
		if e.rng.Float64() < e.loss {
			e.lost++
			continue
		}
		select {
		case s.in <- parcel{slices.Clone(b), from}:
		default:
			e.lost++
		}
	}
}

func (s *station) Multicast(b []byte) error {
	s.on.deliver(b, s.addr, func(x *station) bool { return x.listen })
	return nil
}

func (s *station) Unicast(b []byte, to netip.AddrPort) error {
	s.on.deliver(b, s.addr, func(x *station) bool { return x.addr == to })
	return nil
}

func (s *station) Receive(take func([]byte, netip.AddrPort)) error {
	for p := range s.in {
		take(p.b, p.from)
	}
	return net.ErrClosed
}

func (s *station) Close() error {
	s.on.mu.Lock()
	defer s.on.mu.Unlock()
	s.on.stations = slices.DeleteFunc(s.on.stations, func(x *station) bool { return x == s })
	s.once.Do(func() { close(s.in) })
	return nil
}
