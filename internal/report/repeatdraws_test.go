package report

import (
	"encoding/json"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/study"
)

// A repetition with the same seed has the same losses, and says so; with another seed, or where nothing is drawn, it
// does not.
func TestARepetitionSaysThatItsDrawsAreTheSame(t *testing.T) {
	of := func(seed uint64, facts string, setup study.Setup) *Report {
		r := &Report{Treatments: []Treatment{{setup: &setup}}}
		r.Study.Design.Seed = seed
		if err := json.Unmarshal([]byte(facts), &r.Facts); err != nil {
			t.Fatal(err)
		}
		return r
	}
	const lossy = `{"links": {"bad": {"Up": {"Delay": 20000000, "Loss": 0.04}, "Shaper": ""}}}`
	const spread = `{"links": {"bad": {"Down": {"Delay": 20000000, "DelayStdDev": 1000}}}}`
	const kernels = `{"links": {"bad": {"Up": {"Loss": 0.04}, "Shaper": "netem"}}}`
	const steady = `{"links": {"bad": {"Up": {"Delay": 20000000}}}}`
	linked := study.Setup{Link: study.Link{Text: "bad"}}
	for _, c := range []struct {
		what, facts string
		setup       study.Setup
		seed        uint64
		want        string
	}{
		{"losses", lossy, linked, 7, "same draws of losses and delays of links, since"},
		{"a spread of delays", spread, linked, 7, "same draws of losses and delays of links, since"},
		{"another seed", lossy, linked, 8, ""},
		{"losses that the kernel draws", kernels, linked, 7, ""},
		{"a link that draws nothing", steady, linked, 7, ""},
		{"no link", steady, study.Setup{Arrival: "constant", Rate: 5}, 7, ""},
		{"random arrivals on a lossy link", lossy, study.Setup{Link: linked.Link, Arrival: "poisson", Rate: 5}, 7,
			"losses and delays of links and of random arrivals"},
		{"devices", steady, study.Setup{Population: study.Population{Devices: 3}}, 7,
			"when devices report, fail and retry"},
	} {
		x := Repeated{Like: "kept", Again: "again", Drawn: drawn(of(7, c.facts, c.setup), of(c.seed, c.facts, c.setup))}
		var text, object strings.Builder
		if err := x.Text(&text); err != nil {
			t.Fatal(err)
		}
		if err := x.JSON(&object); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(strings.Fields(text.String()), " ")
		if c.want == "" && (strings.Contains(said, "draws") || strings.Contains(object.String(), "same_draws")) {
			t.Errorf("%s: it says %s", c.what, said)
		}
		const others = "to take others add --set design.seed=8"
		if !strings.Contains(said, c.want) || c.want != "" && (!strings.Contains(said, others) ||
			!strings.Contains(object.String(), c.want)) {
			t.Errorf("%s: no %q in %s%s", c.what, c.want, said, object.String())
		}
	}
}
