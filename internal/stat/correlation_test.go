package stat

import (
	"math"
	"testing"
)

// Anscombe (1973) gives the correlation of his first set.
func TestCorrelation(t *testing.T) {
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	y := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	if got := Correlation(x, y); math.Abs(got-0.81642) > 5e-6 {
		t.Errorf("got %v, want 0.81642", got)
	}
	for i := range y {
		y[i] = -2*x[i] + 7
	}
	if got := Correlation(x, y); math.Abs(got+1) > 1e-15 {
		t.Errorf("got %v, want -1", got)
	}
	if got := Correlation(x, make([]float64, 11)); !math.IsNaN(got) {
		t.Errorf("of a row without spread: got %v", got)
	}
	if got := Correlation(x, y[:10]); !math.IsNaN(got) {
		t.Errorf("of rows of different length: got %v", got)
	}
}
