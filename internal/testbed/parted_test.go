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

// A message, or an answer, of exactly one block goes whole, and one byte more does not.
func TestAMessageOfOneBlockIsOneRequest(t *testing.T) {
	b := bed(t)
	sizes := map[int]string{}
	for letters := 800; letters < 1100; letters++ {
		text := fmt.Sprintf("study: s\nservice: concat\nn: 1\noptions: {letters: %d}\nstack: coap-cbor\n"+
			"responses: [wire_bytes]\n", letters)
		p, err := b.Read(t.Context(), "s.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		a := b.assemble(p, b.Exe, b.Temp)
		sizes[int(a.madeOf(p.Trials[0]).bytes)] = a.parted(p.Trials[0])
	}
	for size, want := range map[int]string{1022: "", // its answer has two bytes more
		1023: "its answers of 1025 B go in blocks", 1024: "its answers of 1026 B",
		1025: "its messages of 1025 B go in blocks"} {
		if why, ok := sizes[size]; !ok || !strings.HasPrefix(why, want) || want == "" && why != "" {
			t.Errorf("%d B: %v, got %q, want %q", size, ok, why, want)
		}
	}
}
