package report

import (
	"encoding/json"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/study"
)

// A side that has one CPU in some treatments and any in others is a difference that nobody asked for.
func TestPlacementsThatDiffer(t *testing.T) {
	const both, server = "the client and the server had ", "the server had "
	const together, free = "one CPU with the other side in 1 treatment", ", any CPU in 1 treatment"
	const own = "a CPU of its own in 1 treatment"
	const limited = "{name: half, client.device: constrained-50, server.device: constrained-50}"
	for factors, want := range map[string]string{
		"factors: {concurrency: [1, 8]}\n":                                           both + together + free,
		"factors: {placement: [apart, free]}\n":                                      both + own + free,
		"factors: {server.device: [local, constrained-50]}\n":                        both + together + free,
		"factors: {device: [{name: full, client.device: local}, " + limited + "]}\n": both + together + free,
		"factors: {client.device: [local, raspberry-pi-1]}\n":                        server + together + free,
		"factors: {client.device: [local, \"ssh://pi@board\"]}\n":                    server + together + free,
		"placement: free\nfactors: {concurrency: [1, 8]}\n":                          "",
		"pin: {server: 0}\nfactors: {concurrency: [1, 8]}\n":                         "",
		"factors: {size: [1kB, 10kB]}\n":                                             "",
		"factors: {client.device: [constrained-10, constrained-50]}\n":               "",
		"placement: free\nfactors: {client.device: [local, constrained-50]}\n":       "",
		"server: {device: constrained-50}\nfactors: {link: [none, {rate: 1Mbit}]}\n": "",
	} {
		text := "study: s\nservice: echo\nstack: a\nrequests: 100\n" + factors + "design: {replications: 3, seed: 1}\n"
		r := reportOf(t, fabricated(t, text, func(_ map[string]string, b int) float64 { return 1e-3 * wobble(b) }))
		if err := json.Unmarshal([]byte(`{"devices":{"constrained-10":{},"constrained-50":{},"ssh://pi@board":{"agent":{}},`+
			`"raspberry-pi-1":{"emulation":{"mips":"700"}}},"placement":{}}`), &r.Facts); err != nil {
			t.Fatal(err)
		}
		r.Warnings = nil
		y, err := study.Parse("s.yaml", []byte(text), study.Vocabulary{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := study.Expand(y)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Trials {
			r.Treatments[x.Cell].setup = x.Setup // fabricated results are of a version that placed no programs
		}
		r.doubtPlacement()
		said := ""
		for _, w := range r.Warnings {
			said += strings.TrimPrefix(w, "placement differs: ")
		}
		if want == "" && said != "" || !strings.HasPrefix(said, want) || len(r.Warnings) > 1 {
			t.Errorf("%s: got %q, want %q", factors, said, want)
		}
	}
}

// Devices that are switched on one after the other in some treatments only are said to be; they are compared all the
// same.
func TestRampsThatDiffer(t *testing.T) {
	r := reportOf(t, fabricated(t, "study: s\nservice: monitor\ndevices: 100\nperiod: 10s\nfactors:\n  way:\n"+
		"    - {name: one, stack: a}\n    - {name: two, stack: b, ramp: 10/s}\n    - {name: three, stack: c, ramp: 10/s}\n"+
		"    - {name: four, stack: d}\ndesign: {replications: 3, seed: 1}\n",
		func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }))
	if got := len(r.groups()); got != 1 {
		t.Errorf("the ways are in %d groups", got)
	}
	slow, quick := []map[string]float64{{"ramp": 10}, {"ramp": 10}}, []map[string]float64{{}, {}}
	for _, tt := range []struct {
		noted [][]map[string]float64
		want  string
	}{
		{[][]map[string]float64{quick, slow, slow, quick}, "the devices of two; three were switched on one after the other, " +
			"10 a second, those of one; four all at once"},
		{[][]map[string]float64{slow, slow, slow, slow}, ""},
		{[][]map[string]float64{quick, quick, quick, quick}, ""},
		{[][]map[string]float64{nil, slow, slow, nil}, ""},
	} {
		r.Warnings = nil
		r.doubtRamps(tt.noted)
		if got := strings.Join(r.Warnings, ""); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v: got %q, want %q", tt.noted, got, tt.want)
		}
	}
}

