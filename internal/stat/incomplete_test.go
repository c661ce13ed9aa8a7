package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Tables by statsmodels: testdata/incomplete.py.
func TestIncompleteBenchesAgreeWithOthers(t *testing.T) {
	type drawn struct {
		benches []string
		ys      [][]float64
	}
	fleets := map[int]*drawn{}
	for _, r := range oracle(t, "incomplete_designs.csv") {
		f := fleets[r.n(t, "design")]
		if f == nil {
			f = &drawn{ys: make([][]float64, 4)}
			fleets[r.n(t, "design")] = f
		}
		for block := r.n(t, "block"); len(f.benches) < block; {
			f.benches = append(f.benches, r["bench"])
			for k := range f.ys {
				f.ys[k] = append(f.ys[k], math.NaN())
			}
		}
		f.ys[r.n(t, "treatment")-1][r.n(t, "block")-1] = r.f(t, "y")
	}
	for _, r := range oracle(t, "incomplete.csv") {
		words := fmt.Sprintf("design %d", r.n(t, "design"))
		f := fleets[r.n(t, "design")]
		for f.ys[len(f.ys)-1] != nil && allNaN(f.ys[len(f.ys)-1]) {
			f.ys = f.ys[:len(f.ys)-1]
		}
		x := must[*Incomplete](t)(NewIncomplete(f.benches, f.ys))
		m := x.Model(0.95)
		check(t, words, "f", float64(m.F), r.f(t, "f"))
		check(t, words, "df1", float64(m.DF1), r.f(t, "df1"))
		check(t, words, "df2", float64(m.DF2), r.f(t, "df2"))
		these := must[Comparison](t)(x.Contrast(FixedBenches, 1, 0, 0.95, false))
		check(t, words, "these", these.center, r.f(t, "these"))
		check(t, words, "these_se", these.se, r.f(t, "these_se"))
		check(t, words, "these_df", these.DF, r.f(t, "df2"))
		like := must[Comparison](t)(x.Contrast(RandomBenches, 1, 0, 0.95, false))
		for _, v := range []struct {
			figure string
			got    float64
		}{{"interaction", float64(m.Interaction)}, {"error", float64(m.Error)}, {"full_se", like.se}} {
			if !within(v.got, r.f(t, v.figure), 1e-3) { // its optimizer stops there
				t.Errorf("%s: %s: got %.9g, MixedLM has %.9g", words, v.figure, v.got, r.f(t, v.figure))
			}
		}
		if r["equal"] == "1" { // then the mixed model weighs benches alike, too
			check(t, words, "center", like.center, r.f(t, "center"))
			if !within(like.se, r.f(t, "center_se"), 1e-3) {
				t.Errorf("%s: error: got %.9g, MixedLM has %.9g", words, like.se, r.f(t, "center_se"))
			}
		}
		check(t, words, "like_df", like.DF, r.f(t, "df1"))
		for _, kind := range []BenchKind{FixedBenches, RandomBenches} {
			units := x.Units(kind)
			if units == nil {
				t.Errorf("%s: no units for %s", words, kind)
				continue
			}
			for i := range units {
				check(t, words, "mean of units", meanOf(units[i]), x.Adjusted()[i])
				for j := range i {
					want := must[Comparison](t)(x.Contrast(kind, i, j, 0.95, false))
					got := must[Comparison](t)(DifferencePaired(units[i], units[j], 0.95))
					if !within(got.center, want.center, 1e-6) || !within(got.se, want.se, 1e-6) || got.DF != want.DF {
						t.Errorf("%s, %s, %d against %d: units give %v, want %v", words, kind, i, j, got, want)
					}
				}
			}
		}
	}
}

func allNaN(xs []float64) bool {
	for _, x := range xs {
		if !math.IsNaN(x) {
			return false
		}
	}
	return true
}

