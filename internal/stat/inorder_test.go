package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// chained are n values of which each says rho of the next, with a standard deviation of 1.
func chained(r *rand.Rand, n int, rho float64) []float64 {
	out := []float64{r.NormFloat64()}
	for len(out) < n {
		out = append(out, rho*out[len(out)-1]+math.Sqrt(1-rho*rho)*r.NormFloat64())
	}
	return out
}

// Two versions without a difference, of which each drifts by itself or none does, through paired comparisons at the
// level of a confirmation: the share that a comparison finds to differ. Such studies were found to differ in 16 %
// without a look at their order.
func TestBlocksThatFollowEachOther(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	const studies, confidence = 2000, 0.999
	type comparing = func(a, b []float64, confidence float64) (Comparison, error)
	share := func(n int, rho, noise float64, compare comparing) (differs, follows float64) {
		for range studies {
			sides := [2][]float64{chained(r, n, rho), chained(r, n, rho)}
			for i := range n {
				block := r.NormFloat64() // of both
				for k := range sides {
					sides[k][i] = math.Exp(0.03 * (sides[k][i] + noise*r.NormFloat64() + 3*block))
				}
			}
			c := got(compare(sides[0], sides[1], confidence))
			if c.Lo > 1 || c.Hi < 1 {
				differs += 100. / studies
			}
			if c.Follows() != slices.ContainsFunc(c.Warnings, func(w error) bool { return errors.Is(w, ErrFollow) }) {
				t.Errorf("%+v: the warning is another than the interval", c)
			}
			if c.Follows() {
				follows += 100. / studies
			}
		}
		return differs, follows
	}
	for _, c := range []struct {
		what                 string
		n                    int
		rho, noise           float64
		least, most, follows float64 // %: that differ without and with a look at the order, and that follow at least
	}{
		{"independent", 16, 0, 0, 0, 0.4, 0},
		{"independent", 64, 0, 0, 0, 0.4, 0},
		{"drifting, correlation 0.7", 32, 0.7, 0, 13, 2, 90},
		{"drifting, correlation 0.7", 16, 0.7, 0, 12, 6, 50},
		{"drifting, correlation 0.9", 32, 0.9, 0, 40, 3.5, 95},
		{"drifting as much as trials differ", 64, 0.7, 1, 4, 4, 60},
	} {
		before, _ := share(c.n, c.rho, c.noise, RatioPaired)
		after, follows := share(c.n, c.rho, c.noise, RatioOfBlocks)
		t.Logf("%s, %d blocks: %.2f %% differ, %.2f %% in order; %.1f %% follow", c.what, c.n, before, after, follows)
		if before < c.least || after > c.most || follows < c.follows || c.rho == 0 && follows > 13 {
			t.Errorf("%s, %d blocks: %.2f %% differ (want %g at least), %.2f %% in order (%g at most), %.1f %% follow (%g)",
				c.what, c.n, before, c.least, after, c.most, follows, c.follows)
		}
	}
}

// inOrderOracle is what testdata/inorder.py prints.
var inOrderOracle = [5]float64{1.02093909608, 0.982667653319, 1.06070107669, 7.55928238633, 0.243967064946}

// runsOracle is what it prints of two runs.
var runsOracle = [5]float64{1.01766730027, 0.990219556742, 1.04587586358, 12.7324047245, 0.189322652698}

// fewOracle is what it prints of eight blocks.
var fewOracle = [5]float64{1.36211854945, 1.32358811374, 1.40177062902, 3, 5.46039777602e-05}

// The figures of testdata/inorder.py, which computes them by numpy from the definition.
func TestInOrderAgainstItsDefinition(t *testing.T) {
	var old, new []float64
	for i := range 20 {
		x := float64(i)
		old = append(old, math.Exp(0.04*math.Sin(1.7*x)))
		new = append(new, math.Exp(0.02+0.05*math.Sin(0.9*x)))
	}
	c := got(RatioOfBlocks(new, old, 0.95))
	for _, x := range []struct {
		what      string
		got, want float64
	}{
		{"estimate", c.Estimate, inOrderOracle[0]}, {"lo", c.Lo, inOrderOracle[1]}, {"hi", c.Hi, inOrderOracle[2]},
		{"df", c.DF, inOrderOracle[3]}, {"p", c.P, inOrderOracle[4]},
	} {
		if math.Abs(x.got-x.want) > 1e-9*math.Abs(x.want) {
			t.Errorf("%s: got %.12g, want %.12g", x.what, x.got, x.want)
		}
	}
	var one, other []float64
	for i := range 8 {
		one, other = append(one, math.Exp(0.3+0.02*math.Sin(0.5*float64(i)))), append(other, 1)
	}
	few := got(RatioOfBlocks(one, other, 0.95))
	for i, x := range []float64{few.Estimate, few.Lo, few.Hi, few.DF, few.P} {
		if want := fewOracle[i]; math.Abs(x-want) > 1e-7*math.Abs(want) {
			t.Errorf("of eight blocks, figure %d: got %.12g, want %.12g", i, x, want)
		}
	}
	// the order is all: the same pairs, dealt otherwise, do not follow each other
	for i := range old {
		if j := (7 * i) % 20; j > i {
			old[i], old[j], new[i], new[j] = old[j], old[i], new[j], new[i]
		}
	}
	if seven := got(RatioOfBlocks(new[:7], old[:7], 0.95)); seven.Follows() {
		t.Errorf("of seven blocks: %+v", seven)
	}
	if plain := got(RatioPaired(new, old, 0.95)); plain.SD() != c.SD() && math.Abs(plain.SD()/c.SD()-1) > 1e-12 {
		t.Errorf("SD %v in order, %v without", c.SD(), plain.SD())
	}
}

