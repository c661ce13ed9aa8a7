package report

import (
	"math"
	"slices"
	"strings"
)

// A reportWait is how long reports wait over a link, and what that rests on.
type reportWait struct {
	took  map[int]float64 // s until the last byte of the answer, connecting included, by trial; empty: not measured
	notes []string
	open  string // reports connect, and the wait leaves that out: what to do about it; empty: it does not
}

// waits is how long the reports of a treatment wait, by what perTrial has measured over the radio's link. stated says
// that the user has stated the wait that is taken where none is measured.
func (r *Report) waits(treatment int, radio string, stated bool, perTrial func(string) map[int]float64) reportWait {
	s := r.Treatments[treatment].setup
	if s == nil {
		return reportWait{}
	}
	bare := r.connectionless(r.Treatments[treatment])
	connects := s.Connection == "per-request" && !bare
	over := s.Link.Text == radio
	var w reportWait
	switch {
	case over && connects:
		w.connecting(perTrial)
	case over:
		if w.took = perTrial("rtt"); s.Connection == "per-request" { // a socket is opened
			opening := perTrial("connection")
			for trial := range w.took {
				w.took[trial] += opening[trial]
			}
		}
		if len(w.took) > 0 {
			w.say("waiting: the exchange as measured over this link, less the time of sending and receiving")
		} else {
			w.say("waiting: radio.wait, since rtt was not measured (add it to the study's responses)")
		}
	case connects && !stated:
		w.open = leftOut + ", since nothing was measured over " + radio + ": run the study over " +
			"that link, with connection and rtt among its responses, or state a wait that includes connecting with --set " +
			"radio.wait=…" + atMost
	}
	if text := r.notInBytes(treatment); text != "" {
		w.say(text + ". For a device that connects for each report, measure connection: per-request")
	}
	return w
}

// notInBytes says what devices send besides the measured bytes of a request, where the connection was kept open; empty:
// nothing.
func (r *Report) notInBytes(treatment int) string {
	s := r.Treatments[treatment].setup
	if s == nil || s.Connection == "" || s.Connection == "per-request" || r.connectionless(r.Treatments[treatment]) {
		return ""
	}
	text := keptOpen
	if s.Population.Devices == 0 {
		text += ", nor what keeps it open from one report to the next, such as MQTT's pings"
		if s.Rate == 0 {
			text += ", nor the acknowledgement of an answer (52 B over TCP): here the next request carried it, and a rate " +
				"with time between requests counts it"
		}
	}
	return text
}

// atMost says what a life is worth that leaves connecting out.
const atMost = ". The life is at most this, and ranks behind those that include connecting"

func (w *reportWait) say(note string) { w.notes = append(w.notes, note) }

// connecting is the wait of reports that connect, by trial: connection and RTT, or else the total time, which has both
// in it, less what the device itself does before and after them.
func (w *reportWait) connecting(perTrial func(string) map[int]float64) {
	rtt, opening, total := perTrial("rtt"), perTrial("connection"), perTrial("total_time")
	before, after := perTrial("serialization"), perTrial("deserialization")
	w.took = rtt
	for trial := range total {
		if _, ok := rtt[trial]; !ok {
			w.took[trial] = math.NaN()
		}
	}
	parts, whole, lacks := false, false, len(w.took) == 0
	for trial, exchange := range w.took {
		open, connected := opening[trial]
		all, ok := total[trial]
		switch {
		case connected && !math.IsNaN(exchange):
			parts = true
			w.took[trial] = exchange + open
		case ok:
			whole = true
			w.took[trial] = max(0, all-before[trial]-after[trial])
		default:
			lacks = true
		}
	}
	const less = "less the time of sending and receiving"
	if parts {
		w.say("waiting: connecting and the exchange as measured over this link, " + less)
	}
	if whole {
		w.say("waiting: total_time as measured over this link, which includes connecting, " + less + ownWork(before, after))
	}
	if lacks && len(w.took) > 0 {
		w.say("waiting: the exchange as measured over this link, " + less)
	}
	if lacks {
		w.open = leftOut + ", since neither connection nor total_time was measured: add connection " +
			"and rtt to the study's responses and run it again" + atMost
	}
}

// ownWork says what becomes of the device's own work in a total time.
func ownWork(before, after map[int]float64) string {
	var lacking []string
	for _, x := range []struct {
		name string
		of   map[int]float64
	}{{"serialization", before}, {"deserialization", after}} {
		if len(x.of) == 0 {
			lacking = append(lacking, x.name)
		}
	}
	if len(lacking) == 0 {
		return ", serializing and deserializing"
	}
	return "; the device's own " + strings.Join(lacking, " and ") + ", not measured, is still in it"
}

// connectionless says whether a request is a datagram without a handshake. Where the study leaves the transport open,
// it is the first of the stack's.
func (r *Report) connectionless(t Treatment) bool {
	s := t.setup
	transport := s.Transport
	if all := r.stackFacts(t.Stack).Transports; transport == "" && len(all) > 0 {
		transport = all[0]
	}
	datagrams := slices.Contains([]string{"coap", "coap-draft", "udp"}, transport)
	if s.URL != "" {
		scheme, _, _ := strings.Cut(s.URL, ":")
		datagrams = scheme == "coap" || scheme == "udp"
	}
	return datagrams && !strings.HasPrefix(s.Security, "dtls")
}
