package packet

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"
)

// An Application says how UDP payloads are to be read.
type Application uint8

// Guess looks at the first datagram of each flow.
const (
	Guess Application = iota
	CoAP
	Datagrams // request and response by turns
)

// Options say what an Analyzer looks at. The zero value looks at everything.
type Options struct {
	Ports       []uint16    // of the servers; without any, every port counts
	MTU         int         // largest IP packet of the link; 0: 1500, on loopback 65536
	Application Application // what UDP carries
	Sizes       bool        // keep the size of every packet of the ports, for Capture.Between
}

// maxDisorder is how far stamps may run backwards: two CPUs storing packets at
// once do so by microseconds, a file put together from two by far more.
const maxDisorder = 10 * time.Millisecond

// An Analyzer turns packets, in the order of the capture, into a Capture.
type Analyzer struct {
	o       Options
	c       Capture
	conns   map[pair]*conn // the latest of each pair of endpoints
	order   []*conn
	flows   map[pair]*flow
	udp     []*UDPCall
	tainted map[hosts]string
	seg     segment
}

// A pair is a connection's two endpoints, the lower first.
type pair struct{ a, b netip.AddrPort }

// hosts are two addresses, the lower first, and a protocol.
type hosts struct {
	a, b  netip.Addr
	proto uint8
}

func pairOf(x, y netip.AddrPort) pair {
	if x.Compare(y) > 0 {
		x, y = y, x
	}
	return pair{x, y}
}

func hostsOf(x, y netip.Addr, proto uint8) hosts {
	if x.Compare(y) > 0 {
		x, y = y, x
	}
	return hosts{x, y, proto}
}

// NewAnalyzer returns an Analyzer that has seen nothing.
func NewAnalyzer(o Options) *Analyzer {
	return &Analyzer{o: o, conns: map[pair]*conn{}, flows: map[pair]*flow{}, tainted: map[hosts]string{}}
}

// Analyze reads a capture file to its end and returns the figures of all its
// connections and exchanges. If the file is damaged it returns the error and
// what could be read before, which then has a Problem.
func Analyze(r io.Reader) (Capture, error) { return AnalyzeWith(r, Options{}) }

// AnalyzeWith is Analyze with options.
func AnalyzeWith(r io.Reader, o Options) (Capture, error) {
	a := NewAnalyzer(o)
	x, err := NewReader(r)
	if err != nil {
		a.problem("%v", err)
		return a.Capture(), err
	}
	var p Packet
	for err == nil {
		if err = x.Next(&p); err == nil {
			a.Add(p)
		}
	}
	a.Lost(x.Dropped)
	if errors.Is(err, io.EOF) {
		return a.Capture(), nil
	}
	a.problem("%v", err)
	return a.Capture(), err
}

func (a *Analyzer) problem(format string, args ...any) {
	if len(a.c.Problems) < 20 {
		a.c.Problems = append(a.c.Problems, fmt.Sprintf(format, args...))
	}
}

// Lost says that the capturing side lost n packets in all.
func (a *Analyzer) Lost(n uint64) { a.c.Dropped = n }

// Add takes the next packet; it keeps nothing of p.Data.
func (a *Analyzer) Add(p Packet) {
	a.c.Packets++
	a.c.Bytes += int64(p.Length)
	if a.c.Packets == 1 {
		a.c.First, a.c.Last = p.At, p.At
	}
	if p.At < a.c.Last-maxDisorder {
		a.problem("packet %d has a timestamp %v earlier than one before it; sort the file with reordercap IN OUT",
			a.c.Packets,
			a.c.Last-p.At)
	}
	a.c.Last = max(a.c.Last, p.At)
	a.c.First = min(a.c.First, p.At)
	a.c.Tick = max(a.c.Tick, p.Tick)
	s := &a.seg
	v := decode(&p, s)
	if v == other || v == decoded && !a.wanted(s) {
		a.c.Other++
		return
	}
	if a.o.Sizes {
		a.c.sizes = append(a.c.sizes, sized{p.At, p.Length, v == decoded && s.bare()})
	}
	switch {
	case v != decoded:
		a.taint(v, s)
	case s.proto == protoTCP:
		a.addTCP(&p, s)
	default:
		a.addUDP(&p, s)
	}
}

func (a *Analyzer) wanted(s *segment) bool {
	return len(a.o.Ports) == 0 || slices.Contains(a.o.Ports, s.dst.Port()) || slices.Contains(a.o.Ports, s.src.Port())
}

// taint counts a packet that cannot be used and marks the hosts it was between:
// nobody knows which of their connections now lacks a packet.
func (a *Analyzer) taint(v verdict, s *segment) {
	var why string
	switch v {
	case fragment:
		a.c.Fragments++
		why = "an IP packet between these hosts was fragmented; use smaller messages or a larger MTU"
	case cut:
		a.c.Cut++
		why = "the snaplen truncated a header between these hosts; capture at least 128 bytes of each packet"
	default:
		a.c.Malformed++
		why = "a packet between these hosts has a wrong length or checksum"
		if s.body == nil { // not even its addresses are sure
			a.problem("packet %d is malformed (%d bytes)", a.c.Packets, s.frame)
			return
		}
	}
	if !s.src.Addr().IsValid() {
		a.problem("packet %d: the snaplen truncated its addresses; capture at least 128 bytes of each packet", a.c.Packets)
		return
	}
	for _, proto := range []uint8{protoTCP, protoUDP} {
		if s.proto == proto || s.hides() {
			a.tainted[hostsOf(s.src.Addr(), s.dst.Addr(), proto)] = why
		}
	}
}

// mtu returns the largest IP packet expected on the link of s.
func (a *Analyzer) mtu(s *segment) int {
	switch {
	case a.o.MTU > 0:
		return a.o.MTU
	case s.loopback || s.src.Addr().IsLoopback():
		return 65536
	}
	return 1500
}

// fromServer says whether s comes from a server's port, as far as Options tell.
func (a *Analyzer) fromServer(s *segment) (is, known bool) {
	src, dst := slices.Contains(a.o.Ports, s.src.Port()), slices.Contains(a.o.Ports, s.dst.Port())
	return src, src != dst
}

// damage says why nothing between two hosts is known, over one protocol; "": it is.
func (a *Analyzer) damage(c *Call, proto uint8) string {
	if len(a.c.Problems) > 0 {
		return a.c.Problems[0]
	}
	return a.tainted[hostsOf(c.Client.Addr(), c.Server.Addr(), proto)]
}

// Capture returns the figures of all packets added. The Analyzer is then spent.
func (a *Analyzer) Capture() Capture {
	if a.c.Dropped > 0 {
		a.problem("%d packets were lost while capturing; use a larger ring, or capture fewer bytes of each packet",
			a.c.Dropped)
	}
	for _, c := range a.order {
		c.finish()
		if why := a.damage(&c.Call, protoTCP); why != "" {
			c.Call.blame(why)
			for i := range c.Requests {
				c.Requests[i].blame(why)
			}
		}
		c.refuseTimes()
		for i := range c.Requests {
			c.Requests[i].refuseTimes()
		}
		c.Seq = len(a.c.Connections) + 1
		a.c.Connections = append(a.c.Connections, c.Connection)
	}
	for _, e := range a.udp {
		e.finish()
		if why := a.damage(&e.Call, protoUDP); why != "" {
			e.blame(why)
		}
		e.refuseTimes()
		e.Seq = len(a.c.Exchanges) + 1
		a.c.Exchanges = append(a.c.Exchanges, *e)
	}
	return a.c
}
