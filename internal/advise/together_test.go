package advise

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// full has simulations draw as many as doc/method.md states rates of.
var full = flag.Bool("full", false, "run the simulations at full size")

// byThemselves reports whether a treatment alone shows what is lost, Holm over the treatments: the rule before all of
// them were tested together.
func byThemselves(old, new []Attempts) bool {
	var ps []float64
	for i := range old {
		if old[i].Faults.Trials+new[i].Faults.Trials > 0 {
			ps = append(ps, fisherMore(new[i].Faults.Trials, new[i].run(), old[i].Faults.Trials, old[i].run()))
		}
	}
	for _, p := range stat.Holm(ps) {
		if p < 0.05 {
			return true
		}
	}
	return false
}

// A version that crashes at its starts is found over all treatments together, where the few trials of each tell
// nothing; versions that fail alike are called worse no more often than the level says, however treatments differ.
func TestAttemptsThatFailInAllTreatmentsTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	repeats := 400
	if *full {
		repeats = 4000
	}
	r := rand.New(rand.NewPCG(17, 12))
	drawn := func(treatments, trials int, share func(i int) float64) (out []Attempts) {
		for i := range treatments {
			out = append(out, tries(fmt.Sprint("t", i), trials, func(int) bool { return r.Float64() < share(i) }))
		}
		return out
	}
	even := func(p float64) func(int) float64 { return func(int) float64 { return p } }
	uneven := func(i int) float64 { return []float64{0, 0.02, 0.3, 0.4}[i%4] }
	for _, size := range [][2]int{{2, 3}, {4, 10}, {8, 3}, {12, 3}, {12, 5}} {
		for _, tt := range []struct {
			what     string
			old, new func(int) float64
			equal    bool
			least    float64 // share that is found
		}{
			{"equal, 2 %", even(0.02), even(0.02), true, 0}, {"equal, 10 %", even(0.1), even(0.1), true, 0},
			{"equal, 33 %", even(0.33), even(0.33), true, 0}, {"equal, treatments differ", uneven, uneven, true, 0},
			{"0 to 10 %", even(0), even(0.1), false, 0}, {"0 to 33 %", even(0), even(0.33), false, 0.5},
			{"one treatment, 0 to 90 %", even(0), func(i int) float64 { return map[bool]float64{true: 0.9}[i == 0] }, false, 0},
		} {
			worse, before := 0, 0
			for range repeats {
				old, new := drawn(size[0], size[1], tt.old), drawn(size[0], size[1], tt.new)
				if (Comparison{Lost: Losses(old, new, 0.95)}).Verdict() == stat.Confirmed {
					worse++
				}
				if byThemselves(old, new) {
					before++
				}
			}
			t.Logf("%d treatments of %d trials, %s: worse in %.1f %%, each by itself in %.1f %%", size[0], size[1], tt.what,
				100*float64(worse)/float64(repeats), 100*float64(before)/float64(repeats))
			switch {
			case tt.equal && tooOften(worse, repeats, 0.025):
				t.Errorf("%v, %s: worse in %d of %d", size, tt.what, worse, repeats)
			case size[0] >= 8 && float64(worse) < tt.least*float64(repeats):
				t.Errorf("%v, %s: found in %d of %d", size, tt.what, worse, repeats)
			}
		}
	}
}

// The same of trials that are lost, of devices that do not recover, and of what was given as an example.
func TestLossesTogether(t *testing.T) {
	of := func(n, lost, recovered, faults int) (out []Attempts) {
		for i := range n {
			a := attempts(fmt.Sprint("t", i))
			a.Wanted, a.Valid, a.Recovered = 3, 3-lost, [2]int{3 - recovered, 3}
			if a.Faults = (Faults{First: "it crashed"}); i < faults {
				a.Faults = Faults{Attempts: 1, Trials: 1, InTime: 1, Saved: 1, First: "it crashed"}
			}
			out = append(out, a)
		}
		return out
	}
	for _, tt := range []struct {
		what string
		new  []Attempts
		says string // of the last
	}{
		{"a trial of each is lost", of(8, 1, 0, 0), "8 treatments together: 16 of 24 trials are valid (before: 24 of 24): " +
			"chance does not explain it (p 0.016, exact Cochran-Mantel-Haenszel test)"},
		{"devices of each do not recover once", of(8, 0, 1, 0), "8 treatments together: devices recovered in 16 of 24 " +
			"trials (before: in 24 of 24): chance does not explain it (p 0.016, exact Cochran-Mantel-Haenszel test)"},
		{"an attempt of each fails", of(8, 0, 0, 8), "8 treatments together: 8 of 32 attempts failed for what the programs " +
			"did, in 8 of 24 trials (before: 0 of 24, in 0 of 24 trials); the first: it crashed: chance does not explain it " +
			"(p 0.016, exact Cochran-Mantel-Haenszel test of the trials)"},
	} {
		c := Comparison{Lost: Losses(of(8, 0, 0, 0), tt.new, 0.95)}
		if last := c.Lost[len(c.Lost)-1]; len(c.Lost) != 9 || c.Verdict() != stat.Confirmed || last.String() != tt.says ||
			last.Together != 8 {
			t.Errorf("%s: got %s, %q", tt.what, c.Verdict(), last)
		}
		if back := Losses(tt.new, of(8, 0, 0, 0), 0.95); len(back) > 0 {
			t.Errorf("%s, the other way: got %q", tt.what, back)
		}
	}
	if one := Losses(of(8, 0, 0, 0), of(8, 0, 0, 1), 0.95); len(one) != 1 || one[0].P != 1 {
		t.Errorf("one treatment alone: got %q", one)
	}
	waited := of(8, 0, 0, 8)
	for i := range waited {
		waited[i].Waiting, waited[i].Faults.InTime = 0.5, 0
	}
	if c := (Comparison{Lost: Losses(of(8, 0, 0, 0), waited, 0.95)}); c.Verdict() == stat.Confirmed {
		t.Errorf("while programs waited: got %q", c.Lost)
	}
}

