package report

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Where both programs compute slowly in the same trials, the CPU was slow, and the answer
// says so. One program that does, or by turns, and a small change say nothing of the CPU.
func TestCPUOfSeveralSpeeds(t *testing.T) {
	file := "study: s\nservice: monitor\nrequests: 100\nfactors: {stack: [a, b]}\ndesign: {replications: 12, seed: 1}\n"
	slow := func(block, third int, by float64) float64 {
		if block%3 == third {
			return by
		}
		return 1
	}
	for name, c := range map[string]struct {
		client, server func(block int) float64
		want           string
	}{
		"both": {func(b int) float64 { return slow(b, 0, 1.6) }, func(b int) float64 { return slow(b, 0, 1.6) },
			"times as long in the slowest tenth of 24 trials"},
		"one":     {func(b int) float64 { return 1 }, func(b int) float64 { return slow(b, 0, 1.6) }, ""},
		"by turn": {func(b int) float64 { return slow(b, 1, 1.6) }, func(b int) float64 { return slow(b, 0, 1.6) }, ""},
		"little":  {func(b int) float64 { return slow(b, 0, 1.1) }, func(b int) float64 { return slow(b, 0, 1.1) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := exactly(nil)
			w.exact = func(at map[string]string, block int) []store.Result {
				took := func(side measure.Side, response string, v float64) store.Result {
					v *= wobble(block) * map[string]float64{"a": 1, "b": 7}[at["stack"]]
					return store.Result{Side: side, Response: response, Unit: "s", N: 100, Mean: v, SD: v / 10, Median: v,
						P95: 1.2 * v, Min: 0.9 * v, Max: 1.3 * v, Method: store.Measured}
				}
				return []store.Result{took(measure.Client, "rtt", 20e-6),
					took(measure.Client, "deserialization", 300e-9*c.client(block)),
					took(measure.Server, "deserialization", 900e-9*c.server(block))}
			}
			got := strings.Join(reportOf(t, w.write(t, file)).Verdict(), "\n")
			if told := strings.Contains(got, "the CPU did not run at one speed"); told != (c.want != "") ||
				!strings.Contains(got, c.want) {
				t.Errorf("want %q in %s", c.want, got)
			}
		})
	}
}
