package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"edgegauge/internal/instrument/packet"
	"edgegauge/internal/measure"
	"edgegauge/internal/stat"
	"edgegauge/internal/store"
	"edgegauge/internal/study"
)

// A wire is a trial's packets while they are captured.
type wire struct {
	recording *packet.Recording
	keep      io.WriteCloser
}

// wirePackets are the asked responses that packets give; nil where none is
// asked and no packets are to be kept.
func wireQuantities(s study.Study) []measure.Quantity {
	var out []measure.Quantity
	for _, w := range s.Responses {
		if r, ok := measure.FindResponse(w.Text); ok && r.Packets {
			out = append(out, r.Quantity)
		}
	}
	return out
}

// NeedsPackets says whether a study makes the lab capture packets.
func NeedsPackets(s study.Study) bool { return s.Packets || len(wireQuantities(s)) > 0 }

// listen captures the server's port from before the client connects.
func (r *rig) listen(ctx context.Context) error {
	if !NeedsPackets(r.lab.Plan.Study) {
		return nil
	}
	u, err := url.Parse(r.url)
	if err != nil {
		return err
	}
	if reason := r.overlaps(); reason != "" && len(wireQuantities(r.lab.Plan.Study)) > 0 {
		return fmt.Errorf("%w: no figure of packets for %s: %s; drop these responses for it, or keep the packets and read them with edgegauge packets",
			errLab, r.s.Server.Stack, reason)
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return fmt.Errorf("the server's URL %s has no port to capture", r.url)
	}
	tapped, err := r.tapped(ctx)
	if err != nil {
		return fmt.Errorf("capture packets: %w", err)
	}
	o := packet.RecordOptions{Tap: packet.TapOptions{Interface: tapped, Ports: []uint16{uint16(port)}}}
	if u.Scheme == "udp" {
		o.Application = packet.Datagrams
	}
	w := &wire{}
	if r.lab.Plan.Study.Packets {
		if w.keep, err = r.attempt.Packets(tapped); err != nil {
			return fmt.Errorf("%w: %w", errLab, err)
		}
		o.Keep = w.keep
	}
	if w.recording, err = r.record(o); err != nil {
		return fmt.Errorf("%w: capture packets: %w", errLab, err)
	}
	r.wire = w
	return nil
}

// overlaps says why requests on the wire are not told apart; empty if they are.
func (r *rig) overlaps() string {
	switch {
	case r.s.Transport == "http3":
		return "QUIC hides where a request begins and ends"
	case strings.HasPrefix(r.s.Transport, "mqtt") && r.s.Connection != "per-request":
		return "on a connection kept alive, a broker's acknowledgements and messages do not take turns with the client's"
	case r.s.Transport == "dpws":
		return "a client reads the device's description on the same port"
	case r.s.Connection == "pipelined" || r.s.Connection == "multiplexed":
		return "requests on one connection overlap"
	}
	return ""
}

// wireUnit is what counts as one request on the wire.
func (r *rig) wireUnit(scheme string) packet.Unit {
	switch {
	case scheme == "coap" || scheme == "coaps" || scheme == "udp":
		return packet.PerExchange
	case r.s.Connection == "per-request":
		return packet.PerConnection
	}
	return packet.PerRequest
}

// readWire ends the capture, once both programs have closed their connections,
// and adds its figures: one for each recorded request, or the trial is invalid.
func (r *rig) readWire(context.Context) error {
	if r.wire == nil {
		return nil
	}
	w := r.wire
	r.wire = nil
	capture, quality, err := w.recording.Stop()
	if w.keep != nil {
		err = errors.Join(err, w.keep.Close())
	}
	if err == nil {
		err = quality.Err()
	}
	r.quality = append(r.quality, store.Quality{Key: "packets", Unit: "1", Value: float64(quality.Packets)},
		store.Quality{Key: "packets_dropped", Unit: "1", Value: float64(quality.Drops)})
	if err != nil {
		return fmt.Errorf("capture packets: %w", err)
	}
	wanted := wireQuantities(r.lab.Plan.Study)
	if len(wanted) == 0 {
		return nil
	}
	u, _ := url.Parse(r.url)
	samples, err := capture.Samples(packet.Selection{
		Unit: r.wireUnit(u.Scheme), Skip: r.warmed, Count: r.tally[atClient].n, Quantities: wanted, Failed: r.tally[atClient].lost,
	})
	if err != nil {
		return err
	}
	return r.keepWire(samples, wanted)
}

// keepWire stores the samples and adds their figures.
func (r *rig) keepWire(samples []measure.Sample, wanted []measure.Quantity) error {
	w, err := r.attempt.Samples(store.Source{Side: measure.Client, Instrument: "packet", Method: store.Measured})
	if err == nil {
		err = errors.Join(w.Append(samples), w.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errLab, err)
	}
	for _, q := range wanted {
		var values []float64
		for _, s := range samples {
			if s.Quantity == q {
				values = append(values, s.Value)
			}
		}
		in, err := stat.WithinTrial(values)
		if err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
		if q.Name == "wire_bytes" {
			if reason := r.fits(in); reason != "" {
				return errors.New(reason)
			}
		}
		r.results = append(r.results, store.Result{Side: measure.Client, Response: q.Name, Unit: q.Unit, N: int64(in.N), Method: store.Measured,
			Mean: in.Mean, SD: in.SD, Median: in.Median, P95: in.P95, Min: in.Min, Max: in.Max})
	}
	return nil
}

// fits: bodies are part of what was on the wire, unless they were compressed.
func (r *rig) fits(onWire stat.Within) string {
	t := r.tally[atClient]
	if t.failed > 0 {
		return "" // their bodies are counted, their packets are not
	}
	bodies := float64(t.out + t.in)
	if total := onWire.Mean * float64(onWire.N); total < bodies && !slices.Contains([]string{"gzip"}, r.s.Options["coding"]) {
		return fmt.Sprintf("bodies of %.0f B in %.0f B on the wire", bodies, total)
	}
	return ""
}

// deaf ends a capture that nobody will read.
func (w *wire) deaf() {
	w.recording.Stop()
	if w.keep != nil {
		w.keep.Close()
	}
}
