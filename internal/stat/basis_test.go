package stat

import (
	"math"
	"testing"
)

// Lauchli's columns, nearly dependent: done once, Gram-Schmidt leaves the last
// two of them at an angle of 60 degrees.
func TestBasisStaysOrthogonal(t *testing.T) {
	const small = 1e-8
	b := &basis{}
	for i := range 3 {
		column := []float64{1, 0, 0, 0}
		column[i+1] = small
		if !b.add(column) {
			t.Fatalf("column %d was taken for dependent", i)
		}
	}
	for i, p := range b.q {
		for j, q := range b.q {
			want := 0.0
			if i == j {
				want = 1
			}
			if got := dot(p, q); math.Abs(got-want) > 1e-12 {
				t.Errorf("columns %d and %d: product %g, want %g", i, j, got, want)
			}
		}
	}
	if b.add([]float64{3, small, small, small}) {
		t.Error("the sum of the columns was taken for independent")
	}
}
