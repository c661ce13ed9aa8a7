package stat

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestRankTestsAgreeWithScipy(t *testing.T) {
	for _, r := range oracle(t, "rank.csv") {
		groups := [][]float64{r.fs(t, "a"), r.fs(t, "b")}
		if c := r.fs(t, "c"); len(c) > 0 {
			groups = append(groups, c)
		}
		words := r["test"] + ", " + r["words"]
		got, err := KruskalWallis(groups...)
		if r["test"] == "mannwhitney" {
			got, err = MannWhitney(groups[0], groups[1])
		}
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		check(t, words, "statistic", got.Statistic, r.f(t, "statistic"))
		check(t, words, "p", got.P, r.f(t, "p"))
		if got.Exact != (r["exact"] == "true") || got.Method == "" {
			t.Errorf("%s: got %+v", words, got)
		}
	}
}

// The trap: a well-known library's p depends on which sample comes first, when
// sizes differ and values tie.
func TestRankTestsDoNotDependOnOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	random := rand.New(rand.NewPCG(9, 10))
	for range 60 {
		draw := func() []float64 {
			xs := make([]float64, 1+random.IntN(12))
			for i := range xs {
				xs[i] = float64(random.IntN(6))
			}
			return xs
		}
		a, b, c := draw(), draw(), draw()
		ab, ba := must[Test](t)(MannWhitney(a, b)), must[Test](t)(MannWhitney(b, a))
		if !within(ab.P, ba.P, 1e-13) || ab.Statistic+ba.Statistic != float64(len(a)*len(b)) {
			t.Errorf("%v against %v: got %+v and, turned, %+v", a, b, ab, ba)
		}
		up := func(x float64) float64 { return math.Exp(x/3) + 2 }
		if m := must[Test](t)(MannWhitney(each(a, up), each(b, up))); m.P != ab.P {
			t.Errorf("a rising transformation changed p from %v to %v", ab.P, m.P)
		}
		abc, cab := must[Test](t)(KruskalWallis(a, b, c)), must[Test](t)(KruskalWallis(c, a, b))
		if !within(abc.P, cab.P, 1e-12) && abc.Exact == cab.Exact {
			t.Errorf("%v, %v, %v: got %v and, in another order, %v", a, b, c, abc.P, cab.P)
		}
		if two := must[Test](t)(KruskalWallis(a, b)); two.Exact && ab.P < 1 && two.P > 1 {
			t.Errorf("p %v", two.P)
		}
	}
}

func TestExactRankTestsReachWhatTheySay(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	distinct := func(n int) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = random.Float64()
		}
		return xs
	}
	if got := must[Test](t)(MannWhitney(distinct(50), distinct(50))); !got.Exact {
		t.Errorf("50 and 50: got %+v", got)
	}
	if got := must[Test](t)(MannWhitney(distinct(51), distinct(50))); got.Exact {
		t.Errorf("51 and 50: got %+v", got)
	}
	if got := must[Test](t)(KruskalWallis(distinct(8), distinct(8), distinct(8))); !got.Exact {
		t.Errorf("3 groups of 8: got %+v", got)
	}
	if got := must[Test](t)(KruskalWallis(distinct(3), distinct(3), distinct(3), distinct(3))); !got.Exact {
		t.Errorf("4 groups of 3: got %+v", got)
	}
	if got := must[Test](t)(KruskalWallis(distinct(20), distinct(20), distinct(20))); got.Exact {
		t.Errorf("3 groups of 20: got %+v", got)
	}
}

func TestRankTestsOfNothingAndOfTies(t *testing.T) {
	if _, err := MannWhitney(nil, []float64{1}); !errors.Is(err, ErrNoData) {
		t.Errorf("an empty side: %v", err)
	}
	if _, err := KruskalWallis([]float64{1}, []float64{math.NaN()}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	if _, err := KruskalWallis([]float64{1}); !errors.Is(err, ErrTooFew) {
		t.Errorf("one group: %v", err)
	}
	if got := must[Test](t)(MannWhitney([]float64{2, 2}, []float64{2, 2, 2})); got.P != 1 {
		t.Errorf("all tie: got %+v", got)
	}
	if got := must[Test](t)(KruskalWallis([]float64{2, 2}, []float64{2}, []float64{2})); got.P != 1 || got.Statistic != 0 {
		t.Errorf("all tie: got %+v", got)
	}
}
