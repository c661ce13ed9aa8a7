package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// Packets that a treatment does not capture keep no device from running it.
func TestDevicesWherePacketsAreNotCaptured(t *testing.T) {
	b := bed(t)
	for _, x := range []struct{ study, want string }{
		{"client: {device: 'ssh://pi@board'}", "packets are captured at the client, and only on this machine"},
		{"client: {device: 'ssh://pi@board'}\ncapture: off", ""},
		{"factors: {at: [{name: here, client.device: local}, {name: board, client.device: 'ssh://pi@board', capture: off}]}",
			""},
		{"client: cortex-a53\nserver: cortex-a53", "both sides are in one emulated machine"},
		{"client: cortex-a53\nserver: cortex-a53\ncapture: off", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\nresponses: [rtt, "+
			"wire_bytes]\n"+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.refuse()
		if got := fmt.Sprint(a.err()); (a.err() == nil) != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}
