package capacity

import (
	"math"
	"testing"

	"edgegauge.example/edgegauge/internal/store"
)

// Of what stands in strangers' results, a search goes on with nothing but rates that it can have asked for, and takes
// no more room than there are trials.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`{"format":1,"slo":"failed < 5%","settings":[],"first_requests_per_s":1,"most_requests_per_s":9}`), 1, 2,
		"100/s")
	f.Add([]byte(`{"format":1,"first_requests_per_s":1e308,"most_requests_per_s":-1}`), 1<<62, 1, "NaN/s")
	f.Add([]byte(`{"format":1}`), -1, 1, "+Inf")
	f.Add([]byte(`{"format":2}`), 1, 1, "0x1p-2/s")
	f.Fuzz(func(t *testing.T, note []byte, first, second int, rate string) {
		if n, err := parseNote("d", note); err == nil && !(n.First >= 0 && n.Most > 0 && n.Driver >= 0) {
			t.Fatalf("%s became %+v", note, n)
		}
		var trials []store.TrialState
		for i, block := range []int{first, second} {
			trials = append(trials, store.TrialState{PlannedTrial: store.PlannedTrial{ID: i + 1, Block: block,
				Treatment: []store.Level{{Factor: "stack", Text: "s"}, {Factor: "rate", Text: rate}}}})
		}
		blocks, err := ratesOf("d", trials)
		if err != nil {
			return
		}
		n := 0
		for _, b := range blocks {
			for _, x := range b {
				if n++; !(x > 0) || math.IsInf(x, 0) {
					t.Fatalf("a rate of %v", x)
				}
			}
		}
		if n != len(trials) || len(blocks) > len(trials) {
			t.Fatalf("%d rates in %d blocks, of %d trials", n, len(blocks), len(trials))
		}
	})
}
