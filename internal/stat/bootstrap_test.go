package stat

import (
	"math"
	"slices"
	"testing"
)

func TestBootstrapAgreesWithScipy(t *testing.T) {
	of := map[string]func([]float64) float64{
		"mean":   average,
		"median": func(xs []float64) float64 { return selectQuantile(slices.Clone(xs), 0.5) },
		"sd":     SD,
	}
	for _, r := range oracle(t, "bootstrap.csv") {
		s, err := Bootstrap(r.fs(t, "values"), of[r["statistic"]], r.f(t, "confidence"), r.n(t, "resamples"),
			uint64(r.n(t, "seed")))
		if err != nil {
			t.Fatal(err)
		}
		words := r["words"] + ", " + r["statistic"] + ", seed " + r["seed"]
		check(t, words, "lo", s.Lo, r.f(t, "lo"))
		check(t, words, "hi", s.Hi, r.f(t, "hi"))
	}
}

func TestBootstrapRepeats(t *testing.T) {
	xs := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}
	a := must[Summary](t)(Bootstrap(xs, SD, 0.95, 2000, 1))
	b := must[Summary](t)(Bootstrap(xs, SD, 0.95, 2000, 1))
	c := must[Summary](t)(Bootstrap(xs, SD, 0.95, 2000, 2))
	if a.Lo != b.Lo || a.Hi != b.Hi {
		t.Errorf("the same seed gave %v to %v and %v to %v", a.Lo, a.Hi, b.Lo, b.Hi)
	}
	if a.Lo == c.Lo && a.Hi == c.Hi {
		t.Error("another seed gave the same resamples")
	}
	if !slices.Equal(xs, []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}) {
		t.Error("the values were reordered")
	}
	if _, err := Bootstrap(xs, func([]float64) float64 { return math.NaN() }, 0.95, 2000, 1); err == nil {
		t.Error("a statistic of NaN was taken")
	}
}

func TestOutliersAgreeWithScipy(t *testing.T) {
	for _, r := range oracle(t, "outliers.csv") {
		got, want := must[[]float64](t)(ModifiedZ(r.fs(t, "values"))), r.fs(t, "z")
		for i := range want {
			check(t, r["words"], "modified z", got[i], want[i])
		}
	}
	at := must[[]int](t)(Outliers([]float64{10, 11, 9, 10.5, 9.5, 30, 10.2, -20}))
	if !slices.Equal(at, []int{5, 7}) {
		t.Errorf("flagged %v, want values 5 and 7", at)
	}
	if at := must[[]int](t)(Outliers([]float64{2, 2, 2})); at != nil {
		t.Errorf("equal values: flagged %v", at)
	}
}
