package link

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// openByKernel leaves the shaping to the kernel: a veth pair, bare or with netem
// at both ends. It keeps no lateness, and netem's queue and loss are netem's: the
// queue holds delayed packets too, and a lost packet takes no time to send.
func openByKernel(l Link, client, server *os.File) (*line, error) {
	nl, err := netlink.NewHandleAt(netns.NsHandle(client.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, kernel.NetworkDenied("configure the namespace", err)
	}
	defer nl.Close()
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: Interface, MTU: l.mtu()}, PeerName: Interface,
		PeerNamespace: netlink.NsFd(server.Fd())}
	if err := nl.LinkAdd(pair); err != nil {
		return nil, kernel.NetworkDenied("create a veth pair", err)
	}
	for _, end := range []struct {
		ns          *os.File
		s           Shape
		mine, other Address
	}{{client, l.Up, ClientAddress, ServerAddress}, {server, l.Down, ServerAddress, ClientAddress}} {
		if err := configure(end.ns, end.mine, end.other, l.mtu()); err != nil {
			return nil, err
		}
		if l.Shaper == Bare {
			continue
		}
		if err := shapeByKernel(end.ns, end.s); err != nil {
			return nil, err
		}
	}
	if l.Shaper == Bare {
		return &line{client, server, func() (Report, error) { return Report{}, nil }}, nil
	}
	return &line{client, server, func() (Report, error) {
		up, err := countByKernel(client)
		down, err2 := countByKernel(server)
		return Report{Up: up, Down: down}, errors.Join(err, err2)
	}}, nil
}

const (
	ethernetHeader = 14                // B, of each packet on a veth
	mostByNetem    = 270 * time.Second // its ticks of 64 ns are counted in 32 bits
)

// netem are the kernel's words for a shape.
func (s Shape) netem() (netlink.NetemQdiscAttrs, error) {
	a := netlink.NetemQdiscAttrs{Latency: uint32(s.Delay / time.Microsecond), Loss: float32(100 * s.Loss),
		Limit: uint32(s.queue()), Rate64: uint64(s.Rate) / 8}
	if s.Rate == 0 {
		a.Limit = mostQueue // it holds delayed packets, too, and none waits
	}
	switch {
	case s.Burst > 0 || s.Overhead > 0 || s.Frame > 0 || s.DelayStdDev > 0:
		return a,
			errors.New("netem supports neither loss in bursts, nor overhead, nor delay_stddev (the spread of the kernel's " +
				"delay is not normal); remove them, or remove shaper: netem")
	case s.Delay > mostByNetem:
		return a, fmt.Errorf("netem cannot delay a packet by %v; write up to %v, or remove shaper: netem", s.Delay,
			mostByNetem)
	case s.Delay%time.Microsecond != 0:
		return a, fmt.Errorf("netem counts microseconds: a delay of %v is not a whole number of them; write one that is, or "+
			"remove shaper: netem", s.Delay)
	case s.Rate%8 != 0:
		return a, fmt.Errorf("netem counts bytes: %d bit/s is not a whole number of bytes per second; write one that is, or "+
			"remove shaper: netem", s.Rate)
	}
	return a, nil
}

// netemOptions are the attributes of a netem. Subtle: they are made by hand, since netlink's QdiscReplace
// cannot say that the Ethernet header takes no time on the line.
func netemOptions(a netlink.NetemQdiscAttrs) *nl.RtAttr {
	q := netlink.NewNetem(netlink.QdiscAttrs{}, a)
	opt := nl.TcNetemQopt{Latency: q.Latency, Limit: q.Limit, Loss: q.Loss}
	options := nl.NewRtAttr(nl.TCA_OPTIONS, opt.Serialize())
	if q.Rate64 == 0 {
		return options
	}
	rate := nl.TcNetemRate{Rate: uint32(min(q.Rate64, math.MaxUint32)), PacketOverhead: -ethernetHeader}
	if q.Rate64 > math.MaxUint32 {
		options.AddRtAttr(nl.TCA_NETEM_RATE64, nl.Uint64Attr(q.Rate64))
	}
	options.AddRtAttr(nl.TCA_NETEM_RATE, rate.Serialize())
	return options
}

func shapeByKernel(ns *os.File, s Shape) error {
	attrs, err := s.netem()
	if err != nil {
		return err
	}
	h, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	dev, err := h.LinkByName(Interface)
	if err != nil {
		return err
	}
	if err := h.LinkSetGSOMaxSegs(dev, 1); err != nil { // else one "packet" is up to 64 KB
		return err
	}
	req := nl.NewNetlinkRequest(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_REPLACE|unix.NLM_F_ACK)
	req.AddData(&nl.TcMsg{Family: nl.FAMILY_ALL, Ifindex: int32(dev.Attrs().Index), Parent: netlink.HANDLE_ROOT,
		Handle: netlink.MakeHandle(1, 0)})
	req.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("netem")))
	req.AddData(netemOptions(attrs))
	err = kernel.InNetwork(ns, func() error {
		_, err := req.Execute(unix.NETLINK_ROUTE, 0)
		return err
	})
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("this kernel has no netem: %w; load it with: modprobe sch_netem, or remove shaper: netem", err)
	}
	return err
}

func countByKernel(ns *os.File) (DirectionStats, error) {
	var q DirectionStats
	nl, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return q, err
	}
	defer nl.Close()
	dev, err := nl.LinkByName(Interface)
	if err != nil {
		return q, err
	}
	all, err := nl.QdiscList(dev)
	if err != nil {
		return q, err
	}
	for _, d := range all {
		if s := d.Attrs().Statistics; s != nil && s.Basic != nil && s.Queue != nil {
			// netem counts lost and dropped packets alike.
			q.Out, q.Dropped, q.Queued = int64(s.Basic.Packets), int64(s.Queue.Drops), int64(s.Queue.Qlen)
			q.Bytes = int64(s.Basic.Bytes) - ethernetHeader*q.Out // of IP packets, as the userspace link's
		}
	}
	q.In = q.Out + q.Dropped + q.Queued
	return q, nil
}
