package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Where runs rise, fall or are of two kinds, probe says so, and a bound among them is not called kept to. A bound that
// is met, one beyond all runs, and runs that differ by chance, are judged as before.
func TestRunsThatAreNoReplications(t *testing.T) {
	ms := func(values ...float64) (all []time.Duration) {
		for _, v := range values {
			all = append(all, time.Duration(v*1e6))
		}
		return all
	}
	kinds := ms(1.2, 1.3, 2.3, 1.2, 10.6, 10.4)
	grows := ms(9.4, 20, 31, 43, 55, 67, 80, 94, 108, 122.6)
	steady := ms(9, 10, 11, 10, 9.5, 10.5)
	wanes := slices.Clone(grows)
	slices.Reverse(wanes)
	const two = "response time is at most 2.30 ms in 4 runs and at least 10.4 ms in 2 runs: the runs are of two kinds"
	const rises = "response time rises from run to run (9.40 ms in the first, 123 ms in the last; p "
	for _, tt := range []struct {
		runs            []time.Duration
		condition, want string
		says, not       string
	}{
		{kinds, "mean>9ms", "mean>9ms: undecided", two, ""},
		{kinds, "rate<95", "rate<95: undecided", two, ""},
		{kinds, "median>10ms", "median>10ms: undecided", "the median is at most 2.30 ms in 4 runs", "more --runs"},
		{kinds, "mean>1s", "mean>1s: not met", two, ""},
		{kinds, "mean>900us", "mean>900us: met", two, ""},
		{grows, "mean>110ms", "mean>110ms: undecided", rises, "more --runs"},
		{grows, "mean>70ms", "mean>70ms: undecided", rises, "more --runs"},
		{grows, "mean>20ms", "mean>20ms: met", rises, ""},
		{grows, "rate<9", "rate<9: undecided", "the rate falls from run to run (106 /s in the first", "more --runs"},
		{wanes, "mean>110ms", "mean>110ms: undecided", "response time falls from run to run", "more --runs"},
		{steady, "mean>10.9ms", "mean>10.9ms: not met", "", "run to run"},
		{steady, "mean>10ms", "mean>10ms: undecided", "more --runs would decide", "two kinds"},
		{ms(1, 1, 1.1, 1, 1, 9), "mean>8ms", "mean>8ms: not met", "", "two kinds"},
		{kinds[:1], "max>9ms", "max>9ms: not met", "", "two kinds"},
	} {
		text, _ := probe{}.printed(t, runsOf(0, tt.runs...), tt.condition)
		if !strings.Contains(text, tt.want) || !strings.Contains(text, tt.says) ||
			tt.not != "" && strings.Contains(text, tt.not) {
			t.Errorf("%v, %s: %s", tt.runs, tt.condition, text)
		}
	}
}

// Runs that differ as log-normal values do are called no replications in 5 of 100 probes at most.
func TestRunsDifferByChance(t *testing.T) {
	const probes = 2000
	r := rand.New(rand.NewPCG(7, 5))
	for sigma, most := range map[float64]float64{0.02: 0, 0.1: 0.02, 0.3: 0.02, 0.5: 0.03} {
		for _, runs := range []int{2, 3, 6, 10, 30} {
			said := 0
			for range probes {
				values := make([]float64, runs)
				for i := range values {
					values[i] = 1e-3 * math.Exp(sigma*r.NormFloat64())
				}
				if unlike(values, "s") != "" {
					said++
				}
			}
			if share := float64(said) / probes; share > most {
				t.Errorf("sigma %g, %d runs: %.1f %%", sigma, runs, 100*share)
			}
		}
	}
}
