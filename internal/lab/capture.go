package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/packet"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A capture is a trial's packets at the client, where the study asks for them.
type capture struct {
	task
	attempt      *store.Attempt
	places       *placement
	link         *linked
	programs     *programs
	conversation *conversation
	records      *records

	server    *url.URL
	recording *packet.Recording // nil: none runs
	total     bool              // bytes are counted over the whole run, not for each request
	keep      io.WriteCloser    // nil: packets are not kept
	onWire    int64             // B of the run's packets, both ways; 0: not captured
}

// packetQuantities are the asked responses that packets give, of a study or of one of
// its treatments, if that is not nil; nil where none is asked.
func packetQuantities(of study.Study, s *study.Setup) []measure.Quantity {
	var out []measure.Quantity
	for _, w := range of.Responses {
		r, ok := measure.FindResponse(w.Text)
		if ok && r.Packets && (s == nil || !s.LeavesOut(string(measure.Client), w.Text)) {
			out = append(out, r.Quantity)
		}
	}
	return out
}

// NeedsPackets says whether a study makes the lab capture packets.
func NeedsPackets(s study.Study) bool { return s.Packets || len(packetQuantities(s, nil)) > 0 }

// Captured says whether the packets of a treatment are captured where a study needs them.
func Captured(s *study.Setup) bool { return s.Capture != "off" && !s.Joint() }

// before captures the server's port from before the client connects.
func (c *capture) before(ctx context.Context) error {
	t := &c.task
	if !NeedsPackets(t.lab.Plan.Study) || !Captured(t.setup) {
		return nil
	}
	if wanted := packetQuantities(t.lab.Plan.Study, t.setup); populated(t.setup) && len(wanted) == 0 &&
		!t.lab.Plan.Study.Packets {
		return nil // those of a million devices for nothing
	}
	u, err := url.Parse(c.programs.url())
	if err != nil {
		return err
	}
	c.server, c.total = u, InTotal(t.setup, t.lab.Plan.Study)
	for _, q := range packetQuantities(t.lab.Plan.Study, t.setup) {
		if reason := Lacks(t.setup, q.Name); reason != "" && !c.total {
			return fmt.Errorf("%w: packets cannot give %s: %s", errLab, q.Name, reason)
		}
	}
	port, err := portOf(u)
	if err != nil {
		return err
	}
	tapped, err := c.link.tapped(ctx)
	if err != nil {
		return fmt.Errorf("capture packets: %w", err)
	}
	o := packet.RecordOptions{Tap: packet.TapOptions{Interface: tapped, Ports: []uint16{port}}}
	if u.Scheme == "udp" {
		o.Application = packet.Datagrams
	}
	o.Sizes = c.total
	if t.lab.Plan.Study.Packets {
		if c.keep, err = c.attempt.Packets(tapped); err != nil {
			return labFault(err)
		}
		o.Keep = c.keep
	}
	if c.recording, err = c.link.capture(o); err != nil {
		return fmt.Errorf("%w: capture packets: %w", errLab, err)
	}
	return nil
}

// Overlaps says why the requests of a treatment cannot be told apart in captured
// packets; empty: they can.
func Overlaps(s *study.Setup) string {
	switch {
	case s.Transport == "http3":
		return "QUIC hides where a request begins and ends"
	case strings.HasPrefix(s.Transport, "mqtt") && s.Connection != "per-request":
		return "on a kept-alive connection, the broker's acknowledgements and messages interleave with the client's"
	case (s.Transport == "http2" || s.Transport == "grpc") && s.Security != "none" && s.Security != "" &&
		s.Connection == "keep-alive":
		return "TLS hides which of HTTP/2's frames on a kept-alive connection are requests"
	case s.Transport == "dpws":
		return "clients also read the device's description on the same port"
	case s.Connection == "pipelined" || s.Connection == "multiplexed":
		return "requests on one connection overlap"
	}
	return ""
}

// Lacks says why captured packets cannot give a response of a treatment; empty: they can.
func Lacks(s *study.Setup, response string) string {
	if why := Overlaps(s); why != "" {
		return why
	}
	switch response {
	case packet.Retransmissions.Name:
		if overUDP(s) && strings.HasPrefix(s.Security, "dtls") {
			return "DTLS encrypts anew what is sent again"
		}
		return ""
	case packet.HandshakeBytes.Name, packet.HandshakeTime.Name:
	case packet.Jitter.Name, packet.JitterRFC3550.Name:
		if s.Requests == 1 && s.MinDuration == 0 || onlyOne(s) {
			return "jitter takes two requests"
		}
		return ""
	default:
		return ""
	}
	switch {
	case overUDP(s) && !strings.HasPrefix(s.Security, "dtls"):
		return "UDP without DTLS has no handshake"
	case s.Connection != "per-request":
		return "the handshake of a kept-alive connection is over before the first measured request; write connection: " +
			"per-request"
	}
	return ""
}