// Chance makes one in ten studies of eight independent blocks look as if they followed each other. A change of 30 times
// the spread is confirmed all the same.
func TestFewIndependentBlocksConfirm(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 3))
	const studies = 2000
	missed := 0
	for range studies {
		var sides [2][]float64
		for range 8 {
			sides[0] = append(sides[0], math.Exp(0.01*r.NormFloat64()))
			sides[1] = append(sides[1], math.Exp(0.01*(30+r.NormFloat64())))
		}
		if c := got(RatioOfBlocks(sides[1], sides[0], 0.999)); c.Lo <= 1 {
			missed++
		}
	}
	t.Logf("%.2f %% missed", 100*float64(missed)/studies)
	if missed > studies/100 {
		t.Errorf("%d of %d studies do not confirm it", missed, studies)
	}
}

// Two runs of one version on a machine that drifts: the share in which they are said to differ, at 95 %.
func TestRunsOnAMachineThatDrifts(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 2))
	const studies = 2000
	for _, c := range []struct {
		n           int
		rho         float64
		least, most float64 // %: that differ without a look at the order at least, and with it at most
	}{{10, 0, 0, 6}, {20, 0, 0, 6}, {10, 0.7, 30, 100}, {20, 0.7, 30, 17}, {50, 0.7, 30, 10}} {
		var before, after float64
		for range studies {
			var sides [2][]float64
			for k := range sides {
				for _, x := range chained(r, c.n, c.rho) {
					sides[k] = append(sides[k], math.Exp(0.03*x))
				}
			}
			for got, compare := range map[*float64]func(a, b []float64, confidence float64) (Comparison, error){
				&before: RatioWelch, &after: RatioOfRuns} {
				if x, err := compare(sides[0], sides[1], 0.95); err != nil {
					t.Fatal(err)
				} else if x.Lo > 1 || x.Hi < 1 {
					*got += 100. / studies
				}
			}
		}
		t.Logf("%d trials, correlation %g: %.1f %% differ, %.1f %% in order", c.n, c.rho, before, after)
		if before < c.least || after > c.most {
			t.Errorf("%d trials, correlation %g: %.1f %% differ (want %g at least), %.1f %% in order (%g at most)", c.n, c.rho,
				before, c.least, after, c.most)
		}
	}
}

// The figures of testdata/inorder.py. The ratio of the arithmetic means is as much less sure.
func TestRunsInOrderAgainstTheirDefinition(t *testing.T) {
	var old, new []float64
	for i := range 24 {
		old = append(old, math.Exp(0.04*math.Sin(1.2*float64(i))))
	}
	for i := range 10 {
		new = append(new, math.Exp(0.02+0.03*math.Sin(2.5*float64(i))))
	}
	c := got(RatioOfRuns(new, old, 0.95))
	for i, x := range []float64{c.Estimate, c.Lo, c.Hi, c.DF, c.P} {
		if want := runsOracle[i]; math.Abs(x-want) > 1e-9*math.Abs(want) {
			t.Errorf("figure %d: got %.12g, want %.12g", i, x, want)
		}
	}
	if !c.Follows() || len(c.Warnings) != 1 || !errors.Is(c.Warnings[0], ErrFollow) {
		t.Errorf("warnings %v", c.Warnings)
	}
	plain := got(RatioWelch(new, old, 0.95))
	means := got(RatioOfMoments(momentsOf(new), momentsOf(old), 0.95))
	if wide := means.AsWide(c); math.Abs(wide.se/means.se-c.se/plain.se) > 1e-12 || wide.DF > c.DF {
		t.Errorf("got %+v", wide)
	}
	var slow []float64
	for i := range 12 {
		slow = append(slow, math.Exp(0.04*math.Sin(0.5*float64(i))))
	}
	few := got(RatioOfRuns(new, slow, 0.95))
	if len(few.Warnings) != 1 || !errors.Is(few.Warnings[0], ErrFollow) || few.Follows() ||
		few.Hi != got(RatioWelch(new, slow, 0.95)).Hi {
		t.Errorf("of twelve: %+v", few)
	}
	if got := means.AsWide(plain); got.se != means.se || got.Follows() {
		t.Errorf("of runs whose trials do not follow each other: %+v", got)
	}
}
