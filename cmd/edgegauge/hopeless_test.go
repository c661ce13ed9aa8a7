package main

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/bench/verdictbench"
)

// A pilot so wild that no practical number of blocks finds the difference is no mistake of the
// user's: compare says what is wrong and what to do, and that it could not measure.
func TestHopelessPilot(t *testing.T) {
	t.Parallel()
	o := newOwn(t)
	const text = "study: wild\nservice: monitor\nrequests: 2\nfactors: {stack: [s@base, s]}\n" +
		"design: {replications: 4, seed: 1}\nresponses: [rtt]\n"
	o.write(t, "wild.yaml", text)
	truth := verdictbench.Truth{Study: text, RTT: func(r *rand.Rand, _, _ int) float64 {
		return 1e-3 * math.Exp(4*r.NormFloat64())
	}}
	if err := truth.Write(filepath.Join(o.dir, "wild"), rand.New(rand.NewPCG(3, 3))); err != nil {
		t.Fatal(err)
	}
	out, code := o.run(t, "compare", "--from", "wild", "--with", "wild.yaml", "--detect", "5%")
	said := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{"not even 100000 blocks find a change of 5 %",
		"no practical number of blocks finds it; 4 are " +
			"measured",
		"make trials longer (requests, min_duration), measure on a quieter machine, or look for a larger difference"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if code != exitUnmeasured {
		t.Errorf("exit code %d", code)
	}
}
