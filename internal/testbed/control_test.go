package testbed

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/store"
)

// Of quiet benches hardly any is drained, however often it is looked at, and one whose controls become slower is.
func TestControlsThatDrift(t *testing.T) {
	const benches, blocks, confidence = 1000, 256, 0.95
	// drained is how many of the benches are, if their second half is slower.
	drained := func(slower float64) (n int) {
		r := rand.New(rand.NewPCG(3, uint64(1000*slower)))
		for range benches {
			own := map[string][]float64{}
			for _, name := range []string{"floor-tcp", "floor-udp"} {
				for b := range blocks {
					x := math.Exp(0.05 * r.NormFloat64())
					if b >= blocks/2 {
						x *= slower
					}
					own[name] = append(own[name], x)
				}
			}
			for seen := 8; seen <= blocks; seen *= 2 { // as the coordinator looks
				so := map[string][]float64{}
				for name, all := range own {
					so[name] = all[:seen]
				}
				if drifted(so, confidence) != "" {
					n++
					break
				}
			}
		}
		return n
	}
	quiet, slow := drained(1), drained(1.05)
	t.Logf("drained: %d of %d quiet benches, %d of those that became 5 %% slower", quiet, benches, slow)
	if quiet > 25 || slow < 990 {
		t.Errorf("%d of %d quiet benches are drained, and %d of those that became slower", quiet, benches, slow)
	}
}

// The controls are the medians of a bench's own blocks: not those of another bench, nor another stack's or response's.
func TestControlsOfALedger(t *testing.T) {
	b := bed(t)
	text := []byte("study: s\nservice: echo\nn: 4\nfactors: {stack: [reference/floor-tcp, reference/rest-json]}\n" +
		"requests: 5\ndesign: {replications: 16}\nresponses: [rtt]\n")
	kept, plan, err := fabricated.Create(filepath.Join(t.TempDir(), "out"), text)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	blocks := map[string]int{}
	for _, x := range plan.Trials {
		for i, bench := range []string{"quiet", "slower"} {
			if x.Block%2 != i {
				continue
			}
			ms, floor := 1.0, strings.Contains(x.Setup.Client.Stack, "floor")
			if floor {
				blocks[bench]++
			}
			if slow := blocks[bench] > 4; slow && (bench == "slower") == floor { // rest-json becomes slower at quiet
				ms = 2
			}
			a, err := kept.BeginOn(x.ID, store.Bench{Name: bench, Boot: "1"})
			if err != nil {
				t.Fatal(err)
			}
			ms *= 1 + float64(x.Block%5)/100
			row := func(side measure.Side, s float64) store.Result {
				return store.Result{Side: side, Response: "rtt", Unit: "s", N: 5, Method: store.Measured, Mean: s, Median: s,
					P95: s, Min: s, Max: s, SD: s / 100}
			}
			if err := a.Commit([]store.Result{row(measure.Client, ms/1000)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	e := &Experiment{Lab: &lab.Lab{Plan: plan, Store: kept}, assembly: &assembly{bed: b}}
	if got, err := e.moved("quiet"); got != "" || err != nil {
		t.Errorf("the quiet bench: got %q, %v", got, err)
	}
	got, err := e.moved("slower")
	if want := "in the second half of its 8 blocks it takes 2"; err != nil || !strings.Contains(got, want) ||
		!strings.Contains(got, "floor-tcp") {
		t.Errorf("the slower bench: got %q, %v", got, err)
	}
}
