package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// What packets give behind a link only is refused without one, and the advice costs no figure of a linked treatment.
func TestRefusedFiguresOfPacketsAdviseWhatHelps(t *testing.T) {
	b := bed(t)
	const linked = "behind a link, those of the whole run give wire_bytes, packets;"
	for _, x := range []struct{ study, want, not string }{
		{"stack: mqtt\nfactors: {link: [none, lte-m]}", linked, ""},
		{"stack: mqtt\nfactors: {link: [none, lte-m]}",
			"s.yaml:5:18: packets cannot give wire_bytes, packets for reference/mqtt", ""},
		{"stack: mqtt\nfactors: {link: [none, lte-m]}",
			"or give this level leave_out: [wire_bytes, packets], or exclude: [{link: none}]", ""},
		{"factors: {stack: [rest-json, mqtt], link: [none, lte-m]}",
			"or exclude: [{link: none, stack: mqtt}]", "exclude: [{stack: mqtt}]"},
		// to leave them out of the level mqtt would cost those of mqtt behind a link
		{"factors: {stack: [rest-json, mqtt], link: [none, lte-m]}",
			"with edgegauge packets, or exclude: [{link: none, stack: mqtt}]", "leave_out"},
		{"factors: {stack: [rest-json, mqtt], connection: [keep-alive, per-request]}",
			"with edgegauge packets, or exclude: [{stack: mqtt, connection: keep-alive}]", "leave_out"},
		{"factors: {stack: [rest-json, {name: far, stack: mqtt, link: lte-m}, {name: near, stack: mqtt}]}",
			"or give this level leave_out: [wire_bytes, packets], or exclude: [{stack: near}]", ""},
		{"factors: {stack: [rest-json, mqtt]}",
			"or give this level leave_out: [wire_bytes, packets], or exclude: [{stack: mqtt}]", ""},
		{"stack: mqtt\npackets: keep", "drop these responses and read what packets: keep keeps with edgegauge packets, or give",
			"write packets: keep"},
		{"stack: mqtt\nlink: lte-m", "<nil>", ""},
		{"stack: mqtt\nresponses: [handshake_bytes]", "packets cannot give handshake_bytes", "behind a link"},
	} {
		if !strings.Contains(x.study, "responses") {
			x.study += "\nresponses: [wire_bytes, packets]"
		}
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nrequests: 3\n"+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.seePackets()
		if got := fmt.Sprint(a.err()); !strings.Contains(got, x.want) || x.not != "" && strings.Contains(got, x.not) {
			t.Errorf("%s: got %s, want %s, without %s", x.study, got, x.want, x.not)
		}
	}
}