// With no hole it says what Benches says, but for errors that are pooled over treatments:
// with two there is nothing to pool.
func TestIncompleteWithoutHolesIsComplete(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	f := fleet{bench: 0.2, inter: 0.1, block: 0.05, error: 0.03}
	b := f.draw(r, 2, []int{4, 4, 4, 4})
	x := must[*Incomplete](t)(NewIncomplete(f.names, f.ys))
	for _, kind := range []BenchKind{FixedBenches, RandomBenches} {
		want := must[Comparison](t)(b.Difference(kind, f.ys[1], f.ys[0], 0.95))
		got := must[Comparison](t)(x.Contrast(kind, 1, 0, 0.95, false))
		if !within(got.center, want.center, 1e-9) || !within(got.se, want.se, 1e-5) || got.DF != want.DF {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
		for i, ys := range f.ys { // a treatment's own interval is as wide, or wider
			own := must[Summary](t)(Mean(b.Units(kind, ys), 0.95))
			unit := must[Summary](t)(Mean(x.Units(kind)[i], 0.95))
			if !within(unit.Center, own.Center, 1e-9) || unit.HalfWidth() < own.HalfWidth()*0.8 {
				t.Errorf("%s: mean %d: got %v ± %v, want %v ± %v", kind, i, unit.Center, unit.HalfWidth(), own.Center,
					own.HalfWidth())
			}
		}
	}
	want, got := b.Model(f.ys, 0.95), x.Model(0.95)
	for _, p := range [][2]Number{{got.Bench, want.Bench}, {got.Interaction, want.Interaction}, {got.Block, want.Block},
		{got.Error, want.Error}, {got.F, want.F}} {
		if !within(float64(p[0]), float64(p[1]), 1e-5) {
			t.Errorf("model: got %+v, want %+v", got, want)
		}
	}
	if e := x.Efficiency(0); !within(e, 1, 1e-9) {
		t.Errorf("efficiency without holes: got %v", e)
	}
}

// hole takes treatments from benches.
func (f *fleet) hole(lacks map[string][]int) {
	for i, name := range f.names {
		for _, t := range lacks[name] {
			f.ys[t][i] = math.NaN()
		}
	}
}

func TestIncompleteNamesTheBenchThatDisagrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := fleet{bench: 0.2, block: 0.03, error: 0.03}
	f.draw(r, 3, []int{5, 5, 5, 5, 5})
	for i, name := range f.names {
		if name == "b3" {
			f.ys[1][i] += 0.3
		}
	}
	f.hole(map[string][]int{"b1": {2}, "b2": {0}})
	m := must[*Incomplete](t)(NewIncomplete(f.names, f.ys)).Model(0.99)
	if m.Driver != "b3" || !(m.P < 1e-6) || !(m.PWithout > 0.01) {
		t.Errorf("b3 disagrees, but got %+v", m)
	}
}

// What no bench tells apart is refused; what one bench alone has is less sure.
func TestIncompleteRefusesWhatItCannotSay(t *testing.T) {
	n := math.NaN()
	names := []string{"a", "a", "b", "b"}
	for words, ys := range map[string][][]float64{
		"nothing in common": {{1, 2, n, n}, {n, n, 3, 4}},
		"blocks differ":     {{1, 2, 3, 4}, {1, n, 3, 4}},
		"nobody has it":     {{1, 2, 3, 4}, {n, n, n, n}},
	} {
		if _, err := NewIncomplete(names, ys); !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: got %v", words, err)
		}
	}
	x := must[*Incomplete](t)(NewIncomplete(names, [][]float64{{1, 2, 3, 5}, {1, 3, n, n}}))
	if _, err := x.Contrast(RandomBenches, 0, 1, 0.95, false); !errors.Is(err, ErrTooFew) {
		t.Errorf("one bench has both treatments: for benches like these got %v", err)
	}
	if x.Units(RandomBenches) != nil {
		t.Error("units for benches like these, of which one has both treatments")
	}
	// By hand: of two equal benches one tells: the variance is σ²/2 + σ²/2 instead of half of that.
	if e := x.Efficiency(1); !within(e, 0.5, 1e-9) {
		t.Errorf("efficiency: got %v, want 0.5", e)
	}
}

