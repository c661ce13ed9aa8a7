package report

import (
	"math"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// A response that the study names, and that some treatments lack, is said to be lacking, and why; one that is not named
// or that a level leaves out is not.
func TestLackingResponsesAreExplained(t *testing.T) {
	w := exactly(nil)
	w.exact = func(at map[string]string, block int) []store.Result {
		of := func(response string, v float64) store.Result {
			return store.Result{Side: measure.Client, Response: response, Unit: "s", N: 1, Mean: v, SD: math.NaN(), Median: v,
				P95: math.NaN(), Min: v, Max: v, Method: store.Measured}
		}
		out := []store.Result{of("rtt", 1e-3*wobble(block))}
		if at["stack"] == "a" {
			out = append(out, of("first_invoke", 5e-3*wobble(block)))
		}
		return out
	}
	const lacks = "no first_invoke of b: the client told of none"
	for file, want := range map[string]bool{
		oneTreatment + "responses: [rtt, first_invoke]\n": true, oneTreatment + "responses: [rtt]\n": false,
		oneTreatment: false,
		strings.Replace(oneTreatment, "[a, b]", "[a, {name: b, stack: b, leave_out: [first_invoke]}]", 1) +
			"responses: [rtt, first_invoke]\n": false,
	} {
		r := reportOf(t, w.write(t, file))
		if said := strings.Contains(strings.Join(r.Warnings, "\n"), lacks); said != want {
			t.Errorf("%s: got %q, want %q: %v", file, r.Warnings, lacks, want)
		}
	}
}