// Requests that fail in all treatments are found over all of them together; of equal versions no more are called worse
// than the level says, whether requests fail alone, a trial's together or in every trial of a treatment.
func TestFailuresOfAllTreatmentsTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	r := rand.New(rand.NewPCG(17, 14))
	alone := func(p float64) func(int) int { return func(int) int { return drawnHits(r, 100, p) } }
	together := func(p float64) func(int) int {
		return func(int) int {
			if r.Float64() < p {
				return 20 + r.IntN(60)
			}
			return r.IntN(3)
		}
	}
	uneven := func(i int) int { return drawnHits(r, 100, []float64{0, 0.01, 0.3, 0.6}[i%4]) }
	drawn := func(treatments, trials int, draw func(i int) int) (out []Attempts) {
		for i := range treatments {
			var hits []int
			for range trials {
				hits = append(hits, draw(i))
			}
			out = append(out, attempts(fmt.Sprint("t", i), shares(100, hits...)...))
		}
		return out
	}
	for _, size := range [][2]int{{2, 3}, {4, 10}, {12, 3}} {
		for _, tt := range []struct {
			what     string
			old, new func(int) int
			equal    bool
			least    float64
		}{
			{"equal, alone, 0.2 %", alone(0.002), alone(0.002), true, 0},
			{"equal, alone, 5 %", alone(0.05), alone(0.05), true, 0},
			{"equal, together", together(0.3), together(0.3), true, 0}, {"equal, treatments differ", uneven, uneven, true, 0},
			{"0 to 1 %", alone(0), alone(0.01), false, 0.8}, {"3 to 5 %", alone(0.03), alone(0.05), false, 0.5},
		} {
			worse, before, repeats := 0, 0, 40
			if tt.equal {
				repeats = 200
			}
			if *full {
				repeats *= 10
			}
			for range repeats {
				old, new := drawn(size[0], size[1], tt.old), drawn(size[0], size[1], tt.new)
				if (Comparison{Failed: FailuresOfTrials(old, new, 0.95)}).Verdict() == stat.Confirmed {
					worse++
				}
				var units, requests []float64 // the rule before
				for i := range old {
					x, y := stat.Pooled(new[i].Failed), stat.Pooled(old[i].Failed)
					if x.Hits+y.Hits > 0 {
						p, _ := welchAbove(0.05)(new[i].Failed, old[i].Failed)
						units = append(units, p)
						requests = append(requests, fisherMore(x.Hits, x.N, y.Hits, y.N))
					}
				}
				units, requests = stat.Holm(units), stat.Holm(requests)
				for i := range units {
					if units[i] < 0.05 && requests[i] < 0.05 {
						before++
						break
					}
				}
			}
			t.Logf("%d treatments of %d trials, %s: worse in %.1f %%, each by itself in %.1f %%", size[0], size[1], tt.what,
				100*float64(worse)/float64(repeats), 100*float64(before)/float64(repeats))
			switch {
			case tt.equal && tooOften(worse, repeats, 0.025):
				t.Errorf("%v, %s: worse in %d of %d", size, tt.what, worse, repeats)
			case size[0] == 12 && float64(worse) < tt.least*float64(repeats):
				t.Errorf("%v, %s: found in %d of %d", size, tt.what, worse, repeats)
			}
		}
	}
}
