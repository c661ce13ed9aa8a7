package stat

import (
	"slices"
	"testing"
)

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
