package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// Messages so large that captured packets show each as several requests, or as none, are refused where packets are to
// give a figure: blocks of CoAP, what both say of themselves over TCP, and fragments. All others are not.
func TestMessagesThatPacketsDoNotShowAsOneRequest(t *testing.T) {
	b := bed(t)
	const echo = "service: echo\nsize: 10kB\nresponses: [rtt, wire_bytes]\n"
	const small = "service: echo\nsize: 1kB\nresponses: [wire_bytes]\n"
	const blocks = "go in blocks of at most 1024 B, and each block is an exchange; send less, or drop"
	for _, x := range []struct{ study, want string }{
		{echo + "stack: coap-json", "s.yaml:5:8: packets cannot give wire_bytes for reference/coap-json: its messages of 9952 B "},
		{echo + "stack: coap-json", blocks},
		{echo + "stack: coap-json\nsecurity: dtls-psk", blocks},
		{echo + "stack: coap-json\nsecurity: oscore\nlink: {delay: 1ms}", blocks},
		{"service: monitor\nn: 2000\nresponses: [packets]\nstack: coap-json", blocks},
		{small + "stack: coap-json", ""},
		{echo + "stack: coap-json\nleave_out: [wire_bytes]", ""},
		{echo + "stack: coap-json\ncapture: off", "captured packets"},
		{"service: echo\nsize: 10kB\nresponses: [rtt]\nstack: coap-json", ""},
		{echo + "stack: coap-tcp-cbor", "that go whole before the server has said what it takes"},
		{echo + "stack: coap-tcp-cbor\nconnection: per-request", "that go whole before"},
		{small + "stack: coap-tcp-cbor", ""},
		{echo + "stack: floor-udp", ""},
		{echo + "stack: floor-udp\nlink: wifi", "go in fragments, since link wifi has packets of at most 1500 B"},
		{small + "stack: floor-udp\nlink: wifi", ""},
		{echo + "stack: rest-json\nlink: wifi", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\n"+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.openLinks()
		a.seePackets()
		a.seeGiven()
		if got := fmt.Sprint(a.err()); (a.err() == nil) != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}
