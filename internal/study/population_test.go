package study

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const devicesBase = "study: a\nservice: monitor\nstack: reference/coap-cbor\ndevices: 1000\n"

func TestDevices(t *testing.T) {
	one := func(change func(*Population)) Population {
		p := Population{Devices: 1000, Period: time.Minute, Phase: "random", Reconnect: defaultReconnect,
			Lateness: 50 * time.Millisecond}
		change(&p)
		return p
	}
	for text, want := range map[string]struct {
		Population
		lasts time.Duration
	}{
		"period: 60s\n":              {one(func(*Population) {}), time.Minute},
		"period: 60s\nramp: 500/s\n": {one(func(p *Population) { p.Ramp = 500 }), 62 * time.Second},
		"period: 1s\nduration: 5m\n": {one(func(p *Population) { p.Period, p.Lateness = time.Second, 10*time.Millisecond }),
			5 * time.Minute},
		"period: 60s\njitter: 10%\nphase: aligned\nkeepalive: 45s\nlateness: 7ms\nreconnect: off\n": {one(func(p *Population) {
			p.Jitter, p.Phase, p.KeepAlive, p.Lateness = 0.1, "aligned", 45*time.Second, 7*time.Millisecond
			p.Reconnect = Reconnect{}
		}), time.Minute},
		"period: 60s\nreconnect: equal\n": {one(func(p *Population) { p.Reconnect.Jitter = "equal" }), time.Minute},
		"period: 60s\nreconnect: {first: 2s, factor: 1.5, most: 1m, jitter: none}\n": {one(func(p *Population) {
			p.Reconnect = Reconnect{2 * time.Second, time.Minute, 1.5, "none"}
		}), time.Minute},
		"period: 60s\nduration: 3m\noutage: {at: 30s, for: 20s, share: 50%}\n": {one(func(p *Population) {
			p.Outage = Outage{30 * time.Second, 20 * time.Second, 0.5}
		}), 3 * time.Minute},
		"mix: {sensor: {share: 90%, period: 1m, jitter: 5%}, tracker: {share: 10%, period: 2s, keepalive: 1s}}\n": {
			one(func(p *Population) {
				p.Period, p.Lateness = 0, 20*time.Millisecond
				p.Mix = []Class{{Name: "sensor", Share: 0.9, Period: time.Minute, Jitter: 0.05},
					{Name: "tracker", Share: 0.1, Period: 2 * time.Second, KeepAlive: time.Second}}
			}), time.Minute},
	} {
		s, err := Parse("a.yaml", []byte(devicesBase+text), Vocabulary{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := schema(t).Validate(asJSON(t, []byte(devicesBase+text))); err != nil {
			t.Errorf("%s: schema: %v", text, err)
		}
		p, _ := Expand(s)
		got := p.Trials[0].Setup
		if !reflect.DeepEqual(got.Population, want.Population) || got.Duration != want.lasts || got.Requests != 0 ||
			got.Placement != Free {
			t.Errorf("%s: got %+v for %v, %s, %d requests; want %+v for %v", text, got.Population, got.Duration, got.Placement,
				got.Requests, want.Population, want.lasts)
		}
	}
}

// What cannot be is refused, at its place and with advice.
func TestDevicesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "devices without a period",
		"period: 60s\nrate: 10\n":       "so rate cannot be given; remove rate",
		"period: 60s\nrequests: 10\n":   "devices send once per period, so requests cannot be given; remove requests",
		"period: 60s\nconcurrency: 2\n": "so concurrency cannot",
		"period: 60s\nlink: {delay: 5ms, shaper: netem}\n":             "without netem",
		"period: 60s\nip: ipv6\n":                                      "write ip: ipv4",
		"period: 60s\nobserve: 5m\noptions: {observe: on}\nip: ipv6\n": "write ip: ipv4",
		"period: 60s\nobserve: 5m\noptions: {observe: on}\n" +
			"link: {delay: 5ms, loss: 1%, loss_burst: 8}\n": "bursts of losses",
		"period: 60s\nserver: {device: pi}\n":                       "only a server on this machine",
		"period: 60s\nresponses: [wire_bytes]\n":                    "wire_bytes is not available with devices",
		"period: 60s\njitter: 200%\n":                               "not a share",
		"period: 60s\nphase: full\n":                                "phase \"full\" is unknown",
		"period: 60s\nreconnect: {most: 1ms}\n":                     "above its most",
		"period: 60s\nreconnect: {factor: 0.5}\n":                   "no factor",
		"period: 60s\nreconnect: {jiter: full}\n":                   "did you mean jitter?",
		"period: 60s\noutage: {at: 10s}\n":                          "cuts nobody off",
		"period: 20m\n":                                             "too long for timeouts.trial",
		"mix: {a: {share: 50%, period: 1s}}\n":                      "add up to 50%",
		"mix: {a: {share: 100%}}\n":                                 "lacks its share, or both period and observe",
		"period: 1s\nmix: {a: {share: 100%, period: 1s}}\n":         "mix with period",
		"time: instructions\nperiod: 60s\n":                         "time: clock",
		"period: 300s\nduration: 1s\ndesign: {warmup: 100000000}\n": "a warm-up of",
	} {
		if _, err := Parse("a.yaml", []byte(devicesBase+text), Vocabulary{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	for _, k := range populationKeys {
		text := "study: a\nservice: monitor\nstack: reference/coap-cbor\n" + k + ": " + map[string]string{"phase": "aligned",
			"reconnect": "full", "sleep": "psm", "outage": "{for: 1s}", "jitter": "10%", "ramp": "1",
			"mix": "{a: {share: 1, period: 1s}}"}[k]
		if strings.HasSuffix(text, ": ") {
			text += "1s"
		}
		if _, err := Parse("a.yaml", []byte(text+"\n"), Vocabulary{}); err == nil ||
			!strings.Contains(err.Error(), k+" without devices") {
			t.Errorf("%s: got %v", k, err)
		}
	}
	rated, err := Parse("a.yaml", []byte("study: a\nservice: monitor\nstack: reference/coap-cbor\nrate: 10\n"+
		"lateness: 20ms\ndesign: {replications: 1}\n"), Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := Expand(rated); err != nil || p.Trials[0].Setup.Population.Lateness != 20*time.Millisecond {
		t.Errorf("lateness of requests at a rate: %v", err)
	}
	v := Vocabulary{Stacks: func(name string) (StackFacts, bool) {
		return StackFacts{Populations: name != "rest-json"},
			true
	}}
	streamsThatCannotBe(t)
	text := strings.Replace(devicesBase, "reference/coap-cbor", "rest-json", 1) + "period: 1s\n"
	if _, err := Parse("a.yaml", []byte(text), v); err == nil || !strings.Contains(err.Error(), "cannot be many devices") {
		t.Errorf("got %v", err)
	}
}

// streaming knows two stacks, of devices with connections.
func streaming(name string) (StackFacts, bool) {
	transports := []string{"mqtt5", "mqtt311"}
	if name == "rest" {
		transports = []string{"http"}
	}
	return StackFacts{Name: name, Populations: true, Streams: true, Options: []string{"qos"}, Serves: []Cell{{
		Services: []string{"monitor"}, Encodings: []string{"json"},
		Securities: []string{"none", "tls"}, Transports: transports,
		Connections: []string{"keep-alive", "per-request", "pipelined"}, Client: true, Server: true}}}, true
}

// Devices ask a service of this machine that is already running; what they cannot ask is refused.
func TestDevicesAskAService(t *testing.T) {
	for text, want := range map[string]string{
		"server: {url: \"http://127.0.0.1:8080/\"}\n":                              "",
		"server: {url: \"https://localhost/\"}\n":                                  "",
		"server: {url: \"coap://127.0.0.1/a\"}\nrequest: {confirmable: off}\n":     "",
		"server: {url: \"http://127.0.0.1/\"}\nconnection: per-request\n":          "",
		"server: {url: \"coap://127.0.0.1/a\"}\nlink: {up: {loss: 10%}}\n":         "",
		"server: {url: \"coap://127.0.0.1/a\"}\nlink: {up: {delay: 9s}}\n":         "round trip of 9s",
		"server: {url: \"http://127.0.0.1/\"}\nlink: {up: {loss: 10%}}\n":          "devices over http with a link",
		"server: {url: \"http://127.0.0.1/\"}\ntransport: http2\n":                 "not over http2",
		"server: {url: \"mqtt://127.0.0.1/a\"}\n":                                  "not over mqtt5",
		"server: {url: \"http://192.0.2.1/\"}\n":                                   "only a service of this machine",
		"server: {url: \"http://127.0.0.1/\"}\nrequest: {status: 404}\n":           "wants status 404",
		"server: {url: \"http://127.0.0.1/\"}\nconnection: pipelined\n":            "connection pipelined over http",
		"server: {url: \"http://127.0.0.1/\"}\nkeepalive: 1500ms\n":                "in whole seconds",
		"server: {url: \"http://127.0.0.1/\"}\nresponses: [rtt, datagram_bytes]\n": "datagram_bytes is not available",
	} {
		text = "study: a\ndevices: 1000\nperiod: 60s\n" + text
		s, err := Parse("a.yaml", []byte(text), Vocabulary{Stacks: streaming})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: got %v, want %q", text, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		p, err := Expand(s)
		if err != nil || p.Trials[0].Setup.Population.Devices != 1000 || p.Trials[0].Setup.Duration != time.Minute {
			t.Errorf("%q: got %+v, %v", text, p.Trials, err)
		}
	}
}

// A trial whose devices would not be those of the study is refused, and read where an earlier version ran it.
func TestDevicesThatWouldBeOthers(t *testing.T) {
	for _, x := range [][2]string{
		{"stack: mqtt\nduration: 1s\n", "500 of 1000 devices are switched on by the end"},
		{"stack: mqtt\nduration: 2s\n", ""},
		{"stack: mqtt\nduration: 1s\ndesign: {warmup: 2s}\n", ""},
		{"stack: mqtt\nduration: 1s\nramp: 0\n", ""},
		{"stack: rest\nduration: 1s\n", ""},
		{"stack: rest\nduration: 20s\nramp: 49/s\n", "980 of 1000 devices"},
		{"server: {url: \"http://127.0.0.1/\"}\nduration: 9s\nramp: 100\n", "900 of 1000 devices"},
		{"stack: rest\nmix: {a: {share: 0.04%, period: 1s}, b: {share: 99.96%, period: 1m}}\n", "a is 0.04% of 1000 devices"},
		{"stack: rest\nmix: {a: {share: 0.06%, period: 1s}, b: {share: 99.94%, period: 1m}}\n", ""},
		{"stack: rest\nmix: {a: {share: 99.96%, period: 1s}, b: {share: 0.04%, period: 1m}}\n", "b is 0.04% of 1000 devices"},
		{"stack: rest\noutage: {at: 30s, for: 30s}\n", "not before the trial, 1m"},
		{"stack: mqtt\noutage: {at: 50s, for: 11s}\nresponses: [sent_rate]\n", ""}, // all are on after 2 s
		{"stack: mqtt\noutage: {at: 50s, for: 12s}\nresponses: [sent_rate]\n", "not before the trial, 1m2s"},
		{"stack: rest\nduration: 25s\noutage: {at: 10s, for: 10s}\n", "a duration of 30s or more, with time to recover"},
		{"stack: rest\nduration: 30s\noutage: {at: 10s, for: 10s}\n", ""},
		{"stack: rest\nduration: 25s\noutage: {at: 10s, for: 10s}\nresponses: [sent_rate]\n", ""},
		// What waits for 30 s says after 30 s that the outage lost it.
		{"stack: rest\nduration: 50s\noutage: {at: 10s, for: 10s}\ntimeouts: {request: 30s}\n", "up for 31s; write a " +
			"duration of 51s or more"},
		{"stack: rest\nduration: 51s\noutage: {at: 10s, for: 10s}\ntimeouts: {request: 30s}\n", ""},
		{"stack: rest\nduration: 2m\noutage: {for: 9s, share: 1%}\n", "cuts off 1% of the devices, and recovery_time"},
		{"stack: rest\nduration: 2m\noutage: {for: 9s, share: 1.1%}\n", ""},
		{"stack: rest\nduration: 2m\noutage: {for: 9s, share: 0.04%}\n", "0.04% of 1000 devices, which is less than " +
			"one device"},
		{"stack: rest\nduration: 2m\noutage: {for: 9s, share: 1%}\nresponses: [sent_rate, recovery_time]\n", "1% be down"},
		{"stack: rest\nduration: 2m\noutage: {for: 9s, share: 1%}\nresponses: [sent_rate]\n", ""},
	} {
		text, want := x[0], x[1]
		if strings.HasPrefix(text, "stack") {
			text = "service: monitor\n" + text
		}
		if !strings.Contains(text, "mix:") {
			text = "period: 60s\n" + text
		}
		text = "study: a\ndevices: 1000\n" + text
		if _, err := Parse("a.yaml", []byte(text), Vocabulary{Stacks: streaming}); want == "" && err != nil ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
		if _, err := Parse("a.yaml", []byte(text), Vocabulary{}); err != nil {
			t.Errorf("%q of results: got %v", text, err)
		}
	}
}

func streamsThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"stack: mqtt\nconnection: per-request\n":                "connection per-request over mqtt5",
		"stack: rest\nconnection: pipelined\n":                  "connection pipelined over http",
		"stack: mqtt\noptions.qos: 2\n":                         "devices with QoS 2",
		"stack: rest\nkeepalive: 1500ms\n":                      "in whole seconds",
		"stack: rest\nkeepalive: 5s\nconnection: per-request\n": "never silent",
		"stack: mqtt\nresponses: [rtt, datagram_bytes]\n":       "datagram_bytes is not available",
	} {
		text = "study: a\nservice: monitor\ndevices: 1000\nperiod: 60s\n" + text
		if _, err := Parse("a.yaml", []byte(text), Vocabulary{Stacks: streaming}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// The link that each device has is without a limit of its queue: who asks for one does not get another.
func TestLinksOfDevicesHaveNoQueue(t *testing.T) {
	v := Vocabulary{Stacks: func(string) (StackFacts, bool) { return StackFacts{Name: "s", Populations: true}, true }}
	refuses(t, v, refusal{"service: monitor\nstack: s\ndevices: 10\nperiod: 1s\nlink: {rate: 1Mbit, queue: 5}\n",
		"a queue without limit; remove queue"},
		refusal{"service: monitor\nstack: s\ndevices: 10\nperiod: 1s\nlink: {rate: 1Mbit}\n", ""})
}

// The time in which devices are switched on is a part of the trial's.
func TestSwitchingOnTakesTime(t *testing.T) {
	text := "study: a\nservice: monitor\ndevices: 30000\nperiod: 9m30s\nstack: "
	if _, err := Parse("a.yaml", []byte(text+"rest\n"), Vocabulary{Stacks: streaming}); err != nil {
		t.Error(err)
	}
	_, err := Parse("a.yaml", []byte(text+"mqtt\n"), Vocabulary{Stacks: streaming})
	if err == nil || !strings.Contains(err.Error(), "duration 10m30s: too long for timeouts.trial, 10m") {
		t.Errorf("got %v", err)
	}
}

// A ramp of centuries is long, not over before it begins.
func TestARampThatNeverEnds(t *testing.T) {
	_, err := Parse("a.yaml", []byte("study: a\nservice: monitor\nstack: s\ndevices: 16000000\nperiod: 1s\n"+
		"ramp: 0.000001\n"), Vocabulary{})
	if err == nil || !strings.Contains(err.Error(), "too long for timeouts.trial") || strings.Contains(err.Error(), "-") {
		t.Errorf("got %v", err)
	}
}

// Devices that connect when they are switched on are switched on one after the other, unless
// they are to report together; the trial is longer by that.
func TestDevicesWithConnections(t *testing.T) {
	for text, want := range map[string]struct {
		ramp  float64
		lasts time.Duration
	}{
		"stack: mqtt\n":                                    {500, 62 * time.Second},
		"stack: mqtt\nduration: 90s\n":                     {500, 90 * time.Second},
		"stack: mqtt\nramp: 100/s\n":                       {100, 70 * time.Second},
		"stack: mqtt\nphase: aligned\n":                    {0, time.Minute},
		"stack: rest\n":                                    {0, time.Minute},
		"stack: rest\nconnection: per-request\n":           {0, time.Minute},
		"stack: mqtt\noptions.qos: 1\nkeepalive: 1500ms\n": {500, 62 * time.Second},
	} {
		text = "study: a\nservice: monitor\ndevices: 1000\nperiod: 60s\n" + text
		s, err := Parse("a.yaml", []byte(text), Vocabulary{Stacks: streaming})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		p, _ := Expand(s)
		if got := p.Trials[0].Setup; got.Population.Ramp != want.ramp || got.Duration != want.lasts {
			t.Errorf("%q: got %g/s and %v, want %+v", text, got.Population.Ramp, got.Duration, want)
		}
	}
}

// Shares are named as they were written: 29 % is 28.999999999999996 of a hundred, as a double.
func TestSharesAreNamedAsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"factors: {outage: [{at: 5s, for: 5s, share: 29%}, {at: 5s, for: 5s, share: 57%}]}\nperiod: 10s\nduration: 60s\n": "5s at 5s for 29%, " +
			"5s at 5s for 57%",
		"factors:\n  mix:\n    - {a: {share: 29%, period: 1s}, b: {share: 0.71, period: 1s}}\n    - {a: {share: 1, period: 1s}}\n": "a=29%/1s b=71%/1s, " +
			"a=100%/1s",
	} {
		s, err := Parse("a.yaml", []byte(devicesBase+text), Vocabulary{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var names []string
		for _, l := range s.Factors[0].Levels {
			names = append(names, l.Text)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