// onlyOne says whether one request alone is due in a trial: at a constant rate the first is due at once.
func onlyOne(s *study.Setup) bool {
	return s.Rate > 0 && s.Duration > 0 && s.Arrival != "poisson" && s.Rate*s.Duration.Seconds() <= 1
}

// overUDP says whether requests are datagrams; HTTP/3 is none of them.
func overUDP(s *study.Setup) bool {
	if s.URL != "" {
		scheme, _, _ := strings.Cut(s.URL, ":")
		return scheme == "coap" || scheme == "udp"
	}
	return s.Transport == "coap" || s.Transport == "coap-draft" || s.Transport == "udp"
}

// InTotal says whether the packets of a treatment whose requests cannot be told apart
// give all that the study asks nevertheless: bytes, packets and retransmissions of the
// whole run, shared equally by its requests. Behind a link the client's packets are alone.
func InTotal(s *study.Setup, of study.Study) bool {
	for _, q := range packetQuantities(of, s) {
		if !SumGives(s, q.Name) {
			return false
		}
	}
	return IsLinked(s) && Overlaps(s) != ""
}

// SumGives says whether packets of a whole run give a response of such a treatment.
func SumGives(s *study.Setup, response string) bool {
	return IsLinked(s) && SumGivesLinked(s, response)
}

// SumGivesLinked says the same of the treatment as it would be behind a link.
func SumGivesLinked(s *study.Setup, response string) bool {
	if Overlaps(s) == "" {
		return false
	}
	switch response {
	case packet.WireBytes.Name, packet.Packets.Name:
		return true
	case packet.Retransmissions.Name:
		return s.Transport != "http3" // QUIC encrypts its packet numbers
	}
	return false
}

// addTotal gives what was on the wire of a request: that of the run over its requests.
func (c *capture) addTotal(captured packet.Capture, f *findings) error {
	if len(captured.Problems) > 0 {
		return fmt.Errorf("packet capture: %s", captured.Problems[0])
	}
	n := c.records.sides[atClient].n
	run := captured.Between(c.conversation.run.Began, c.conversation.run.Ended)
	if n == 0 || run.Bytes == 0 {
		return errors.New("packet capture: no packet was seen in the recorded run")
	}
	if run.Refusal != "" {
		return fmt.Errorf("packet capture: %s", run.Refusal)
	}
	for _, q := range packetQuantities(c.lab.Plan.Study, c.setup) {
		sum := run.Bytes
		switch q {
		case packet.WireBytes:
			c.onWire = sum
		case packet.Packets:
			sum = run.Packets
		case packet.Retransmissions:
			sum = run.Retransmissions
		}
		f.one(measure.Client, q.Name, float64(sum)/float64(n))
	}
	return nil
}

// OnWire is what counts as one request of a treatment in captured packets, where the
// server's URL has that scheme.
func OnWire(s *study.Setup, scheme string) packet.Unit {
	switch {
	case scheme == "coap" || scheme == "coaps" || scheme == "udp":
		return packet.PerExchange
	case s.Connection == "per-request":
		return packet.PerConnection
	}
	return packet.PerRequest
}

// after ends the capture, once both programs have closed their connections, and
// gives its figures: one for each recorded request, or the trial is invalid.
func (c *capture) after(ctx context.Context) (f findings, err error) {
	if c.recording == nil {
		return f, nil
	}
	c.closing(ctx)
	captured, quality, err := c.stop()
	err = cmp.Or(quality.Err(), err) // packets that are lost or out of order have other faults as well
	f.note("packets", "1", float64(quality.Packets))
	f.note("packets_dropped", "1", float64(quality.Drops))
	if err != nil {
		return f, fmt.Errorf("capture packets: %w", err)
	}
	wanted := packetQuantities(c.lab.Plan.Study, c.setup)
	if len(wanted) == 0 {
		return f, nil
	}
	if c.total {
		return f, c.addTotal(captured, &f)
	}
	samples, err := captured.Samples(c.selection(wanted))
	if err != nil {
		return f, err
	}
	if err := c.contradicted(captured); err != nil {
		return f, err
	}
	c.noteOnWire(captured, wanted)
	err = c.keepSamples(samples, wanted, &f)
	return f, err
}

