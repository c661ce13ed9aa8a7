package advise

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

// Two equal versions, or stacks, whose clock ticks: two trials of each that happen to lie on both sides of a tick are
// no change, no requirement met, and nobody is better. Of bytes, which are counted, they are.
func TestATickIsNoDifference(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	const studies = 2000
	r := rand.New(rand.NewPCG(29, 20))
	drawn := func(name, response string, n int, ticks bool) Series {
		var values []float64
		for range n {
			values = append(values, 0.01*math.Floor(4+0.02*r.NormFloat64()))
		}
		s := series(name, response, values...)
		s.Ticks = ticks
		return s
	}
	gate, need := mustChange(t, "rtt > 5%"), mustRequire(t, "rtt < 35ms")
	for _, n := range []int{2, 3, 5} {
		for _, ticks := range []bool{false, true} {
			said := map[string]int{}
			for range studies {
				old, new := drawn("a", "rtt", n, ticks), drawn("a", "rtt", n, ticks)
				c, err := Compare([]Series{old}, []Series{new}, []Condition{gate}, 0.95, 0.05)
				if err != nil {
					t.Fatal(err)
				}
				if c.Verdict() == stat.Confirmed {
					said["worse"]++
				}
				if x := c.Contrasts[0].Change; x == Higher || x == Lower {
					said["higher or lower"]++
				}
				repeated, err := Repeat([]Series{old}, []Series{new}, 0.95, 0.05)
				if err != nil {
					t.Fatal(err)
				}
				if repeated.Agreement() == Differs {
					said["differs"]++
				}
				chosen, err := Choose([]Series{old, drawn("b", "rtt", n, ticks)}, []Objective{{Term: need.Term}},
					[]Condition{need}, 0.95)
				if err != nil {
					t.Fatal(err)
				}
				second := chosen.Candidates[1]
				if !second.Noise || !second.Front && !second.Unsure && second.Meets == chosen.Candidates[0].Meets {
					said["one is better"]++
				}
				for _, x := range chosen.Candidates { // the truth is above the bound
					if x.Meets == stat.Confirmed {
						said["met"]++
					}
				}
			}
			t.Logf("%d trials, ticks %v: %v of %d", n, ticks, said, studies)
			for what, hits := range said {
				if ticks && float64(hits) > 0.05*studies+4*math.Sqrt(0.05*studies) {
					t.Errorf("%d trials: %s in %d of %d studies of equals", n, what, hits, studies)
				}
			}
			if !ticks && n == 2 && said["worse"] < studies/40 {
				t.Errorf("values taken for counted: worse in %d of %d studies: the test shows nothing", said["worse"], studies)
			}
		}
	}
	// Many steps apart they are told apart, and what is counted is by one byte.
	for _, s := range [][2]Series{{series("a", "rtt", 0.01, 0.01), series("a", "rtt", 0.05, 0.05)},
		{series("a", "message_size", 100, 100), series("a", "message_size", 101, 101)}} {
		s[0].Ticks, s[1].Ticks = s[0].Response == "rtt", s[0].Response == "rtt"
		c, err := Compare(s[:1], s[1:], nil, 0.95, 0.05)
		if err != nil || c.Contrasts[0].Change != Higher {
			t.Errorf("%s: got %+v, %v", s[0].Response, c.Contrasts, err)
		}
	}
}

// Two versions of which one takes 8 % more, and the clock shows the same step in nearly all trials, are not equal, no
// gate excludes that it became slower by 5 %, no repetition agrees, no bound between both is met, and levels are not
// alike.
func TestStepsBelowASpreadProveNothing(t *testing.T) {
	const studies = 200
	r := rand.New(rand.NewPCG(29, 39))
	drawn := func(name string, truth float64, ticks bool) Series {
		var values []float64
		for range 20 {
			values = append(values, 0.01*math.Floor(truth+0.1*r.NormFloat64()))
		}
		s := series(name, "rtt", values...)
		s.Ticks = ticks
		return s
	}
	gate, need := mustChange(t, "rtt > 5%"), mustRequire(t, "rtt < 105ms")
	for _, ticks := range []bool{false, true} {
		said := map[string]int{}
		for range studies {
			old, new := drawn("a", 10.1, ticks), drawn("a", 10.85, ticks)
			old.Trials[0].Mean, new.Trials[1].Mean = 0.11, 0.11 // there is a spread
			c, err := Compare([]Series{old}, []Series{new}, []Condition{gate}, 0.95, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if c.Contrasts[0].Change == Equal {
				said["equal"]++
			}
			if c.Verdict() == stat.Contradicted {
				said["not slower"]++
			}
			chosen, err := Choose([]Series{new, drawn("b", 20, ticks)}, []Objective{{Term: need.Term}}, []Condition{need}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if chosen.Candidates[0].Meets == stat.Confirmed {
				said["met"]++
			}
			if Alike([]Stratum{{Comparison: c.Contrasts[0].Ratio}}, 1/1.05, 1.05) < 0.05 {
				said["alike"]++
			}
		}
		t.Logf("ticks %v: %v of %d", ticks, said, studies)
		for _, what := range []string{"equal", "not slower", "met", "alike"} {
			if ticks && said[what] > studies/10 || !ticks && said[what] < studies/4 {
				t.Errorf("ticks %v: %s in %d of %d studies", ticks, what, said[what], studies)
			}
		}
	}
}
