package report

import (
	"math"
	"testing"
)

// Requests of two trials: the least of all, and the root of the mean variance.
func TestWithin(t *testing.T) {
	c := Cell{Points: []Point{{Min: 3, SD: 3}, {Min: 2, SD: 4}}}
	if c.within(); c.Min != 2 || math.Abs(c.RequestSD-math.Sqrt(12.5)) > 1e-12 {
		t.Errorf("got %v, %v", c.Min, c.RequestSD)
	}
	c = Cell{Points: []Point{{Min: 3, SD: math.NaN()}}}
	if c.within(); c.Min != 3 || !math.IsNaN(c.RequestSD) {
		t.Errorf("got %v, %v", c.Min, c.RequestSD)
	}
}
