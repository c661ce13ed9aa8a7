package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// A trial that ends after a time and may have no request by then, or one where a response takes two, is refused; one
// that fails once in a thousand times is not.
func TestTrialsOfTooFewRequests(t *testing.T) {
	b := bed(t)
	for _, x := range []struct{ study, want string }{
		{"rate: 1\narrival: poisson\nduration: 100ms", "s.yaml:6:11: poisson arrivals at 1/s send no request in 100ms, in " +
			"90.5% of the trials; write a longer duration, or arrival: constant"},
		{"rate: 0.1\narrival: poisson\nduration: 30s", "poisson arrivals at 0.1/s send no request in 30s, in 4.98% of"},
		{"rate: 10\narrival: poisson\nduration: 690ms", "in 0.101% of the trials"},
		{"rate: 10\narrival: poisson\nduration: 700ms", ""},
		{"rate: 1\nduration: 100ms", ""},
		{"rate: 1\narrival: poisson\nrequests: 5", ""},
		{"factors: {rate: [1, 100]}\narrival: poisson\nduration: 1s", "or exclude: [{rate: 1}]"},
		{"rate: 1\narrival: poisson\nduration: 3s\ndriven_from: 2", "in 0.248% of the trials"},
		{"rate: 1\narrival: poisson\nduration: 4s\ndriven_from: 2", ""},

		{"rate: 10\narrival: poisson\nduration: 900ms\nresponses: [rtt, jitter]", "jitter takes two requests, and poisson " +
			"arrivals at 10/s send fewer in 900ms, in 0.123% of the trials"},
		{"rate: 10\narrival: poisson\nduration: 1s\nresponses: [rtt, jitter]", ""},
		{"rate: 10\narrival: poisson\nduration: 900ms\nresponses: [rtt, jitter]\nleave_out: [jitter]", ""},
		{"rate: 10\narrival: poisson\nduration: 900ms\nresponses: [rtt, jitter]\ncapture: off", ""},
		{"rate: 1\nduration: 500ms\nresponses: [rtt, jitter]", "packets cannot give jitter for reference/rest-json: jitter " +
			"takes two requests; drop these responses"},
		{"rate: 2\nduration: 500ms\nresponses: [jitter_rfc3550]", "jitter takes two requests"},
		{"rate: 2\nduration: 501ms\nresponses: [jitter_rfc3550]", ""},
		{"rate: 1\nduration: 500ms\nresponses: [delay]", ""},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nstack: rest-json\n"+x.study+"\n"))
		if err != nil {
			t.Errorf("%s: %v", x.study, err)
			continue
		}
		a := b.assemble(p, b.Exe, b.Temp)
		a.seePackets()
		a.seeFew()
		if got := fmt.Sprint(a.err()); (a.err() == nil) != (x.want == "") || !strings.Contains(got, x.want) ||
			len(a.faults) > 1 {
			t.Errorf("%s: got %s, want %s", x.study, got, x.want)
		}
	}
}
