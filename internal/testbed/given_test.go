package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// A response that no treatment gives is refused where it is asked for; one that some give is not.
func TestResponsesThatNothingGives(t *testing.T) {
	b := bed(t)
	for _, x := range []struct{ study, want string }{
		{"responses: [rtt, recovery_time]", "s.yaml:4:18: response recovery_time is measured of many devices (devices: " +
			"1000) only, and no treatment has that; remove it"},
		{"responses: [instructions]", "a server on a device that counts them"},
		{"responses: [sensor_time]", "measured of service temperature only"},
		{"responses: [rtt, recovery_time, sent_rate]\nfactors: {load: [{name: one, requests: 5}, {name: many, devices: 5, " +
			"period: 1s, duration: 30s, outage: {at: 5s, for: 5s}}]}", ""},
		{"responses: [instructions]\nserver: {device: instructions-arm64}", ""},
		{"responses: [instructions]\nfactors: {server.device: [local, instructions-arm64]}", ""},
		{"responses: [rtt, failed_share, discovery]", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.seeGiven()
		if got := fmt.Sprint(a.err()); (a.err() == nil) != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}
