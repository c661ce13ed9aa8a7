package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// Frames over loopback and over a link of the kernel's have an Ethernet header, those over a link of ours none: a
// report of both says so, as does one of another link than before, where whole frames were counted.
func TestReportsSayWhichFramesHaveAnEthernetHeader(t *testing.T) {
	const says = "bytes on the wire are not alike: each packet of "
	of := func(links, response string) *Report {
		w := exactly(func(map[string]string, int) float64 { return math.NaN() })
		w.exact = func(_ map[string]string, block int) []store.Result {
			v := 400 * wobble(block)
			return []store.Result{{Side: measure.Client, Response: response, Unit: "B", N: 100, Mean: v, SD: 1, Median: v,
				P95: v, Min: v, Max: v, Method: store.Measured}}
		}
		return reportOf(t, w.write(t, "study: s\nservice: monitor\nstack: a\nrequests: 100\nfactors: {path: ["+links+
			"]}\ndesign: {replications: 4, seed: 1}\n"))
	}
	const lo, ours, kernel = "{name: lo, link: none}", "{name: ours, link: {delay: 5ms}}",
		"{name: kernel, link: {delay: 5ms, shaper: netem}}"
	for _, tt := range []struct {
		what, links, response string
		says                  string // which have one, and which have none
	}{
		{"loopback and ours", lo + ", " + ours, "wire_bytes", "lo has 14 B of an Ethernet header in wire_bytes and " +
			"handshake_bytes, and none of ours,"},
		{"handshakes", ours + ", " + lo, "handshake_bytes", "lo has 14 B"},
		{"all three", lo + ", " + ours + ", " + kernel, "wire_bytes", "lo; kernel has 14 B"},
		{"loopback and the kernel's", lo + ", " + kernel, "wire_bytes", ""},
		{"ours alone", ours + `, {name: far, link: {delay: 9ms}}`, "wire_bytes", ""},
		{"bodies", lo + ", " + ours, "message_size", ""},
	} {
		r := of(tt.links, tt.response)
		said := strings.Join(r.Warnings, "\n")
		if strings.Contains(said, says) != (tt.says != "") || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %q", tt.what, said)
		}
		for _, e := range r.Effects {
			if told := strings.Contains(strings.Join(e.Warnings, "\n"), "Ethernet header"); told != (tt.says != "") {
				t.Errorf("%s: levels: %q", tt.what, e.Warnings)
			}
		}
	}
	for i, sends := range []bool{true, false} {
		_, notes, _, err := of(lo+", "+ours, "wire_bytes").traffic(i, "nb-iot", NoJoules, false)
		if err != nil || strings.Contains(strings.Join(notes, "\n"), "Ethernet header, which no radio sends") != sends {
			t.Errorf("forecast of treatment %d: %q, %v", i, notes, err)
		}
	}
	named := func(link string) string { return "{name: path, link: " + link + "}, {name: other, link: {delay: 1s}}" }
	for _, tt := range []struct {
		old, new, response string
		differ             bool
	}{
		{"none", "{delay: 5ms}", "wire_bytes", true}, {"{delay: 5ms}", "{delay: 5ms, shaper: netem}", "wire_bytes", true},
		{"{delay: 5ms}", "{delay: 9ms}", "wire_bytes", false}, {"none", "{delay: 5ms}", "message_size", false},
	} {
		old, new := of(named(tt.old), tt.response), of(named(tt.new), tt.response)
		said := strings.Join(SetupDifferences(old, new), "\n")
		if strings.Contains(said, "Ethernet header in wire_bytes and handshake_bytes: ") != tt.differ {
			t.Errorf("%s, then %s, %s: %q", tt.old, tt.new, tt.response, said)
		}
	}
}

// Energy that is modelled from frames contains that header, too, where they have one.
func TestReportsSayWhichEnergyIsModelledFromAnEthernetHeader(t *testing.T) {
	for _, tt := range []struct {
		links  string
		onWire float64
		says   string
	}{
		{"{name: lo, link: none}, {name: ours, link: {delay: 5ms}}", 1, "the energy of the client is modelled from bytes " +
			"that contain 14 B of an Ethernet header for each packet of lo, and none of ours:"},
		{"{name: lo, link: none}, {name: ours, link: {delay: 5ms}}", 0, ""}, // of bodies
		{"{name: near, link: {delay: 5ms}}, {name: ours, link: {delay: 9ms}}", 1, ""},
		{"{name: lo, link: none}, {name: kernel, link: {delay: 5ms, shaper: netem}}", 1, ""},
	} {
		w := exactly(func(map[string]string, int) float64 { return math.NaN() })
		w.exact = func(_ map[string]string, block int) []store.Result {
			v := 0.02 * wobble(block)
			return []store.Result{{Side: measure.Client, Response: "energy", Unit: "J", N: 1, Mean: v, Median: v, P95: v, Min: v,
				Max: v, Method: store.Modelled}}
		}
		w.quality = func(map[string]string, int) []store.Quality {
			return []store.Quality{{Key: "client_model_on_wire", Unit: "1", Value: tt.onWire}}
		}
		r := reportOf(t, w.write(t, "study: s\nservice: monitor\nstack: a\nrequests: 100\nfactors: {path: ["+tt.links+
			"]}\ndesign: {replications: 4, seed: 1}\n"))
		said := strings.Join(r.Warnings, "\n")
		if strings.Contains(said, "Ethernet header") != (tt.says != "") || !strings.Contains(said, tt.says) {
			t.Errorf("%s: %q, want %q", tt.links, said, tt.says)
		}
	}
}

// Packets may be sent again, but for those of UDP and of CoAP that is not confirmable; where nobody knows the transport
// they may be.
func TestSeriesKnowWhatIsSentAgain(t *testing.T) {
	r := reportOfRan(t, ran{"a", 1, []float64{1, 2, 3}})
	known := r.Treatments[0].setup
	for _, x := range []struct {
		setup *study.Setup
		want  bool
	}{
		{known, true},
		{nil, true},
		{&study.Setup{Transport: "udp"}, false},
		{&study.Setup{Transport: "coap"}, true},
		{&study.Setup{Transport: "coap", Options: map[string]string{"confirmable": "off"}}, false},
	} {
		r.Treatments[0].setup = x.setup
		if got := r.Series()[0].Resends; got != x.want {
			t.Errorf("%+v: %v", x.setup, got)
		}
	}
}
