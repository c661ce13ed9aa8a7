package study

import (
	"math"
	"strings"
	"testing"
	"time"
)

// A study that states requests keeps exactly those; one that states nothing has a
// least time, and a warm-up whose pace says how many requests that takes.
func TestLeastTimeOfATrial(t *testing.T) {
	const base = "study: a\nservice: monitor\nstack: rest-json\n"
	for _, tt := range []struct {
		text     string
		requests int
		least    time.Duration
		warmUp   int
	}{
		{"", 1000, 500 * time.Millisecond, 100},
		{"requests: 200\n", 200, 0, 0},
		{"duration: 2s\n", 0, 0, 0},
		{"design: {warmup: 0}\n", 1000, 0, 0},
		{"design: {warmup: 7}\n", 1000, 500 * time.Millisecond, 7},
		{"requests: 20\nmin_duration: 2s\n", 20, 2 * time.Second, 100},
		{"rate: 10\nrequests: 20\nmin_duration: 5s\n", 51, 0, 0},
		{"rate: 10\narrival: poisson\nrequests: 20\nmin_duration: 5s\n", 75, 0, 0},
		{"rate: 10\narrival: poisson\nrequests: 200\nmin_duration: 5s\n", 200, 0, 0},
		{"rate: 100\nrequests: 20000\nmin_duration: 5s\n", 20000, 0, 0},
	} {
		s, err := Parse("a.yaml", []byte(base+tt.text), Vocabulary{})
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		p, _ := Expand(s)
		got := p.Trials[0].Setup
		if got.Requests != tt.requests || got.MinDuration != tt.least || s.Design.WarmUp.Requests != tt.warmUp {
			t.Errorf("%q: got %d requests, %v, warm-up %v; want %d, %v, %d", tt.text, got.Requests, got.MinDuration,
				s.Design.WarmUp, tt.requests, tt.least, tt.warmUp)
		}
	}
	earlier, err := Parse("a.yaml", []byte(base), Vocabulary{Earlier: true})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := Expand(earlier)
	if s := p.Trials[0].Setup; s.MinDuration != 0 || s.Placement != "" || earlier.Design.WarmUp != (Span{}) {
		t.Errorf("results of an earlier version: got %+v, %v", s, earlier.Design.WarmUp)
	}
	for text, want := range map[string]string{
		"duration: 1s\nmin_duration: 1s\n":                  "min_duration and duration are both given",
		"min_duration: 1s\ndesign: {warmup: 0}\n":           "min_duration needs a warm-up",
		"min_duration: 20m\ndesign: {warmup: 5}\n":          "too long for timeouts.trial",
		"duration: 1s\ndesign: {warmup: 20m}\n":             "a warm-up of 20m",
		"rate: 10\nrequests: 10\ndesign: {warmup: 10000}\n": "a warm-up of 16m40s and 1s",
		"placement: near\n":                                 "placement \"near\" is unknown",
		"design: {replications: 2, precision: none}\n":      "precision",
	} {
		if _, err := Parse("a.yaml", []byte(base+text), Vocabulary{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// Of random arrivals, no more than one trial in 1000 is shorter than min_duration: the n-th
// arrival is so early if n or more of them come in that time (Poisson's distribution).
func TestRandomArrivalsLastAsLongAsTheyMust(t *testing.T) {
	for _, mean := range []float64{0.5, 5, 50, 1000} {
		n := requestsFor(time.Second, mean, "poisson")
		early := 1.0
		for k := range n {
			factorial, _ := math.Lgamma(float64(k + 1))
			early -= math.Exp(float64(k)*math.Log(mean) - mean - factorial)
		}
		if early > 1e-3 || float64(n) > mean+3.5*math.Sqrt(mean)+5 {
			t.Errorf("%g expected: %d requests, too short in %g of all trials", mean, n, early)
		}
	}
}

func TestDefaultPlacement(t *testing.T) {
	const base = "study: a\nservice: monitor\nstack: rest-json\n"
	for text, want := range map[string]string{
		"":                       Together,
		"concurrency: 4\n":       Free,
		"rate: 100\n":            Free,
		"placement: apart\n":     Apart,
		"pin: {client: 0}\n":     "",
		"server: {device: pi}\n": "",
		"link: {delay: 1ms}\n":   Together,
		"placement: free\n":      Free,
		"time: instructions\nserver: {device: pi}\nclient: {device: pi}\nrequests: 5\n": "",
	} {
		s, err := Parse("a.yaml", []byte(base+text), Vocabulary{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		p, _ := Expand(s)
		if got := p.Trials[0].Setup.Placement; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A precision is switched off by name, and by whoever says how many replications to make without
// a word about it.
func TestPrecisionIsSwitchedOff(t *testing.T) {
	const text = "study: a\nservice: monitor\nstack: rest-json\ndesign: {precision: 2%, budget: 3, seed: 5}\n"
	for _, x := range []struct {
		sets      string
		precision float64
		budget    int
	}{
		{"", 0.02, 3},
		{"design.precision=off", 0, 3},
		{"design.replications=4", 0, 0},
		{"design.replications=4 design.precision=5%", 0.05, 3},
		{"design.budget=7 design.replications=4", 0.02, 7},
		{"design.seed=4", 0.02, 3},
	} {
		s, err := Parse("a.yaml", []byte(text), Vocabulary{}, strings.Fields(x.sets)...)
		if err != nil || s.Design.Precision != x.precision || s.Design.Budget.Blocks != x.budget {
			t.Errorf("%s: got %+v, %v", x.sets, s.Design, err)
		}
	}
}

// Trials run at the same time only where they wait for links of their own, or count instructions.
func TestAtOnce(t *testing.T) {
	const base = "study: a\nservice: monitor\nstack: rest-json\nat_once: 6\n"
	for text, want := range map[string]string{
		"link: lte-m\n": "",
		"link: {delay: 1ms}\nclient: {meter: 'model:nrf9160-lte-m'}\n":                   "",
		"time: instructions\nclient: {device: cortex-a7}\nserver: {device: cortex-a7}\n": "",
		"":                                      "at_once 6 takes a link, or time: instructions",
		"link: lte-m\nserver: {device: pi}\n":   "at_once 6 takes both programs on this machine",
		"link: lte-m\nclient: {meter: rapl}\n":  "at_once 6 does not go with a meter",
		"link: lte-m\ndevices: 5\nperiod: 1s\n": "devices",
	} {
		s, err := Parse("a.yaml", []byte(base+text), Vocabulary{})
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %q", text, err, want)
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want == "":
			p, _ := Expand(s)
			if got := p.Trials[0].Setup.AtOnce; got != 6 {
				t.Errorf("%q: got %d at once, want 6", text, got)
			}
		}
	}
	known := Vocabulary{Stacks: func(name string) (StackFacts, bool) { return StackFacts{Name: name}, true }}
	const read = "study: a\nservice: temperature\nstack: rest-json\nat_once: 6\nlink: lte-m\nsensor: "
	for sensor, refused := range map[string]bool{"'serial:/dev/ttyUSB0'": true, "simulated": false, "'w1:28-1'": false} {
		if _, err := Parse("a.yaml", []byte(read+sensor+"\n"), known); (err != nil) != refused ||
			refused && !strings.Contains(err.Error(), "would wait for each other's readings") {
			t.Errorf("sensor %s: got %v, want refused %v", sensor, err, refused)
		}
	}
	if _, err := Parse("a.yaml", []byte(strings.Replace(base, "6", "65", 1)+"link: lte-m\n"), Vocabulary{}); err == nil {
		t.Error("65 at once are accepted, want 64 at most")
	}
}
