package advise

import (
	"math"
	"math/rand/v2"
	"testing"

	"edgegauge.example/edgegauge/internal/measure"
)

// A block that lacks a treatment is left out whole: a mean over what is left
// would be of other treatments.
func TestMarginalLeavesIncompleteBlocksOut(t *testing.T) {
	var all []Series
	for _, stack := range []string{"a", "b"} {
		for _, link := range []string{"fast", "slow"} {
			s := Series{Factors: []string{"stack", "link"}, Levels: []string{stack, link}, Side: measure.Client,
				Response: "rtt", Unit: "s"}
			for block := 1; block <= 4; block++ {
				if block == 2 && stack == "b" && link == "fast" {
					continue
				}
				v := map[string]float64{"a": 3, "b": 1}[stack] * map[string]float64{"fast": 1, "slow": 100}[link] * float64(block)
				if stack == "a" && link == "slow" && block == 2 {
					v *= 50 // seen if block 2 counts
				}
				s.Trials = append(s.Trials, TrialSummary{ID: block, Block: block, Mean: v})
			}
			all = append(all, s)
		}
	}
	c, err := Marginal(all, "stack", "a", "b", 0.95)
	if err != nil || c.N[0] != 3 || math.Abs(c.Estimate-3) > 1e-12 {
		t.Errorf("got %v of %d blocks, want 3 of 3: %v", c.Estimate, c.N[0], err)
	}
	// a level that has no treatment in common with another has no ratio to it
	if _, err := Marginal(all[:1], "stack", "a", "b", 0.95); err == nil {
		t.Error("one level alone has a ratio")
	}
}

// Ratios that are equal but for rounding do not differ between strata, though they have no spread.
func TestStrataThatDifferByRounding(t *testing.T) {
	var all []Series
	for _, link := range []string{"near", "far", "farther"} {
		for _, stack := range []string{"a", "b"} {
			s := Series{Factors: []string{"stack", "link"}, Levels: []string{stack, link}, Side: measure.Client}
			for b := range 5 {
				v := 1e-3 * (1 + 0.1*float64(b)) * float64(len(link))
				if stack == "b" {
					v *= 2
				}
				s.Trials = append(s.Trials, TrialSummary{Block: b + 1, Mean: v})
			}
			all = append(all, s)
		}
	}
	strata := Strata(all, "stack", "b", "a", 0.95)
	if len(strata) != 3 || Differ(strata) || Disagree(strata) {
		t.Errorf("got %+v", strata)
	}
	strata[1].Estimate, strata[1].Lo, strata[1].Hi = 2.1, 2.1, 2.1
	if !Differ(strata) {
		t.Errorf("5 %% apart: got %+v", strata)
	}
}

// Two stacks over two links, equal, of which each treatment drifts by itself: how often the ratio is said to be another
// with each link, or one of a stratum, or of both together, not to be 1. Where nothing drifts, as rarely as before.
func TestStrataThatFollowEachOther(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 3))
	const studies, blocks = 1000, 24
	for _, x := range []struct {
		drift               float64 // correlation of a trial with the next of its treatment
		differ, apart, both float64 // %: at most
	}{{0, 1, 6, 6}, {0.7, 4, 15, 15}} {
		var differ, apart, both float64
		for range studies {
			var all []Series
			for _, stack := range []string{"a", "b"} {
				for _, link := range []string{"near", "far"} {
					s := Series{Factors: []string{"stack", "link"}, Levels: []string{stack, link}, Side: measure.Client}
					z := r.NormFloat64()
					for b := range blocks {
						s.Trials = append(s.Trials, TrialSummary{Block: b + 1, Mean: math.Exp(0.03 * z)})
						z = x.drift*z + math.Sqrt(1-x.drift*x.drift)*r.NormFloat64()
					}
					all = append(all, s)
				}
			}
			strata := Strata(all, "stack", "a", "b", 0.95)
			if Differ(strata) {
				differ += 100. / studies
			}
			if strata[0].Lo > 1 || strata[0].Hi < 1 || strata[1].Lo > 1 || strata[1].Hi < 1 {
				apart += 100. / studies
			}
			if c, err := Marginal(all, "stack", "a", "b", 0.95); err != nil || c.Lo > 1 || c.Hi < 1 {
				both += 100. / studies
			}
		}
		t.Logf("drift %g: differ %.1f %%, one is not 1 %.1f %%, of both %.1f %%", x.drift, differ, apart, both)
		if differ > x.differ || apart > x.apart || both > x.both {
			t.Errorf("drift %g: ratios differ in %.1f %% (%g at most), one is not 1 in %.1f %% (%g), of both in %.1f %% (%g)",
				x.drift, differ, x.differ, apart, x.apart, both, x.both)
		}
	}
}

// What a meter does not see of small treatments is as large a share of an average over strata: of levels that are the
// same, each off by its own error, hardly any study finds a difference, and one that no error explains is found.
func TestUnseenOfStrataOfDifferentSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	const studies, unseen = 400, 0.5
	of := func(stack, size string, truth float64) Series {
		s := Series{Factors: []string{"stack", "size"}, Levels: []string{stack, size}, Side: measure.Client,
			Response: "energy", Unit: "J", Ticks: true, Unseen: unseen}
		off := unseen * (2*rng.Float64() - 1)
		for b := range 10 {
			s.Trials = append(s.Trials, TrialSummary{ID: b, Block: b, Mean: truth*(1+0.01*rng.NormFloat64()) + off})
		}
		return s
	}
	count := func(times float64) (marginal, levels int) {
		for range studies {
			all := []Series{of("a", "small", times), of("b", "small", 1), of("a", "large", 1000*times),
				of("b", "large", 1000)}
			if c, err := Marginal(all, "stack", "a", "b", 0.95); err != nil {
				t.Fatal(err)
			} else if c.P < 0.05 {
				marginal++
			}
			pairs, err := Levels(all, "stack", []string{"a", "b"}, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := pairs.Compare(0, 1); err != nil {
				t.Fatal(err)
			} else if c.P < 0.05 {
				levels++
			}
		}
		return marginal, levels
	}
	marginal, levels := count(1)
	t.Logf("of equal levels %d and %d of %d differ", marginal, levels, studies)
	if most := studies * 5 / 100; marginal > most || levels > most {
		t.Errorf("of equal levels %d and %d of %d differ", marginal, levels, studies)
	}
	if marginal, levels = count(5); marginal < studies*95/100 || levels < studies*95/100 {
		t.Errorf("of levels that are 5 times apart %d and %d of %d differ", marginal, levels, studies)
	}
}
