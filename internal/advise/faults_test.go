package advise

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// tries are the trials of a treatment, each tried until it is valid, three times at most; each attempt fails as fails
// says of its trial.
func tries(name string, trials int, fails func(trial int) bool) Attempts {
	a := Attempts{Factors: []string{"stack"}, Levels: []string{name}, Name: name, Wanted: trials}
	for trial := range trials {
		failed := 0
		for failed < 3 && fails(trial) {
			failed++
		}
		a.Faults.Attempts += failed
		if failed > 0 {
			a.Faults.Trials++
			a.Faults.InTime++
			a.Faults.First = "serve ended with status 7"
		}
		if failed < 3 {
			a.Valid++
			if failed > 0 {
				a.Faults.Saved++
			}
		}
	}
	return a
}

// some are so many of the trials, one failed attempt each.
func some(n, trials int) Attempts {
	left := map[int]bool{}
	for trial := range n {
		left[trial] = true
	}
	return tries("a", trials, func(trial int) bool {
		fails := left[trial]
		left[trial] = false
		return fails
	})
}

func TestRetriedTrials(t *testing.T) {
	late := func(a Attempts, waiting float64, inTime int) Attempts {
		a.Waiting, a.Faults.InTime = waiting, inTime
		return a
	}
	for _, tt := range []struct {
		what     string
		old, new Attempts
		verdict  stat.Verdict // of the whole
		says     []string
	}{
		{"none fails", some(0, 20), some(0, 20), "", nil},
		{"a third of 40 starts", some(0, 40), some(13, 40), stat.Confirmed, []string{
			"a: 13 of 53 attempts failed for what the programs did, in 13 of 40 trials (before: 0 of 40, in 0 of 40 trials); " +
				"the first: serve ended with status 7: chance does not explain it (p 7.6e-05, Fisher's exact test of the trials)"}},
		{"one of 40", some(0, 40), some(1, 40), "", []string{"chance may explain it"}},
		{"as before", some(13, 40), some(13, 40), "", nil},
		{"fewer than before", some(13, 40), some(1, 40), "", nil},
		{"twice in the same trials", some(0, 10), tries("a", 10, func() func(int) bool {
			n := map[int]int{}
			return func(trial int) bool { n[trial]++; return trial < 4 && n[trial] < 3 }
		}()), stat.Undecided, []string{"8 of 18 attempts", "in 4 of 10 trials", "chance may explain it; more trials would"}},
		{"late ones while programs waited", some(0, 40), late(some(13, 40), 0.5, 0), stat.Undecided,
			[]string{"waiting for a CPU may explain it"}},
		{"crashes while programs waited", some(0, 40), late(some(13, 40), 0.5, 13), stat.Confirmed,
			[]string{"chance does not"}},
		{"late ones while none waited", some(0, 40), late(some(13, 40), 0, 0), stat.Confirmed, []string{"chance does not"}},
	} {
		c := Comparison{Lost: Losses([]Attempts{tt.old}, []Attempts{tt.new}, 0.95)}
		if got := c.Verdict(); got != tt.verdict || (len(c.Lost) > 0) != (tt.says != nil) {
			t.Errorf("%s: got %q, %q", tt.what, got, c.Lost)
		}
		for _, text := range tt.says {
			if len(c.Lost) > 0 && !strings.Contains(c.Lost[0].String(), text) {
				t.Errorf("%s: got %q, want %q", tt.what, c.Lost[0], text)
			}
		}
	}
}

// Trials of which all attempts failed are lost, and attempts tell nothing more of them.
func TestRetriedAndLost(t *testing.T) {
	old := tries("a", 10, func(int) bool { return false })
	gone := tries("a", 10, func(trial int) bool { return trial < 6 })
	if lost := Losses([]Attempts{old}, []Attempts{gone}, 0.95); len(lost) != 1 || lost[0].Retried {
		t.Errorf("got %q, want lost trials alone", lost)
	}
}

// Versions that fail alike are called worse no more often than the level says, whether attempts fail alone or those of
// a trial together; a version that crashes is found.
func TestRetriedRates(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	const repeats = 4000
	r := rand.New(rand.NewPCG(7, 7))
	alone := func(p float64) func() func(int) bool {
		return func() func(int) bool { return func(int) bool { return r.Float64() < p } }
	}
	together := func(p float64) func() func(int) bool { // a bad trial fails two times, and is valid then
		return func() func(int) bool {
			left := map[int]int{}
			for trial := range 100 {
				if r.Float64() < p {
					left[trial] = 2
				}
			}
			return func(trial int) bool { left[trial]--; return left[trial] >= 0 }
		}
	}
	rate := func(trials int, old, new func() func(int) bool) (worse, undecided float64) {
		for range repeats {
			c := Comparison{Lost: Losses([]Attempts{tries("a", trials, old())}, []Attempts{tries("a", trials, new())}, 0.95)}
			switch c.Verdict() {
			case stat.Confirmed:
				worse++
			case stat.Undecided:
				undecided++
			}
		}
		return worse / repeats, undecided / repeats
	}
	for _, trials := range []int{6, 16, 40, 80} {
		for _, p := range []float64{0.01, 0.05, 0.2, 0.4} {
			for what, draw := range map[string]func(float64) func() func(int) bool{"alone": alone, "together": together} {
				worse, undecided := rate(trials, draw(p), draw(p))
				t.Logf("equal, %s, %d trials, %g: worse in %.2f %%, undecided in %.1f %%", what, trials, p, 100*worse,
					100*undecided)
				if worse > 0.025+4*math.Sqrt(0.025/repeats) {
					t.Errorf("equal, %s, %d trials, %g: worse in %.2f %%", what, trials, p, 100*worse)
				}
			}
		}
	}
	for _, trials := range []int{6, 16, 30, 40} {
		for _, p := range []float64{0.1, 0.33} {
			worse, undecided := rate(trials, alone(0), alone(p))
			t.Logf("crashes in %g of starts, %d trials: worse in %.1f %%, undecided in %.1f %%", p, trials, 100*worse,
				100*undecided)
			if p > 0.3 && trials >= 30 && worse < 0.95 {
				t.Errorf("%d trials: found in %.1f %%", trials, 100*worse)
			}
		}
	}
}
