package study

import (
	"strings"
	"testing"
	"time"
)

// What several benches cannot do together is refused beforehand.
func TestDrivenFrom(t *testing.T) {
	const base = "study: a\nservice: monitor\nstack: rest-json\ndriven_from: 3\n"
	for text, want := range map[string]string{
		"duration: 1s\n":                                "",
		"duration: 1s\nrate: 500\n":                     "",
		"duration: 1s\nrate: 5000\narrival: poisson\n":  "",
		"duration: 1s\nserver: {device: pi}\n":          "",
		"":                                              "driven_from 3 takes a duration",
		"requests: 10\n":                                "driven_from 3 takes a duration",
		"duration: 1s\nrate: 501\n":                     "arrival: poisson, or a rate of at most 500",
		"duration: 1ms\n":                               "would have to begin within 10µs",
		"duration: 1s\nlink: lte-m\n":                   "does not go with a link",
		"duration: 1s\nclient: {device: pi}\n":          "takes each bench's own machine",
		"duration: 1s\nclient: {meter: rapl}\n":         "does not go with a meter of the client",
		"duration: 1s\npackets: keep\n":                 "does not go with packets",
		"duration: 1s\ndevices: 5\nperiod: 1s\n":        "driven_from 3 does not go with devices",
		"duration: 1s\ndesign: {benches: incomplete}\n": "does not go with benches: incomplete",
		"requests: 5\ntime: instructions\nserver: {device: pi}\nclient: {device: pi}\n": "driven_from 3",

		"rate: 9\narrival: poisson\nmin_duration: 1s\n": "driven_from 3 takes a duration",
	} {
		s, err := Parse("a.yaml", []byte(base+text), Vocabulary{})
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %q", text, err, want)
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want == "":
			p, _ := Expand(s)
			if x := p.Trials[0].Setup; x.DrivenFrom != 3 || !x.Joint() || x.Placement == Together {
				t.Errorf("%q: got %+v", text, x)
			}
		}
	}
}

// The interval that benches must keep to is that of requests only where requests of several
// benches meet at set instants.
func TestInterval(t *testing.T) {
	for _, x := range []struct {
		setup Setup
		want  time.Duration
	}{
		{Setup{Duration: time.Second}, 10 * time.Millisecond},
		{Setup{Duration: time.Second, Rate: 100, Arrival: "constant"}, 100 * time.Microsecond},
		{Setup{Duration: time.Second, Rate: 100, Arrival: "poisson"}, 10 * time.Millisecond},
		{Setup{Duration: time.Second, Rate: 0.1, Arrival: "constant"}, 10 * time.Millisecond},
	} {
		if got := x.setup.MostApart(); got != x.want {
			t.Errorf("%+v: got %v, want %v", x.setup, got, x.want)
		}
	}
}
