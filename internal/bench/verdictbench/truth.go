// Package verdictbench holds the verdicts of the command line against fabricated
// truths: it writes results whose truth is known, asks compare, confirm, choose, report
// and report --claims, and counts how often the answer is wrong. It measures nothing.
package verdictbench

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"edgegauge.example/edgegauge/internal/lab/fabricated"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// A Truth is what the trials of a fabricated study give.
type Truth struct {
	Treatments, Blocks int
	// RTT is one trial's, in s; NaN: the trial is invalid.
	RTT func(r *rand.Rand, treatment, block int) float64
	// Draw draws a data set whose trials hang together, in place of RTT.
	Draw func(r *rand.Rand) func(treatment, block int) float64
	// Waiting is how long each side waited for a CPU, in s for each s of the run.
	Waiting float64
	// Modelled: the figures are said to be a model's.
	Modelled bool
	// Study is the text of the study; empty: Treatments stacks called s1, s2, ….
	Study string
	// Failed is how many of the probeRequests requests of a run fail. Where it is
	// given, the truth is a probe of Blocks runs, and a file.
	Failed func(r *rand.Rand, run int) int
	// Facts is the text of facts.json; empty: of a machine of which nothing is known.
	Facts string
	// Confirms makes the data set a confirmation; nil: it is none.
	Confirms *report.Confirms
	// Fleet is what the benches are that share the study; nil: one bench.
	Fleet *Fleet
}

// A Fleet is several benches that take turns at the blocks: b1, b2, ….
type Fleet struct {
	Benches int
	Spread  float64 // of benches, relative
	Rank    float64 // how much benches rank treatments differently: spread of treatment×bench, relative
	Odd     float64 // how many times as long the last treatment takes on b1; 0: as long as elsewhere
	Moves   float64 // how many times as long all takes on b1 in the second half of the study; 0: as long as before
	Lacks   bool    // the last treatment never works on b1
}

// draw gives each bench what it is, by bench and treatment.
func (f *Fleet) draw(r *rand.Rand, treatments int) [][]float64 {
	times := make([][]float64, f.Benches)
	for b := range times {
		bench := f.Spread * r.NormFloat64()
		for range treatments {
			times[b] = append(times[b], math.Exp(bench+f.Rank*r.NormFloat64()))
		}
	}
	if last := treatments - 1; f.Odd > 0 {
		times[0][last] *= f.Odd
	} else if f.Lacks {
		times[0][last] = math.NaN()
	}
	return times
}

// probeRequests are those of a fabricated probe's run.
const probeRequests = 200

func (t Truth) study() []byte {
	if t.Study != "" {
		return []byte(t.Study)
	}
	var names []string
	for i := range t.Treatments {
		names = append(names, fmt.Sprintf("s%d", i+1))
	}
	stacks := "factors: {stack: [" + strings.Join(names, ", ") + "]}"
	if len(names) == 1 {
		stacks = "stack: " + names[0]
	}
	return fmt.Appendf(nil,
		"study: truth\nservice: monitor\nrequests: 100\n%s\ndesign: {replications: %d, seed: 1}\nresponses: [rtt]\n",
		stacks, t.Blocks)
}

// writeProbe writes what probe --json prints.
func (t Truth) writeProbe(path string, r *rand.Rand) error {
	runs, failures := []map[string]any{}, 0
	for i := range t.Blocks {
		failed, v := t.Failed(r, i), t.RTT(r, 0, i+1)
		failures += failed
		run := map[string]any{"requests": probeRequests, "failures": failed, "request_body": 0}
		if n := probeRequests - failed; n > 0 {
			times := map[string]any{"n": n, "mean": v, "sd": v / 10, "median": v, "p95": 1.2 * v, "p99": nil, "min": 0.9 * v,
				"max": 1.3 * v}
			run["rtt"], run["response_time"], run["response_body"], run["answers"] = times, times, 2, 1/v
		}
		runs = append(runs, run)
	}
	text, err := json.Marshal(map[string]any{"format": 1, "kind": "probe", "url": "http://h/",
		"requests": t.Blocks * probeRequests,
		"failures": failures, "first_failure": "connection refused", "runs": t.Blocks, "per_run": runs})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// Write writes a results directory as a lab leaves it, or a probe's file.
func (t Truth) Write(dir string, r *rand.Rand) error {
	if t.Failed != nil {
		return t.writeProbe(dir, r)
	}
	if t.Draw != nil {
		rtt := t.Draw(r)
		t.RTT = func(_ *rand.Rand, treatment, block int) float64 { return rtt(treatment, block) }
	}
	facts := t.Facts
	if facts == "" {
		facts = `{"edgegauge":{"version":"bench"},"placement":{}}` // as labs of today write them
	}
	kept, p, err := fabricated.CreateOn(dir, t.study(), []byte(facts))
	if err != nil {
		return err
	}
	defer kept.Close()
	var times [][]float64
	if t.Fleet != nil {
		times = t.Fleet.draw(r, p.Study.Treatments())
	}
	if t.Confirms != nil {
		if err := t.Confirms.Write(dir); err != nil {
			return err
		}
	}
	return kept.Together(func() error { return t.trials(kept, p, times, r) })
}

func (t Truth) trials(kept *store.Store, p study.Plan, times [][]float64, r *rand.Rand) error {
	for _, trial := range p.Trials {
		v, on := t.RTT(r, trial.Cell, trial.Block), store.Bench{}
		if f := t.Fleet; f != nil {
			b := (trial.Block - 1) % f.Benches
			on = store.Bench{Name: fmt.Sprintf("b%d", b+1), Boot: "1"}
			v *= times[b][trial.Cell]
			if f.Moves > 0 && b == 0 && 2*trial.Block > p.Study.Design.Replications {
				v *= f.Moves
			}
		}
		if err := t.trial(kept, trial, on, v); err != nil {
			return err
		}
	}
	return kept.End("")
}

func (t Truth) trial(s *store.Store, trial study.Trial, on store.Bench, v float64) error {
	a, err := s.BeginOn(trial.ID, on)
	if err != nil {
		return err
	}
	if math.IsNaN(v) {
		return a.Invalidate("all requests failed", "", nil)
	}
	quality := []store.Quality{{Key: "span", Unit: "s", Value: 1},
		{Key: "run_queue_wait_client", Unit: "s", Value: t.Waiting}}
	method := store.Measured
	if t.Modelled {
		method = store.Modelled
	}
	return a.Commit([]store.Result{{Side: measure.Client, Response: "rtt", Unit: "s", N: 100, Mean: v, SD: v / 10,
		Median: v, P95: 1.2 * v,
		Min: 0.9 * v, Max: 1.3 * v, Method: method}}, quality)
}