// holes are what benches of the simulated fleets lack.
var holes = map[string][]int{"b1": {3}, "b2": {3}, "b3": {0, 3}, "b4": {1}, "b6": {3}, "b7": {0}}

func TestSimulatedIncompleteBenches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	var rows []simulation
	for _, x := range []struct {
		words  string
		blocks []int
	}{{"8 benches of 5 blocks", equalBlocks}, {"8 benches of 2 to 9 blocks", unequalBlocks},
		{"3 benches of 2, 10 and 20 blocks", fewBenches}} {
		lacks := holes
		if len(x.blocks) == 3 {
			lacks = map[string][]int{"b1": {3}, "b3": {0}}
		}
		for _, inter := range []float64{0, 0.05} {
			say := ", they agree"
			if inter > 0 {
				say = ", they differ by 5 %"
			}
			for _, kind := range []BenchKind{FixedBenches, RandomBenches} {
				words := map[BenchKind]string{FixedBenches: "these benches", RandomBenches: "benches like these"}[kind]
				high := 97.
				why := ""
				if kind == RandomBenches && inter == 0 {
					high, why = 100, "the variance between benches cannot be less than 0"
				}
				rows = append(rows, simulation{"incomplete, ratio for " + words + ": " + x.words + say, 93, high, 4000,
					func(r *rand.Rand) bool {
						f := fleet{bench: 0.2, inter: inter, block: 0.03, error: 0.03}
						f.draw(r, 4, x.blocks)
						f.hole(lacks)
						in := got(NewIncomplete(f.names, f.ys))
						truth := 0.0
						if kind == FixedBenches { // the same fit, of what these benches truly are
							truth = in.fitted(f.own)
						}
						return spans(got(in.Contrast(kind, 3, 0, 0.95, false)), truth)
					}, why})
			}
		}
	}
	simulate(t, rows)
}

// fitted is the contrast of treatments 3 and 0 where the table holds these values.
func (x *Incomplete) fitted(own [][]float64) float64 {
	exact := *x
	exact.mean = own
	effects := solve(exact.pull(exact.once()))
	return effects[3] - effects[0]
}

// Two benches that share one treatment: effects that add up fit any table, so nothing is left to test whether benches
// rank treatments differently by, or to tell that variance. By hand: the error is that of the pairs on each bench,
// (1 + 7/3)/4; 2 over 0 is 16/3 + 2, with the variance of two differences of three blocks each. And benches of one
// block each leave no error.
func TestIncompleteWithoutDegreesOfFreedom(t *testing.T) {
	n := math.NaN()
	x := must[*Incomplete](t)(NewIncomplete([]string{"a", "a", "a", "b", "b", "b"}, [][]float64{{1, 2, 4, n, n, n},
		{3, 3, 7, 10, 12, 11}, {n, n, n, 15, 16, 18}}))
	m := x.Model(0.95)
	if !math.IsNaN(float64(m.F)) || !math.IsNaN(float64(m.P)) || m.DF1 != 0 || !math.IsNaN(float64(m.Interaction)) ||
		!within(float64(m.Error), 10./12, 1e-12) {
		t.Errorf("got %+v", m)
	}
	c := must[Comparison](t)(x.Contrast(FixedBenches, 2, 0, 0.95, false))
	if !within(c.Estimate, 22./3, 1e-12) || !within(c.se, math.Sqrt(10./9), 1e-12) || c.DF != 4 {
		t.Errorf("got %+v", c)
	}
	x = must[*Incomplete](t)(NewIncomplete([]string{"a", "b", "c"}, [][]float64{{1, 2, 4}, {3, 5, n}}))
	if m := x.Model(0.95); !math.IsNaN(float64(m.P)) || m.DF2 != 0 {
		t.Errorf("benches of one block: got %+v", m)
	}
}
