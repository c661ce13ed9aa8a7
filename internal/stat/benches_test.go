package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// drawnFleet is a design of benches_designs.csv: values by treatment and block.
type drawnFleet struct {
	benches []string
	ys      [][]float64
}

func drawnFleets(t *testing.T) map[int]*drawnFleet {
	t.Helper()
	all := map[int]*drawnFleet{}
	for _, r := range oracle(t, "benches_designs.csv") {
		f := all[r.n(t, "design")]
		if f == nil {
			f = &drawnFleet{}
			all[r.n(t, "design")] = f
		}
		k, block := r.n(t, "treatment")-1, r.n(t, "block")-1
		if k == len(f.ys) {
			f.ys = append(f.ys, nil)
		}
		if block == len(f.benches) {
			f.benches = append(f.benches, r["bench"])
		}
		f.ys[k] = append(f.ys[k], r.f(t, "y"))
	}
	return all
}

// Tables by lme4, lmerTest and statsmodels: testdata/benches.R, benches.py.
func TestBenchesAgreeWithTheMixedModelsOfOthers(t *testing.T) {
	fleets := drawnFleets(t)
	mixed := oracle(t, "benches_mixedlm.csv")
	for i, r := range oracle(t, "benches.csv") {
		f := fleets[r.n(t, "design")]
		words := fmt.Sprintf("design %d", i+1)
		b := must[*Benches](t)(NewBenches(f.benches))
		m := b.Model(f.ys, 0.95)
		for _, x := range []struct {
			figure string
			got    Number
		}{{"f", m.F}, {"df1", m.DF1}, {"df2", m.DF2}} {
			check(t, words, x.figure, float64(x.got), r.f(t, x.figure))
		}
		if !within(float64(m.P), r.f(t, "p"), 1e-6) {
			t.Errorf("%s: p: got %g, want %g", words, m.P, r.f(t, "p"))
		}
		// Where the best variance of benches is 0, theirs is fitted with all others.
		if r.f(t, "bench") > 0 {
			for _, x := range []struct {
				figure string
				got    Number
			}{{"bench", m.Bench}, {"interaction", m.Interaction}, {"block", m.Block}, {"error", m.Error}} {
				if want := r.f(t, x.figure); math.Abs(float64(x.got)-want) > 1e-5*want+1e-9 {
					t.Errorf("%s: %s: got %.9g, lme4 has %.9g", words, x.figure, x.got, want)
				}
				if want := mixed[i].f(t, x.figure); math.Abs(float64(x.got)-want) > 1e-3*want+1e-9 {
					t.Errorf("%s: %s: got %.9g, MixedLM has %.9g", words, x.figure, x.got, want)
				}
			}
		}
		these := must[Comparison](t)(b.Difference(FixedBenches, f.ys[1], f.ys[0], 0.95))
		check(t, words, "these", these.center, r.f(t, "these"))
		check(t, words, "these_se", these.se, r.f(t, "these_se"))
		check(t, words, "these_df", these.DF, r.f(t, "these_df"))
		if r["like"] == "NA" || r.f(t, "bench") == 0 || r.f(t, "interaction") == 0 {
			continue
		}
		like := must[Comparison](t)(b.Difference(RandomBenches, f.ys[1], f.ys[0], 0.95))
		for _, x := range []struct {
			figure string
			got    float64
		}{{"like", like.center}, {"like_se", like.se}, {"like_df", like.DF}} {
			if !within(x.got, r.f(t, x.figure), 1e-5) {
				t.Errorf("%s: %s: got %.9g, want %.9g", words, x.figure, x.got, r.f(t, x.figure))
			}
		}
	}
}

// Units are a way to hand benches to methods that know blocks only: these must find
// the interval of the kind.
func TestUnitsCarryTheIntervalOfTheirKind(t *testing.T) {
	for id, f := range drawnFleets(t) {
		b := must[*Benches](t)(NewBenches(f.benches))
		for _, kind := range []BenchKind{FixedBenches, RandomBenches} {
			want := must[Comparison](t)(b.Difference(kind, f.ys[1], f.ys[0], 0.95))
			got := must[Comparison](t)(DifferencePaired(b.Units(kind, f.ys[1]), b.Units(kind, f.ys[0]), 0.95))
			words := fmt.Sprintf("design %d, %s", id, kind)
			check(t, words, "estimate", got.center, want.center)
			check(t, words, "standard error", got.se, want.se)
			check(t, words, "degrees of freedom", got.DF, want.DF)
		}
	}
}

