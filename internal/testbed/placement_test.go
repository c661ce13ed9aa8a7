package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// A placement that a study gives and programs cannot have is refused, not dropped.
func TestPlacementsThatCannotBeHad(t *testing.T) {
	b := bed(t)
	const away = "placement together takes both programs on device local, and one is on constrained-10"
	const devices = "factors: {client.device: [local, constrained-10], "
	for _, tt := range []struct{ study, want string }{
		{"placement: together", ""},
		{"client: {device: constrained-10}", ""},
		{"client: {device: constrained-10}\nplacement: together", "s.yaml:6:12: " + away + "; write placement: free"},
		{"server: {device: constrained-10}\nplacement: together", away},
		{"placement: free\nfactors: {client.device: [local, constrained-10]}", ""},
		{devices + "placement: [together, free]}", away + "; write placement: free, or exclude: " +
			"[{client.device: constrained-10, placement: together}]"},
		{devices + "placement: [together, free]}\nexclude: [{client.device: constrained-10, placement: together}]", ""},
		{"pin: {client: 0}", ""},
		{"pin: {client: 0}\nplacement: free", ""},
		{"pin: {client: 0}\nplacement: apart", "placement apart beside pin, which says where the programs run; keep one"},
		{"time: instructions\nclient: {device: cortex-a53}\nserver: {device: cortex-a53}\nplacement: together",
			"placement together is of this machine's CPUs, and with time: instructions both"},
		{"time: instructions\nclient: {device: cortex-a53}\nserver: {device: cortex-a53}\nplacement: free", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: reference/rest-json\n"+
			"design: {replications: 1}\n"+tt.study+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", tt.study, err)
		}
		var found []string
		for _, x := range b.Obstacles(t.Context(), p) {
			if strings.Contains(x.What, "placement") { // this machine may lack devices as well
				found = append(found, x.Error())
			}
		}
		if got := fmt.Sprint(found); (len(found) == 0) != (tt.want == "") || !strings.Contains(got, tt.want) ||
			len(found) > 1 {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
	}
}

// A pin for a server that the lab does not start is refused, as other settings of such a server are.
func TestPinsOfServicesThatAreAlreadyThere(t *testing.T) {
	b := bed(t)
	for _, tt := range []struct{ study, want string }{
		{"server.url: 'http://127.0.0.1:1/'\npin: {server: 0}", "s.yaml:2:13: with server.url, pin: {server: …} has no " +
			"effect: edgegauge does not start that service; remove it"},
		{"factors: {server.url: ['http://127.0.0.1:1/', 'http://127.0.0.1:2/']}\npin: {client: 0, server: 0}",
			"pin: {server: …} has no effect"},
		{"server.url: 'http://127.0.0.1:1/'\npin: {client: 0}", ""},
		{"service: monitor\nfactors: {way: [{name: theirs, server.url: 'http://127.0.0.1:1/'}, {name: ours, stack: " +
			"rest-json}]}\npin: {server: 0}", ""},
		{"service: monitor\nstack: rest-json\npin: {server: 0}", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\n"+tt.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.study, err)
			continue
		}
		var found []string
		for _, x := range b.Obstacles(t.Context(), p) {
			if strings.Contains(x.What, "has no effect") { // nothing listens there either
				found = append(found, x.Error())
			}
		}
		if got := fmt.Sprint(found); (found == nil) != (tt.want == "") || !strings.Contains(got, tt.want) ||
			len(found) > 1 {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
	}
}
