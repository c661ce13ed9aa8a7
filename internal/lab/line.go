package lab

import (
	"context"
	"fmt"
	"os"

	"edgegauge/internal/device"
	"edgegauge/internal/instrument/packet"
	"edgegauge/internal/link"
	"edgegauge/internal/measure"
	"edgegauge/internal/store"
	"edgegauge/internal/study"
)

// LinkOf is the link of a treatment, from the profiles or from its own shape;
// false if it has none.
func LinkOf(s *study.Setup, profiles map[string]link.Link) (link.Link, bool) {
	if s.Link.Profile != "" {
		l, ok := profiles[s.Link.Profile]
		return l, ok
	}
	l := link.Link{Name: s.Link.Text, Up: shape(s.Link.Up), Down: shape(s.Link.Down), Shaper: link.Shaper(s.Link.Shaper)}
	return l, IsLinked(s)
}

// IsLinked says whether a treatment has a link.
func IsLinked(s *study.Setup) bool {
	return s.Link.Profile != "" || s.Link.Up != (study.Shape{}) || s.Link.Down != (study.Shape{})
}

func shape(s study.Shape) link.Shape {
	return link.Shape{Delay: s.Delay, DelayStdDev: s.DelayStdDev, Loss: s.Loss, Burst: float64(s.Burst), Rate: s.Rate, Queue: s.Queue, Reorder: s.Reorder}
}

// shapeLink makes the trial's link, if its treatment has one.
func (r *rig) shapeLink(ctx context.Context) error {
	l, ok := LinkOf(r.s, r.lab.Links)
	client, server := r.places[atClient], r.places[atServer]
	switch {
	case !ok && r.s.Link.Profile != "":
		return fmt.Errorf("%w: no link profile %q", errLab, r.s.Link.Profile)
	case !ok && client.network != nil && server.network != nil && client.away != server.away:
		l = link.Link{Name: "between two machines", Shaper: link.Bare} // they have no other way to each other
	case !ok:
		return nil
	}
	l.Seed = r.t.MessageSeed // the same losses for all treatments of a block
	var ends link.Ends
	if client.network != nil {
		ends.Client = client.network.Namespace
	}
	if server.network != nil {
		ends.Server = server.network.Namespace
	}
	var err error
	if r.line, err = link.Join(ctx, r.lab.Exe, l, ends); err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	return nil
}

// namespace is where a side's program runs if this machine runs it; nil: where
// the lab does. Without a link it is where the wire to the other side's machine ends.
func (r *rig) namespace(side measure.Side) *os.File {
	switch {
	case r.line != nil && side == measure.Client:
		return r.line.Client
	case r.line != nil:
		return r.line.Server
	}
	if n := r.wired(); n != nil {
		return n.Namespace
	}
	return nil
}

// wired is the wire to the side that has one; nil: none has.
func (r *rig) wired() *device.Network {
	if n := r.places[atServer].network; n != nil {
		return n
	}
	return r.places[atClient].network
}

// host is the address the server listens on.
func (r *rig) host(ctx context.Context) (string, error) {
	client, server := r.places[atClient], r.places[atServer]
	switch {
	case r.line == nil && client.away == server.away: // both on one machine
		return loopback(r.s.IP), nil
	case server.network != nil:
		return server.network.Device.Of(r.s.IP).String(), nil
	case r.line != nil:
		return device.Pair(link.ServerAddress).Of(r.s.IP).String(), nil
	case client.network != nil && server.away == nil:
		return client.network.Here.Of(r.s.IP).String(), nil
	}
	return r.between(ctx)
}

// tapped is the interface that sees what the client sends and receives.
func (r *rig) tapped(ctx context.Context) (string, error) {
	switch client, server := r.places[atClient], r.places[atServer]; {
	case r.line != nil:
		return link.Interface, nil
	case r.wired() != nil && client.away != server.away:
		return r.wired().Interface, nil
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

// record starts a capture where the client is.
func (r *rig) record(o packet.RecordOptions) (rec *packet.Recording, err error) {
	ns := r.namespace(measure.Client)
	if ns == nil {
		return packet.Start(o)
	}
	err = link.In(ns, func() (err error) { rec, err = packet.Start(o); return err })
	return rec, err
}

// readLink asks the link what became of the packets, once both programs have
// ended, keeps that, and says whether the trial can be trusted.
func (r *rig) readLink(ctx context.Context) error {
	if r.line == nil || r.line.Link.Shaper == link.Bare {
		return nil
	}
	report, err := r.line.Report(ctx)
	if err != nil {
		return err
	}
	for _, d := range []struct {
		name string
		q    link.Quality
	}{{"up", report.Up}, {"down", report.Down}} {
		for _, x := range []struct {
			key, unit string
			value     float64
		}{
			{"in", "1", float64(d.q.In)}, {"out", "1", float64(d.q.Out)}, {"lost", "1", float64(d.q.Lost)},
			{"dropped", "1", float64(d.q.Dropped)}, {"queued", "1", float64(d.q.Queued)}, {"bytes", "B", float64(d.q.Bytes)},
			{"late_p50", "s", d.q.Late.P50.Seconds()}, {"late_p99", "s", d.q.Late.P99.Seconds()}, {"late_max", "s", d.q.Late.Max.Seconds()},
			{"run_queue_wait", "s", d.q.Waiting.Seconds()},
		} {
			r.quality = append(r.quality, store.Quality{Key: "link_" + d.name + "_" + x.key, Unit: x.unit, Value: x.value})
		}
	}
	if fault := r.line.Link.Fault(report); fault != "" {
		return reason{fmt.Errorf("%s", fault)}
	}
	return nil
}