// fleet draws logarithms: n blocks of each bench, k treatments, all truly equal.
// Own is the deviation of treatment and bench.
type fleet struct {
	names                      []string
	ys                         [][]float64
	own                        [][]float64 // by treatment and bench
	bench, inter, block, error float64
}

func (f *fleet) draw(r *rand.Rand, k int, blocks []int) *Benches {
	f.names, f.ys = nil, make([][]float64, k)
	f.own = make([][]float64, k)
	for i, n := range blocks {
		of := f.bench * r.NormFloat64()
		for t := range k {
			f.own[t] = append(f.own[t], f.inter*r.NormFloat64())
		}
		for range n {
			f.names = append(f.names, fmt.Sprintf("b%d", i+1))
			shared := f.block * r.NormFloat64()
			for t := range k {
				f.ys[t] = append(f.ys[t], of+f.own[t][i]+shared+f.error*r.NormFloat64())
			}
		}
	}
	return got(NewBenches(f.names))
}

func TestTheKindOfBenchesIsTheStudys(t *testing.T) {
	for _, x := range []struct {
		said    string
		benches int
		want    BenchKind
	}{{"", 2, FixedBenches}, {"", 3, RandomBenches}, {"random", 2, RandomBenches}, {"fixed", 9, FixedBenches}} {
		if got := KindOfBenches(x.said, x.benches); got != x.want {
			t.Errorf("%q, %d benches: got %s, want %s", x.said, x.benches, got, x.want)
		}
	}
}

// One bench that ranks the treatments otherwise is named; where none does, none is.
func TestTheBenchThatDisagreesIsNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := fleet{bench: 0.2, block: 0.03, error: 0.03}
	b := f.draw(r, 3, []int{5, 5, 5, 5})
	if m := b.Model(f.ys, 0.99); m.Driver != "" || !(m.P > 0.01) {
		t.Errorf("no bench disagrees, but got %+v", m)
	}
	for i, name := range f.names {
		if name == "b3" {
			f.ys[1][i] += 0.3
		}
	}
	if m := b.Model(f.ys, 0.99); m.Driver != "b3" || !(m.P < 1e-6) || !(m.PWithout > 0.01) {
		t.Errorf("b3 disagrees, but got %+v", m)
	}
	two := f.draw(r, 3, []int{5, 5})
	f.ys[1][0] += 9
	if m := two.Model(f.ys, 0.95); m.Driver != "" {
		t.Errorf("of two benches none can be named, got %+v", m)
	}
}

func TestBenchesRefuseWhatTheyCannotSay(t *testing.T) {
	if _, err := NewBenches([]string{"a", "a"}); !errors.Is(err, ErrTooFew) {
		t.Errorf("one bench: got %v", err)
	}
	b := must[*Benches](t)(NewBenches([]string{"a", "b"}))
	if _, err := b.Ratio(FixedBenches, []float64{1, 2}, []float64{2, 1}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("one block on each bench: got %v", err)
	}
	if _, err := b.Ratio(RandomBenches, []float64{1}, []float64{2, 1}, 0.95); !errors.Is(err, ErrTooFew) {
		t.Errorf("a block missing: got %v", err)
	}
	if _, err := b.Ratio(RandomBenches, []float64{1, -1}, []float64{2, 1}, 0.95); !errors.Is(err, ErrSign) {
		t.Errorf("a ratio of a negative value: got %v", err)
	}
	if m := b.Model([][]float64{{1, 2}, {2, 1}}, 0.95); !math.IsNaN(float64(m.P)) || !math.IsNaN(float64(m.Error)) {
		t.Errorf("one block on each bench has no error of its own: got %+v", m)
	}
}

// Where one bench alone has more than one block, the others alone have no error to be judged by: it is not the one that
// is named, and no p of them is.
func TestTheOnlyBenchWithTwoBlocksIsNotNamed(t *testing.T) {
	b := must[*Benches](t)(NewBenches([]string{"b1", "b1", "b1", "b1", "b1", "b2", "b3"}))
	m := b.Model([][]float64{{1, 1.01, 0.99, 1.02, 0.98, 1, 1}, {2, 2.02, 1.99, 2.01, 2, 2, 5}}, 0.95)
	if !(m.P < 1e-6) || m.Driver != "b3" || !(m.PWithout > 0.05) {
		t.Errorf("b3 disagrees, but got %+v", m)
	}
}
