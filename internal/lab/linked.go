package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"edgegauge.example/edgegauge/internal/device"
	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/study"
)

// LinkOf is the link of a treatment, from the profiles or from its own shape;
// false if it has none.
func LinkOf(s *study.Setup, profiles map[string]link.Link) (link.Link, bool) {
	if s.Link.Profile != "" {
		l, ok := profiles[s.Link.Profile]
		if s.Link.Replaced != "" {
			l.Name = s.Link.Text
			replace(&l, s.Link)
		}
		return l, ok
	}
	l := link.Link{Name: s.Link.Text, Up: shape(s.Link.Up), Down: shape(s.Link.Down), Shaper: link.Shaper(s.Link.Shaper)}
	return l, IsLinked(s)
}

// IsLinked says whether a treatment has a link.
func IsLinked(s *study.Setup) bool {
	return s.Link.Profile != "" || s.Link.Up != (study.Shape{}) || s.Link.Down != (study.Shape{})
}

// replace gives l what a study has in place of the profile's own.
func replace(l *link.Link, s study.Link) {
	if s.Shaper != "" {
		l.Shaper = link.Shaper(s.Shaper)
	}
	up, down := shape(s.Up), shape(s.Down)
	for key := range strings.FieldsSeq(s.Replaced) {
		switch side, own, one := strings.Cut(key, "."); {
		case !one:
			l.Up.Replace(key, up)
			l.Down.Replace(key, down)
		case side == "up":
			l.Up.Replace(own, up)
		default:
			l.Down.Replace(own, down)
		}
	}
}

func shape(s study.Shape) link.Shape {
	return link.Shape{Delay: s.Delay, DelayStdDev: s.DelayStdDev, Loss: s.Loss, Burst: float64(s.Burst), Rate: s.Rate,
		Queue: s.Queue, Reorder: s.Reorder}
}

// linked is the link between a trial's two programs, if its treatment has one.
type linked struct {
	task
	places *placement
	line   *link.Line // nil: the treatment has no link
}

// before makes the trial's link, if its treatment has one.
func (l *linked) before(ctx context.Context) error {
	t := &l.task
	if populated(t.setup) {
		return nil // its devices have a link each, in the driver
	}
	shape, ok := t.link()
	client, server := l.places.at[atClient], l.places.at[atServer]
	switch {
	case !ok && t.setup.Link.Profile != "":
		return fmt.Errorf("%w: no link profile %q", errLab, t.setup.Link.Profile)
	case !ok && client.network != nil && server.network != nil && client.away != server.away:
		shape = link.Link{Name: "between two machines", Shaper: link.Bare} // they have no other way to each other
	case !ok:
		return nil
	}
	shape.Seed = t.plan.MessageSeed // the same losses for all treatments of a block
	var ends link.Ends
	if client.network != nil {
		ends.Client = client.network.Namespace
	}
	if server.network != nil {
		ends.Server = server.network.Namespace
	}
	var err error
	l.line, err = link.Join(ctx, t.lab.Exe, shape, ends)
	if ctx.Err() != nil { // interrupted: no fault of the lab's
		return errors.Join(err, context.Cause(ctx))
	}
	return labFault(err)
}

// namespace is where a side's program runs if this machine runs it; nil: where
// the lab does. Without a link it is where the interface to the other side's machine is.
func (l *linked) namespace(side int) *os.File {
	switch {
	case l.line != nil && side == atClient:
		return l.line.Client
	case l.line != nil:
		return l.line.Server
	}
	if n := l.network(); n != nil {
		return n.Namespace
	}
	return nil
}

// environment is what programs behind the link are told besides. What a program hands the kernel as many datagrams at
// once (udp(7), UDP_SEGMENT), netem delays and loses as one packet. LinkSetGSOMaxSegs keeps only TCP from that; of what
// does it, quic-go can be told.
func (l *linked) environment() []string {
	if l.line == nil || l.line.Link.Shaper != link.Netem {
		return nil
	}
	return []string{"QUIC_GO_DISABLE_GSO=true"}
}

// network is the interface to the side that has one; nil: none has.
func (l *linked) network() *device.Network {
	if n := l.places.at[atServer].network; n != nil {
		return n
	}
	return l.places.at[atClient].network
}

// host is the address the server listens on.
func (l *linked) host(ctx context.Context) (string, error) {
	client, server, ip := l.places.at[atClient], l.places.at[atServer], l.setup.IP
	switch {
	case l.setup.Joint() && server.away == nil:
		return l.addressFor(ip)
	case l.line == nil && l.places.sameMachine():
		return Loopback(ip), nil
	case server.network != nil:
		return server.network.Device.Of(ip).String(), nil
	case l.line != nil:
		return device.Pair(link.ServerAddress).Of(ip).String(), nil
	case client.network != nil && server.away == nil:
		return client.network.Here.Of(ip).String(), nil
	}
	return l.places.between(ctx)
}

// tapped is the interface that sees what the client sends and receives.
func (l *linked) tapped(ctx context.Context) (string, error) {
	switch server := l.places.at[atServer]; {
	case existing(l.setup):
		return towards(ctx, l.setup.URL)
	case l.line != nil:
		return link.Interface, nil
	case l.network() != nil && !l.places.sameMachine():
		return l.network().Interface, nil
	case server.away == nil:
		return "lo", nil
	default:
		_, here, err := server.away.Addresses(ctx)
		if err != nil {
			return "", err
		}
		return interfaceOf(here)
	}
}

// capture starts a capture where the client is.
func (l *linked) capture(o packet.RecordOptions) (rec *packet.Recording, err error) {
	ns := l.namespace(atClient)
	if ns == nil {
		return packet.Start(o)
	}
	err = kernel.InNetwork(ns, func() (err error) { rec, err = packet.Start(o); return err })
	return rec, err
}

// lossy says whether the treatment's link loses packets.
func (l *linked) lossy() bool {
	s := l.setup.Link
	return s.Up.Loss > 0 || s.Down.Loss > 0 || l.line != nil && (l.line.Link.Up.Loss > 0 || l.line.Link.Down.Loss > 0)
}

// after asks the link what became of the packets, once both programs have ended,
// and says whether the trial can be trusted.
func (l *linked) after(ctx context.Context) (f findings, err error) {
	if l.line == nil || l.line.Link.Shaper == link.Bare {
		return f, nil
	}
	report, err := l.line.Report(ctx)
	if err != nil {
		return f, err
	}
	for _, d := range []struct {
		name string
		q    link.DirectionStats
	}{{"up", report.Up}, {"down", report.Down}} {
		for _, x := range []struct {
			key, unit string
			value     float64
		}{
			{"in", "1", float64(d.q.In)}, {"out", "1", float64(d.q.Out)}, {"lost", "1", float64(d.q.Lost)},
			{"dropped", "1", float64(d.q.Dropped)}, {"queued", "1", float64(d.q.Queued)}, {"bytes", "B", float64(d.q.Bytes)},
			{"late_p50", "s", d.q.Late.P50.Seconds()}, {"late_p99", "s", d.q.Late.P99.Seconds()},
			{"late_max", "s", d.q.Late.Max.Seconds()},
			{"run_queue_wait", "s", d.q.Waiting.Seconds()},
		} {
			f.note("link_"+d.name+"_"+x.key, x.unit, x.value)
		}
	}
	if fault := l.line.Link.Fault(report); fault != "" {
		return f, reason{errors.New(fault)}
	}
	return f, nil
}

func (l *linked) close() {
	if l.line != nil {
		l.line.Close()
	}
}