// Where the kernel loses CPU time, a report says why there is none.
func TestCPUThatIsNotCounted(t *testing.T) {
	r := reportOfRan(t, ran{"a", 1, []float64{1, 2, 3}}, ran{"b", 1, []float64{1, 2, 3}})
	r.doubtCPU([][]map[string]float64{{{"requests": 1}}, {{"requests": 1}, {"cpu_uncounted_server": 1}}})
	got := strings.Join(r.Warnings, "; ")
	if strings.Count(got, "no cpu") != 1 || !strings.Contains(got, "of the server") || !strings.Contains(got, "in b:") {
		t.Errorf("got %q", got)
	}
}

// Energy that is modelled from bodies is not compared with energy modelled from the wire.
func TestModelledBytesThatDiffer(t *testing.T) {
	r := reportOfRan(t, ran{"a", 1, []float64{1, 2, 3}}, ran{"b", 1, []float64{1, 2, 3}})
	wire, bodies := []map[string]float64{{"client_model_on_wire": 1}}, []map[string]float64{{"client_model_on_wire": 0}}
	for _, tt := range []struct {
		noted [][]map[string]float64
		want  string
	}{
		{[][]map[string]float64{wire, bodies}, "of the client is modelled from bodies alone in b, and from all bytes on the wire in a"},
		{[][]map[string]float64{wire, wire}, ""},
		{[][]map[string]float64{bodies, bodies}, ""},
		{[][]map[string]float64{bodies, nil}, ""},
	} {
		r.Warnings = nil
		r.doubtModelledBytes(tt.noted)
		if got := strings.Join(r.Warnings, ""); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%v: got %q, want %q", tt.noted, got, tt.want)
		}
	}
}

// Programs that kept records of many more requests than others take more memory by that.
func TestMemoryOfUnlikeNumbersOfRequests(t *testing.T) {
	for _, tt := range []struct {
		rss      float64
		requests [2]float64
		want     string
	}{
		{10e6, [2]float64{35_000, 100_000}, "2.24 MB for 35000 requests, 6.40 MB for 100000"},
		{10e6, [2]float64{100_000, 100_000}, ""},
		{10e6, [2]float64{100_000, 101_000}, ""},
		{500e6, [2]float64{35_000, 100_000}, ""},
	} {
		r := reportOf(t, fabricated(t, "study: s\nservice: monitor\nfactors: {stack: [a, b]}\ndesign: {replications: 3, seed: 1}\n",
			func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }))
		for i := range r.Treatments {
			c := Cell{Treatment: i, Side: measure.Server, Response: "peak_rss", Unit: "B"}
			c.Mean.Center = tt.rss
			r.Cells = append(r.Cells, c)
		}
		r.Warnings = nil
		r.doubtMemory([][]map[string]float64{{{"requests": tt.requests[0]}}, {{"requests": tt.requests[1]}}})
		if got := strings.Join(r.Warnings, ""); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

// Each bench of several chooses its CPUs: no program of a placement is said to have had any.
func TestPlacementsWithoutCPUs(t *testing.T) {
	for name, want := range map[string][2]string{study.Together: {"shared one CPU;", "shared CPU 1;"},
		study.Apart: {"had a CPU each;", "client on CPU 1, server on CPU 0;"}} {
		for i, pin := range []study.Pin{{}, {Client: []int{1}, Server: []int{0}}} {
			if got := placementMeans(name, pin); !strings.Contains(got, want[i]) {
				t.Errorf("%s, %v: got %s", name, pin, got)
			}
		}
	}
}

// How many trials ran at once is what a block allowed: it has one of each treatment.
func TestTrialsAtOnce(t *testing.T) {
	for factors, want := range map[string]string{
		"stack: a\nat_once: 6\n":                       "",
		"factors: {stack: [a, b]}\nat_once: 6\n":       "Trials ran up to 2 at once, each behind a link of its own",
		"factors: {stack: [a, b, c, d]}\nat_once: 3\n": "Trials ran up to 3 at once, each behind",
		"factors: {stack: [a, b, c, d]}\nat_once: 1\n": "",
		"factors: {at_once: [1, 2, 3]}\nstack: a\n":    "",
	} {
		text := "study: s\nservice: monitor\nlink: {delay: 10ms}\n" + factors + "design: {replications: 3, seed: 1}\n"
		r := reportOf(t, fabricated(t, text, func(_ map[string]string, block int) float64 { return 1e-3 * wobble(block) }))
		if got := strings.Join(r.atOnce(), ""); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", factors, got, want)
		}
	}
}
