package labbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"edgegauge.example/edgegauge/internal/bench/storebench"
	"edgegauge.example/edgegauge/internal/stat"
)

// StoreVerb is the hidden verb `edgegauge bench-store DIR [TRIALS REQUESTS]`: it measures the
// store in a process of its own, since a peak RSS is a process's.
const StoreVerb = "bench-store"

// A hundred trials of 100,000 exchanges.
const storedTrials, storedRequests = 100, 100_000

// StoreMain measures below a directory and prints the result as JSON.
func StoreMain(args []string, stdout io.Writer) error {
	trials, requests := storedTrials, storedRequests
	var err error
	switch len(args) {
	case 1:
	case 3:
		if trials, err = strconv.Atoi(args[1]); err == nil {
			requests, err = strconv.Atoi(args[2])
		}
	default:
		err = errors.New("name a directory, or also numbers of trials and of requests in each")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", StoreVerb, err)
	}
	r, err := storebench.Measure(args[0], trials, requests)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(r)
}

// storeParts are ten million exchanges in 100 trials, and a hundred million in 1,000.
func storeParts() []Part {
	return []Part{
		{Name: "store/10M", Says: "10 million exchanges", Measure: storedRows(100, "10 million", 5, 300)},
		{Name: "store/100M", Says: "100 million exchanges", Measure: storedRows(1000, "100 million", 10, 100)},
	}
}

func storeRows(ctx context.Context, b *Bench) ([]Row, error) {
	var all []Row
	for _, p := range storeParts() {
		rows, err := p.Measure(ctx, b)
		if all = append(all, rows...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// storedRows measures that many trials, which may take mostS seconds and mostMB.
func storedRows(trials int, number string, mostS, mostMB float64) func(context.Context, *Bench) ([]Row, error) {
	return func(ctx context.Context, b *Bench) ([]Row, error) {
		const rounds = 3
		var walls, cpus, peaks, moving, stored []float64
		for range rounds {
			cmd := exec.CommandContext(ctx, b.Exe, StoreVerb, b.Dir, strconv.Itoa(trials), strconv.Itoa(storedRequests))
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", StoreVerb, err)
			}
			var r storebench.Measurement
			if err := json.Unmarshal(out, &r); err != nil {
				return nil, err
			}
			walls = append(walls, r.All().Wall.Seconds())
			cpus = append(cpus, r.All().CPU.Seconds())
			peaks = append(peaks, float64(r.PeakRSS)/1e6)
			moving, stored = append(moving, r.Moving.Seconds()), append(stored, r.Stored.Wall.Seconds())
		}
		wall, peak := bound{atMost: true, value: mostS}, bound{atMost: true, value: mostMB}
		return []Row{
			{Figure: fmt.Sprintf("s to store, read and summarize %s exchanges", number), Wanted: wall.String(),
				Measured: interval(stat.Middle(walls), 0, 0),
				Verdict:  wall.verdict(stat.Middle(walls), 0, 0),
				How: fmt.Sprintf("%d fresh processes, medians: %d trials of %d, synced, on all CPUs; %.1f s of the wall clock "+
					"to store; %.1f s of CPU time, %.1f s of them to number and date exchanges that were made before",
					rounds, trials, storedRequests, stat.Middle(stored), stat.Middle(cpus), stat.Middle(moving))},
			{Figure: "MB peak RSS of that process", Wanted: peak.String(), Measured: interval(stat.Middle(peaks), 0, 0),
				Verdict: peak.verdict(stat.Middle(peaks), 0, 0)},
		}, nil
	}
}
