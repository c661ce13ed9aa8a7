package study

import (
	"fmt"
	"strings"
	"testing"
)

// What a treatment of devices does not capture, or leaves out, its devices need not give.
func TestDevicesGiveWhatIsNotLeftOut(t *testing.T) {
	const packets = "stack: rest\nresponses: [rtt, wire_bytes]\nfactors: {load: [{name: one, requests: 100}, {name: " +
		"many, devices: 100, period: 1s, duration: 10s"
	const streams = "stack: mqtt\ndevices: 1000\nperiod: 60s\nresponses: [rtt, datagram_bytes]\n"
	for _, x := range []refusal{
		{packets + "}]}\n", "response wire_bytes is not available with devices: their packets are not taken apart; take " +
			"datagram_bytes or resent, or give this level leave_out: [wire_bytes], or exclude: [{load: many}]"},
		{packets + ", capture: off}]}\n", ""},
		{packets + ", leave_out: [wire_bytes]}]}\n", ""},
		{packets + ", leave_out: [client.wire_bytes]}]}\n", ""},
		{packets + ", leave_out: [rtt]}]}\n", "wire_bytes is not available"},
		{streams, "datagram_bytes is not available with devices that have connections: TCP makes its segments unseen; " +
			"remove it, or give this level leave_out: [datagram_bytes]"},
		{streams + "capture: off\n", "datagram_bytes is not available"},
		{streams + "leave_out: [datagram_bytes]\n", ""},
	} {
		_, err := Parse("a.yaml", []byte("study: a\nservice: monitor\n"+x.text), Vocabulary{Stacks: streaming})
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s: got %v, want %q", x.text, err, x.want)
		}
	}
}

// What devices with connections lack is left out at their stack's level, where that costs no figure of other devices.
func TestDevicesLeaveOutAtTheLevelOfTheirStack(t *testing.T) {
	text := "study: a\nservice: monitor\nresponses: [rtt, datagram_bytes]\nfactors:\n" +
		"  load: [{name: one, requests: 100}, {name: many, devices: 100, period: 1s, duration: 10s}]\n" +
		"  stack:\n    - coap\n    - mqtt\n"
	_, err := Parse("a.yaml", []byte(text), Vocabulary{Stacks: func(name string) (StackFacts, bool) {
		f, ok := streaming(name)
		if f.Streams = name == "mqtt"; name == "coap" {
			f.Serves[0].Transports, f.Serves[0].Connections = []string{"coap"}, nil
		}
		return f, ok
	}})
	if got, want := fmt.Sprint(err), "a.yaml:8:7: response datagram_bytes is not available with devices that have "+
		"connections: TCP makes its segments unseen; remove it, or give this level leave_out: [datagram_bytes], or "+
		"exclude: [{load: many, stack: mqtt}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
