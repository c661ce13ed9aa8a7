package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/advise"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stat"
	"edgegauge.example/edgegauge/internal/store"
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

// Where programs waited for a CPU a level is called the better one only at those levels of the others at which that
// does not explain it, though it is by and large: 0.12 s in each second may be a ratio of 1/(1 - 1.2 · 0.12) = 1.168.
func TestSentencesDecideNothingThatWaitingMayExplain(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [rest, soap, cbor, protobuf], ip: [ipv4, ipv6]}\n" +
		"design: {replications: 10}\n"
	ratios := map[string]float64{"rest": 1.08, "soap": 2, "cbor": 1.5, "protobuf": 3} // of ipv6 to ipv4
	for wait, want := range map[float64]string{
		0:   "ipv4 answers sooner than ipv6; by how much depends on the other factors: ratio ipv6 to ipv4 is 1.0",
		1.2: "; no difference shown beyond what waiting for a CPU may explain (a ratio of up to 1.168) at rest (1.0",
	} {
		w := world{method: store.Measured, quality: func(map[string]string, int) []store.Quality {
			return []store.Quality{{Key: "span", Unit: "s", Value: 10}, {Key: "run_queue_wait_client", Unit: "s", Value: wait}}
		}, value: func(at map[string]string, side measure.Side, response string) (mean, sd float64) {
			if response != "rtt" || side != measure.Client {
				return math.NaN(), 0
			}
			v := 0.010
			if at["ip"] == "ipv6" {
				v *= ratios[at["stack"]]
			}
			return v, v / 50
		}}
		says := strings.Join(effectsOf(t, reportOf(t, w.write(t, file)), "rtt").sentences(0.95, nil), "\n")
		if !strings.Contains(says, want) ||
			strings.Contains(says, "ipv4 answers sooner than ipv6 at cbor (1.") != (wait > 0) {
			t.Errorf("waiting for %g s in 10: got %s, want %q", wait, says, want)
		}
	}
	// What waiting may explain at each of them, and not at all of them together, is said of all.
	at := func(name string, ratio, lo, hi float64) advise.Stratum {
		return advise.Stratum{Levels: []string{name}, Comparison: stat.Comparison{Estimate: ratio, Lo: lo, Hi: hi}}
	}
	c := LevelContrast{Factor: "ip", Best: "ipv4", Other: "ipv6", PAdjusted: 1e-6, Wide: 1.38, Published: math.NaN(),
		Comparison: stat.Comparison{Estimate: 1.44, Lo: 1.4, Hi: 1.48},
		Strata:     []advise.Stratum{at("rest", 1.3, 1.25, 1.35), at("soap", 1.6, 1.37, 1.86)}}
	const all = "ipv6 takes 1.440 times as long to answer as ipv4 (1.400 to 1.480; not the same everywhere: 1.300 " +
		"(1.250 to 1.350) at rest, 1.600 (1.370 to 1.860) at soap)."
	if got := c.Sentence(Panel{Side: measure.Client, Response: "rtt", Unit: "s"}, 0.95); got != all {
		t.Errorf("got %s, want %s", got, all)
	}
}

// A ratio that has no spread stands in strata without an interval: the answer has the same two treatments with one, of
// all pairs, and a ratio has one interval.
func TestStrataWithoutSpreadHaveNoInterval(t *testing.T) {
	const file = "study: s\nservice: monitor\nfactors: {stack: [rest, soap], security: [none, tls]}\n" +
		"responses: [message_size]\ndesign: {replications: 6}\n"
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		v := map[string]float64{"rest none": 200, "rest tls": 300, "soap none": 954, "soap tls": 700}[at["stack"]+" "+
			at["security"]]
		if at["security"] == "tls" {
			v += float64(block * 7 % 5 * len(at["stack"]+"x") / (1 + block%2))
		}
		return []store.Result{{Side: measure.Client, Response: "message_size", Unit: "B", N: 100, Mean: v, Median: v, P95: v,
			Min: v, Max: v, Method: store.Measured}}
	}
	var text strings.Builder
	r := reportOf(t, w.write(t, file))
	if err := r.Markdown(&text); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range r.Effects {
		for _, c := range e.Levels {
			for _, s := range c.Strata {
				if s.Lo < s.Hi {
					continue
				}
				found++
				if says := c.perStratum() + strataText(c.Strata); strings.Contains(says, "no spread") ||
					!strings.Contains(says, ratioText(s.Estimate)) || strings.Contains(says, "()") {
					t.Errorf("got %q", says)
				}
			}
		}
	}
	if found == 0 || strings.Contains(text.String(), "(no spread) at ") {
		t.Errorf("%d strata have no spread:\n%s", found, text.String())
	}
}
