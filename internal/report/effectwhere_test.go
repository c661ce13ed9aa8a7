package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// A factor that matters at some levels of the others is not said to matter at all of them; nor is who is better there
// said where the other one is.
func TestSentencesSayWhereALevelIsBetter(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [rest, soap, cbor, protobuf], ip: [ipv4, ipv6]}\n" +
		"design: {replications: 10}\n"
	for _, x := range []struct {
		words  string
		ratios map[string]float64 // of ipv6 to ipv4
		want   []string
		not    string
	}{
		{"at half of them", map[string]float64{"rest": 1.3, "soap": 1.5},
			[]string{"ipv4 answers sooner than ipv6 at rest (1.", ", soap (1.", "; no difference shown at ", "cbor (",
				"protobuf (", "; ratios are ipv6 to ipv4."}, "by how much"},
		{"at two, and hardly at two", map[string]float64{"rest": 1.3, "soap": 1.5, "cbor": 1.005, "protobuf": 1.008},
			[]string{"ipv4 answers sooner than ipv6 at rest (1.", ", soap (1.", "; no difference shown at protobuf (1.0",
				", cbor (1.0", "; ratios are ipv6 to ipv4."}, "by how much"},
		{"at all, differently", map[string]float64{"rest": 1.3, "soap": 1.5, "cbor": 1.2, "protobuf": 2},
			[]string{"ipv4 answers sooner than ipv6; by how much depends on the other factors"}, "no difference shown"},
		{"at one and the other way round at another", map[string]float64{"rest": 1.5, "soap": 0.7},
			[]string{"Which of ipv4 and ipv6 has the lower RTT depends on the other factors: ipv4 at rest (1.",
				"; the other way round, ipv6 at soap (0.", "; no difference shown at ", "cbor (", "protobuf ("}, ""},
		{"at all but one, where it turns round", map[string]float64{"rest": 1.5, "soap": 1.5, "cbor": 1.5, "protobuf": 0.7},
			[]string{"Which of ipv4 and ipv6 has the lower RTT depends on the other factors: ipv4 at ",
				"; the other way round, ipv6 at protobuf (0.", "; ratios are ipv6 to ipv4."}, "no difference shown"},
	} {
		value := func(at map[string]string, side measure.Side, response string) (mean, sd float64) {
			if response != "rtt" || side != measure.Client {
				return math.NaN(), 0
			}
			v := 0.010
			if ratio, ok := x.ratios[at["stack"]]; ok && at["ip"] == "ipv6" {
				v *= ratio
			}
			return v, v / 50
		}
		r := reportOf(t, simulated(t, file, value))
		found := false
		for _, says := range effectsOf(t, r, "rtt").sentences(0.95, nil) {
			if !strings.Contains(says, "ipv4 answers sooner than ipv6") && !strings.Contains(says, "Which of ipv4 and ipv6") {
				continue
			}
			found = true
			for _, want := range x.want {
				if !strings.Contains(says, want) {
					t.Errorf("%s: no %q in %q", x.words, want, says)
				}
			}
			if x.not != "" && strings.Contains(says, x.not) {
				t.Errorf("%s: %q in %q", x.words, x.not, says)
			}
		}
		if !found {
			t.Errorf("%s: nothing is said", x.words)
		}
	}
}
