package study

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// What devices hear and when they are reached, as a study says it: with the defaults and where they come from.
func TestReachOfDevices(t *testing.T) {
	const head = "study: s\nservice: monitor\ndevices: 10\nperiod: 1s\nduration: 10s\ndesign: {replications: 1}\n"
	stacks := []StackFacts{
		{Name: "news", Options: []string{"observe"}, Populations: true, Serves: []Cell{{Services: []string{"monitor"},
			Encodings: []string{"json"}, Securities: []string{"none", "oscore"}, Transports: []string{"coap"},
			Connections: []string{"keep-alive"}, Client: true, Server: true}}},
		{Name: "mute", Populations: true, Serves: []Cell{{Services: []string{"monitor"}, Encodings: []string{"json"},
			Securities: []string{"none"}, Transports: []string{"coap"}, Connections: []string{"keep-alive"}, Client: true,
			Server: true}}},
		{Name: "broker", Populations: true, Streams: true, Serves: []Cell{{Services: []string{"monitor"},
			Encodings: []string{"json"}, Securities: []string{"none"}, Transports: []string{"mqtt5"},
			Connections: []string{"keep-alive"}, Client: true, Server: true}}},
		{Name: "web", Populations: true, Streams: true, Serves: []Cell{{Services: []string{"monitor"},
			Encodings: []string{"json"}, Securities: []string{"none"}, Transports: []string{"http"},
			Connections: []string{"keep-alive", "per-request"}, Client: true, Server: true}}},
	}
	words := Vocabulary{Stacks: func(name string) (StackFacts, bool) {
		i := slices.IndexFunc(stacks, func(f StackFacts) bool { return f.Name == name })
		return stacks[max(i, 0)], i >= 0
	}}
	for _, tt := range []struct {
		text  string
		want  func(p Population) bool
		fault string
	}{
		{"stack: news\noptions: {observe: on}\nobserve: on\n", func(p Population) bool {
			return p.Observe == time.Minute && p.Ramp == joinRamp
		}, ""},
		{"stack: news\noptions: {observe: on}\nobserve: 5m\nramp: 0\n", func(p Population) bool {
			return p.Observe == 5*time.Minute && p.Ramp == 0
		}, ""},
		{"stack: news\nobserve: off\n", func(p Population) bool { return p.Observe == 0 && p.Ramp == 0 }, ""},
		{"stack: broker\nobserve: on\n", func(p Population) bool { return p.Observe == time.Minute }, ""},
		{"stack: news\nnat: on\n", func(p Population) bool { return p.NAT == 2*time.Minute }, ""},
		{"stack: web\nnat: on\n", func(p Population) bool { return p.NAT == 124*time.Minute }, ""},
		{"stack: web\nnat: 30s\n", func(p Population) bool { return p.NAT == 30*time.Second }, ""},
		{"stack: news\nsleep: psm\n", func(p Population) bool { return p.Sleep == Sleep{"psm", 22 * time.Second, 0} }, ""},
		{"stack: news\nsleep: edrx\n", func(p Population) bool {
			return p.Sleep == Sleep{"edrx", 20 * time.Second, 20480 * time.Millisecond}
		}, ""},
		{"stack: news\nsleep: {mode: edrx, active: 0s, cycle: 5.12s}\n", func(p Population) bool {
			return p.Sleep == Sleep{"edrx", 0, 5120 * time.Millisecond}
		}, ""},
		{"stack: news\nsleep: {mode: psm, cycle: 5s}\n", nil, "a cycle without edrx"},
		{"stack: news\nsleep: {active: 5s}\n", nil, "sleep has no mode"},
		{"stack: news\nsleep: nap\n", nil, `sleep "nap" is unknown`},
		{"stack: news\nnat: 5\n", nil, "invalid nat"},
		{"stack: news\nobserve: on\n", nil, "notifies only if it is told to"},
		{"stack: mute\nobserve: on\n", nil, `stack "mute" notifies nobody`},
		{"stack: web\nobserve: on\n", nil, "observe over http, which has no notifications"},
		{"stack: news\noptions: {observe: on}\nobserve: on\nsecurity: oscore\n", nil, "observe with OSCORE"},
		{"stack: web\nconnection: per-request\nnat: on\n", nil, "nat with a connection for each request"},
		{"stack: news\nsubscribe: on\n", nil, "observe"},
	} {
		s, err := Parse("s.yaml", []byte(head+tt.text), words)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: got %v, want %s", tt.text, err, tt.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		plan, err := Expand(s)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if p := plan.Trials[0].Setup.Population; !tt.want(p) {
			t.Errorf("%s: got %+v", tt.text, p)
		}
	}
}

// A class may only observe; then it needs no period, and the trial a duration.
func TestClassesThatOnlyObserve(t *testing.T) {
	const head = "study: s\nservice: monitor\nstack: x\ndevices: 10\ndesign: {replications: 1}\n"
	s, err := Parse("s.yaml", []byte(head+"mix: {a: {share: 10%, period: 2s}, b: {share: 90%, observe: on, sleep: psm}}\n"),
		Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Expand(s)
	if err != nil {
		t.Fatal(err)
	}
	x := plan.Trials[0].Setup
	if c := x.Population.Mix[1]; c.Period != 0 || c.Observe != time.Minute || c.Sleep.Mode != "psm" ||
		x.Duration != 2020*time.Millisecond || // 10 devices are switched on, 500/s
		x.Population.Lateness != 20*time.Millisecond {
		t.Errorf("got %+v, %v, %v", c, x.Duration, x.Population.Lateness)
	}
	_, err = Parse("s.yaml", []byte(head+"observe: on\n"), Vocabulary{})
	if err == nil || !strings.Contains(err.Error(), "devices that only observe, without a duration") {
		t.Errorf("got %v", err)
	}
}