// closing waits until connections that count as a whole are closed. Programs end as soon as
// their kernel has taken the last FIN; behind a slow link it is then still under way, and
// where it is lost, the kernel sends it again.
func (c *capture) closing(ctx context.Context) {
	const patience = 15 * time.Second // a FIN that is lost twice, on a link of seconds
	l, linked := c.task.link()
	if !linked || c.setup.Connection != "per-request" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience+4*(l.Up.Delay+l.Down.Delay))
	defer cancel()
	for c.recording.Open() > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// selection is the recorded run's part of the capture.
func (c *capture) selection(wanted []measure.Quantity) packet.Selection {
	t := &c.task
	client := &c.records.sides[atClient]
	return packet.Selection{Unit: OnWire(t.setup, c.server.Scheme), Skip: c.conversation.warmUp.Client, Count: client.n,
		Quantities: wanted, Failed: client.lost,
		Whole: t.setup.Connection == "per-request"}
}

// contradicted says how the client's clock contradicts the packets: an exchange
// takes no less time at the client than on the wire beside it. A client that sees
// no total time (hooks off) is taken by its RTT, but not where connecting counts.
func (c *capture) contradicted(captured packet.Capture) error {
	if c.places.at[atClient].network != nil {
		return nil // an emulated machine's clock is its own: a counted or a slowed one runs behind the wire's
	}
	client := &c.records.sides[atClient]
	s := c.selection([]measure.Quantity{packet.DelayToData})
	said, what := client.busy, "round trips"
	if s.Unit == packet.PerConnection {
		said, what = client.whole, "total times"
	}
	samples, err := captured.Samples(s)
	if err != nil || len(samples) == 0 || said == 0 {
		return nil // another check says what is missing
	}
	var onWire float64
	for _, x := range samples {
		onWire += x.Value
	}
	n := float64(len(samples))
	return clockFault(what, time.Duration(float64(said)/n), time.Duration(onWire/n*float64(time.Second)))
}

// clockFault compares means of the same exchanges. What a client may lack of the
// wire's is bounded generously, since the tap's stamps and its clock are read at
// different places: an honest client has more, one that halves its times has half.
func clockFault(what string, said, onWire time.Duration) error {
	const least, slack = 0.75, 100 * time.Microsecond
	if float64(said+slack) >= least*float64(onWire) || said >= onWire-slack {
		return nil
	}
	return fmt.Errorf("the client's clock contradicts the packets: its %s have a mean of %v, but from a request's "+
		"first packet to the answer's last data it took %v",
		what, said, onWire)
}

// noteOnWire notes what a model of energy takes: the bytes of all requests, as its CPU time
// is that of all. Those of requests that failed are in no sample.
func (c *capture) noteOnWire(captured packet.Capture, wanted []measure.Quantity) {
	if slices.Contains(wanted, packet.WireBytes) {
		c.onWire = captured.OnWire(c.selection(wanted))
	}
}

// keepSamples stores the samples and adds their figures.
func (c *capture) keepSamples(samples []measure.Sample, wanted []measure.Quantity, f *findings) error {
	w, err := c.attempt.Samples(store.Source{Side: measure.Client, Instrument: "packet", Method: store.Measured})
	if err == nil {
		err = errors.Join(w.Append(samples), w.Close())
	}
	if err != nil {
		return labFault(err)
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
			if reason := c.tooFew(in); reason != "" {
				return errors.New(reason)
			}
		}
		f.results = append(f.results, store.Result{Side: measure.Client, Response: q.Name, Unit: q.Unit, N: int64(in.N),
			Method: store.Measured,
			Mean:   in.Mean, SD: in.SD, Median: in.Median, P95: in.P95, Min: in.Min, Max: in.Max})
	}
	return nil
}

// tooFew: bodies are part of what was on the wire, unless they were compressed.
func (c *capture) tooFew(onWire stat.Within) string {
	t := &c.records.sides[atClient]
	if t.failed > 0 {
		return "" // their bodies are counted, their packets are not
	}
	bodies := float64(t.out + t.in)
	if total := onWire.Mean * float64(onWire.N); total < bodies && c.setup.Options["coding"] != "gzip" {
		return fmt.Sprintf("bodies of %.0f B in %.0f B on the wire", bodies, total)
	}
	return ""
}

// stop ends the capture, once.
func (c *capture) stop() (packet.Capture, packet.CaptureStats, error) {
	captured, quality, err := c.recording.Stop()
	c.recording = nil
	if c.keep != nil {
		err = errors.Join(err, c.keep.Close())
		c.keep = nil
	}
	return captured, quality, err
}

// close ends a capture that nobody will read.
func (c *capture) close() {
	switch {
	case c.recording != nil:
		c.stop()
	case c.keep != nil:
		c.keep.Close()
	}
}
